"""Any SUMO scenario as traffic, through libsumo (the extra ``sumo``): its files, and a run."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headway.errors import EnvironmentMissing, FileError, InputError, Place
from headway.sources.source_records import unreadable
from headway.world.traffic import Array, Bounds, Collision, Integers, Motion, Truths

# ---------------------------------------------------------------- SUMO's files

INSTALL = "Install it with: pip install 'headway[sumo]'"


@dataclass(frozen=True, slots=True)
class StreetNetwork:
    """Crossings (c, 2), streets (s, 4) as in :class:`~headway.world.traffic.Traffic`, and edges."""

    crossings: Array
    streets: Array
    edges: tuple[str, ...]


def read_network(path: Path) -> StreetNetwork:
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
        raise FileError("a network without streets", place=Place(str(path)))
    return StreetNetwork(
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
        raise FileError(f"netgenerate failed: {done.stderr.strip()}", place=Place(str(path)))
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
        raise FileError(f"no <{tag}> file", place=Place(str(path)), got=f"<{root.tag}>", want=want)
    return root


# ---------------------------------------------------------------- traffic


STEP = 0.1
"""seconds between SUMO's steps; between them cars are interpolated"""
STREET_WIDTH = 20.0


@dataclass(frozen=True, slots=True)
class SumoTraffic:
    """The :class:`~headway.world.traffic.Traffic` that SUMO drove. Its cars keep clear of each
    other, so none is on collision course.

    Ids are 1, 2, … in the order in which the cars came into SUMO; ``names`` are SUMO's own.
    """

    seed: int
    duration: float
    names: tuple[str, ...]
    own: int
    radio: Truths
    crossings: Array
    streets: Array
    buildings: Array
    steps: Array
    """x, y, vx, vy at each step: shape (4, steps, cars)"""
    street_width: float = STREET_WIDTH

    @property
    def ids(self) -> Integers:
        return np.arange(1, len(self.names) + 1, dtype=np.int64)

    @property
    def collisions(self) -> tuple[Collision, ...]:
        return ()

    @property
    def bounds(self) -> Bounds:
        x, y = self.streets[:, ::2], self.streets[:, 1::2]
        half = self.street_width / 2
        return Bounds(
            float(x.min() - half), float(y.min() - half),
            float(x.max() + half), float(y.max() + half),
        )  # fmt: skip

    def at(self, times: Array) -> Motion:
        return self.of(np.arange(len(self.names)), np.asarray(times, dtype=np.float64)[:, None])

    def of(self, columns: Integers, times: Array) -> Motion:
        columns, times = np.broadcast_arrays(columns, times)
        last = self.steps.shape[1] - 1
        place = np.clip(times / STEP, 0, last)
        before = np.minimum(place.astype(np.int64), last - 1)
        share = place - before
        first, second = self.steps[:, before, columns], self.steps[:, before + 1, columns]
        # On a step its value stands as it is, also where the car is not there at the next.
        mixed = np.where(share == 0, first, np.where(share == 1, second,
                         first + share * (second - first)))  # fmt: skip
        return Motion(*mixed)


def sumo_traffic(
    net: Path,
    routes: Path,
    *,
    duration: float,
    seed: int = 1,
    own: str | None = None,
    buildings: Path | Array | None = None,
    equipped: float = 1.0,
    street_width: float = STREET_WIDTH,
) -> SumoTraffic:
    """Lets SUMO drive a network and a route file for ``duration`` seconds.

    ``own`` is the SUMO name of our car; None takes the one that is on the road longest.
    ``buildings`` is an additional file with polygons, or rectangles; ``equipped`` the share of cars
    with a radio (ours always has one).
    """
    if duration < STEP or not 0 <= equipped <= 1:
        raise InputError(
            f"duration must be at least {STEP} s, and equipped from 0 to 1",
            at="sumo",
            got=f"{duration} and {equipped}",
        )
    network = read_network(net)
    names, steps = _drive(net, routes, duration, seed)
    if not names:
        raise FileError(
            "no car departs", place=Place(str(routes)), got=f"{duration:g} s of driving"
        )
    if own is not None and own not in names:
        raise InputError(
            "no such car departs", at="own", got=repr(own), want=f"such as {names[0]!r}"
        )
    present = np.isfinite(steps[0]).sum(axis=0)
    column = int(present.argmax()) if own is None else names.index(own)
    random = np.random.default_rng(np.random.SeedSequence(seed))
    radio = random.random(len(names)) < equipped
    radio[column] = True
    if isinstance(buildings, Path):
        buildings = read_buildings(buildings)
    return SumoTraffic(
        seed=seed,
        duration=duration,
        names=names,
        own=column + 1,
        radio=radio,
        crossings=network.crossings,
        streets=network.streets,
        buildings=np.empty((0, 4)) if buildings is None else buildings,
        steps=steps,
        street_width=street_width,
    )


def sumo_grid(
    *,
    columns: int = 5,
    rows: int = 5,
    block: float = 100.0,
    cars: int = 100,
    duration: float = 60.0,
    seed: int = 1,
    equipped: float = 1.0,
    street_width: float = STREET_WIDTH,
) -> SumoTraffic:
    """A grid by ``netgenerate --grid`` with random trips, a building in each block."""
    with tempfile.TemporaryDirectory() as name:
        net = generate_grid(Path(name), columns, rows, block)
        trips = write_trips(net, cars, duration, seed)
        half = street_width / 2
        west, south = np.meshgrid(np.arange(columns - 1) * block, np.arange(rows - 1) * block)
        corners = np.stack([west.ravel(), south.ravel()], axis=1)
        return sumo_traffic(
            net,
            trips,
            duration=duration,
            seed=seed,
            buildings=np.hstack([corners + half, corners + block - half]),
            equipped=equipped,
            street_width=street_width,
        )


def _drive(net: Path, routes: Path, duration: float, seed: int) -> tuple[tuple[str, ...], Array]:
    """Names of the cars, and their motion at each step (4, steps, cars)."""
    if importlib.util.find_spec("libsumo") is None:
        raise EnvironmentMissing(f"Traffic from SUMO needs libsumo. {INSTALL}")
    worker = Path(__file__).with_name("sumo_worker.py")
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "motion.npz"
        done = subprocess.run(
            [sys.executable, str(worker), str(net), str(routes), str(duration), str(STEP),
             str(seed), str(result)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode or not result.exists():
            said = done.stderr.strip().splitlines()[-1:] or ["it says nothing"]
            raise FileError(f"SUMO failed: {said[0]}", place=Place(str(routes)))
        with np.load(result) as stored:
            return tuple(str(name) for name in stored["names"]), stored["motion"]
