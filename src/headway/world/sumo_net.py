"""SUMO's files: what of a network matters here, and a grid with random trips to begin with."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headway.errors import EnvironmentMissing, FileError, Place, Problem
from headway.sources.record import unreadable
from headway.world.traffic import Array

INSTALL = "Install it with: pip install 'headway[sumo]'"


@dataclass(frozen=True, slots=True)
class Network:
    """Crossings (c, 2), streets (s, 4) as in :class:`~headway.world.traffic.Traffic`, and edges."""

    crossings: Array
    streets: Array
    edges: tuple[str, ...]


def read_network(path: Path) -> Network:
    """Junctions and streets of a ``.net.xml``; FileError when it is none."""
    root = _parse(path, "net", "a network as netgenerate or netconvert writes it")
    places = {
        junction.get("id", ""): (float(junction.get("x", "nan")), float(junction.get("y", "nan")))
        for junction in root.iter("junction")
        if junction.get("type") != "internal"
    }
    ends = {
        edge.get("id", ""): (edge.get("from", ""), edge.get("to", ""))
        for edge in root.iter("edge")
        if edge.get("function", "normal") == "normal"
    }
    # The two directions of a street are two edges, and one street.
    joined = sorted({(min(pair), max(pair)) for pair in ends.values() if set(pair) <= set(places)})
    if not joined:
        raise FileError(Problem("a network without streets", place=Place(str(path))))
    return Network(
        np.array(list(places.values())),
        np.array([(*places[first], *places[second]) for first, second in joined]),
        tuple(ends),
    )


def read_buildings(path: Path) -> Array:
    """The polygons of a SUMO additional file whose type begins with ``building``, each as the
    rectangle around it."""
    root = _parse(path, "additional", "polygons as polyconvert writes them")
    rectangles = []
    for polygon in root.iter("poly"):
        if polygon.get("type", "").startswith("building"):
            corners = np.array(
                [[float(part) for part in pair.split(",")[:2]]
                 for pair in polygon.get("shape", "").split()]
            )  # fmt: skip
            if len(corners):
                rectangles.append((*corners.min(axis=0), *corners.max(axis=0)))
    return np.array(rectangles, dtype=np.float64).reshape(len(rectangles), 4)


def generate_grid(folder: Path, columns: int, rows: int, block: float) -> Path:
    """The network of a grid, by ``netgenerate --grid``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "grid.net.xml"
    done = subprocess.run(
        [_program("netgenerate"), "--grid", "--grid.x-number", str(columns),
         "--grid.y-number", str(rows), "--grid.length", str(block), "--no-turnarounds",
         "--default.speed", str(60 / 3.6), "--output-file", str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise FileError(
            Problem(f"netgenerate failed: {done.stderr.strip()}", place=Place(str(path)))
        )
    return path


def write_trips(net: Path, cars: int, seconds: float, seed: int) -> Path:
    """So many trips between random streets, beside the network; they begin in the first half."""
    edges = read_network(net).edges
    random = np.random.default_rng(np.random.SeedSequence(seed))
    departures = np.sort(random.uniform(0, seconds / 2, cars))
    root = ElementTree.Element("routes")
    for number, departure in enumerate(departures):
        first, last = random.choice(len(edges), size=2, replace=False)
        ElementTree.SubElement(
            root, "trip", id=f"car{number}", depart=f"{departure:.2f}",
            **{"from": edges[first], "to": edges[last]},
        )  # fmt: skip
    path = net.with_name(net.name.removesuffix(".net.xml") + ".trips.xml")
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return path


def _program(name: str) -> str:
    """A program of SUMO: of the Python package, of SUMO_HOME, or on the path."""
    homes = []
    package = importlib.util.find_spec("sumo")
    if package is not None and package.origin is not None:
        homes.append(Path(package.origin).parent)
    if os.environ.get("SUMO_HOME"):
        homes.append(Path(os.environ["SUMO_HOME"]))
    for home in homes:
        found = shutil.which(name, path=str(home / "bin"))
        if found:
            return found
    found = shutil.which(name)
    if found is None:
        raise EnvironmentMissing(f"A generated grid needs SUMO's {name}. {INSTALL}")
    return found


def _parse(path: Path, tag: str, want: str) -> ElementTree.Element:
    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        raise unreadable(path, error) from None
    except ElementTree.ParseError as error:
        raise unreadable(path, error, "cannot be read as XML") from None
    if root.tag != tag:
        raise FileError(
            Problem(f"no <{tag}> file", place=Place(str(path)), got=f"<{root.tag}>", want=want)
        )
    return root
