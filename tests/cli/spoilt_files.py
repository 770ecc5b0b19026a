"""Every kind of file that a command reads, whole, and the command that reads it; and what makes
them wrong: bytes changed, cut, doubled, moved, and numbers, lines and values put elsewhere."""

from __future__ import annotations

import importlib
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.running import EXAMPLES, headway
from tests.sources.test_can import DBC

from headway.sources.recordings import read_file

HELLO = EXAMPLES / "hello"
TUPLES = 24
EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x0A, 0x22, 0x2C, 0x7B)
"""bytes that begin or end something"""


@dataclass(frozen=True)
class Spoilt:
    """``file`` is spoilt in a folder that :attr:`make` filled; then ``command`` is run there.
    ``needs``: optional packages."""

    file: str
    make: Callable[[Path], None]
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()


def project(folder: Path) -> None:
    for name in ("query.yaml", "vehicle.yaml"):
        shutil.copy(HELLO / name, folder / name)


def planned(folder: Path) -> None:
    project(folder)
    plan = headway("compile", folder / "query.yaml", "--vehicle", folder / "vehicle.yaml", "--json")
    (folder / "plan.json").write_text(plan.stdout, encoding="utf-8")


def speeds() -> list[tuple[int, float]]:
    from headway.files import load_query

    (source,) = load_query(HELLO / "query.yaml").query.sources
    records = list(read_file(HELLO / "recording" / "speed.csv", source.schema))[:TUPLES]
    return [(record.row[0], record.row[1]) for record in records]


def csv(folder: Path) -> None:
    project(folder)
    lines = "".join(f"{at},{v},{at + 10},a\n" for at, v in speeds())
    (folder / "speed.csv").write_text(f"timestamp,v,arrived_at,vehicle\n{lines}", encoding="utf-8")


def jsonl(folder: Path) -> None:
    project(folder)
    lines = [json.dumps({"timestamp": at, "v": v, "arrived_at": at}) for at, v in speeds()]
    (folder / "speed.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def parquet(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    project(folder)
    times, values = zip(*speeds(), strict=True)
    table = pa.table({"timestamp": times, "v": values, "vehicle": ["a"] * len(times)})
    pq.write_table(table, folder / "speed.parquet", row_group_size=10)


def can(folder: Path) -> None:
    project(folder)
    (folder / "car.dbc").write_text(DBC, encoding="utf-8")
    pointer = "log: drive.log\ndbc: car.dbc\ncolumns: {v: SPEED}\nvehicle: a\n"
    (folder / "speed.can").write_text(pointer, encoding="utf-8")
    lines = [f"({1 + n / 100:.6f}) can0 100#E803{n % 2:02X}00\n" for n in range(TUPLES)]
    (folder / "drive.log").write_text("".join(lines), encoding="utf-8")


def mdf(folder: Path) -> None:
    import asammdf
    import numpy as np

    project(folder)
    times, values = np.arange(TUPLES) / 100, np.arange(TUPLES, dtype="f8")
    with asammdf.MDF(version="4.10") as made:
        made.append([asammdf.Signal(values, times, name="speed")])
        made.save(folder / "drive.mf4", overwrite=True)
    pointer = "mdf: drive.mf4\ncolumns: {v: speed}\n"
    (folder / "speed.yaml").write_text(pointer, encoding="utf-8")


def mcap(folder: Path) -> None:
    project(folder)
    writer: Any = importlib.import_module("mcap.writer")
    with (folder / "drive.mcap").open("wb") as file:
        out = writer.Writer(file)
        out.start()
        topic = out.register_channel("/speed", "json", 0)
        for n in range(TUPLES):
            content = json.dumps({"kmh": n}).encode()
            out.add_message(topic, log_time=n * 10**7, data=content, publish_time=n * 10**7)
        out.finish()
    pointer = "mcap: drive.mcap\ntopic: /speed\ncolumns: {v: kmh}\n"
    (folder / "speed.yaml").write_text(pointer, encoding="utf-8")


def faults(folder: Path) -> None:
    csv(folder)
    shutil.copy(EXAMPLES / "tyre_watch" / "faults.yaml", folder / "faults.yaml")


def graph(folder: Path) -> None:
    for name in ("graph.yaml", "network.yaml", "periods.yaml"):
        shutil.copy(EXAMPLES / "static_distribution" / name, folder / name)


def results(folder: Path) -> None:
    """Those of an earlier run, which ``--force`` is to replace."""
    csv(folder)
    done = headway(*(part.replace("DIR", str(folder)) for part in RUN))
    assert done.exit_code == 0, done.output


RUN = (
    *("run", "DIR/query.yaml", "--engine", "vehicle", "--vehicle", "DIR/vehicle.yaml"),
    *("--input", "DIR", "--output", "DIR/out"),
)
SIMULATE = (
    *("simulate", "DIR/query.yaml", "--vehicle", "DIR/vehicle.yaml", "--input", "DIR"),
    *("--faults", "DIR/faults.yaml", "--seeds", "1"),
)
COMPILE = ("compile", "DIR/query.yaml", "--vehicle", "DIR/vehicle.yaml")
KINDS = (
    Spoilt("query.yaml", project, ("check", "DIR/query.yaml")),
    Spoilt("query.yaml", project, COMPILE),
    Spoilt("vehicle.yaml", project, COMPILE),
    Spoilt("plan.json", planned, ("build", "DIR/plan.json", "--out", "DIR/build")),
    Spoilt("plan.json", planned, ("schedule", "DIR/plan.json")),
    Spoilt("speed.csv", csv, RUN),
    Spoilt("speed.jsonl", jsonl, RUN),
    Spoilt("speed.parquet", parquet, RUN),
    Spoilt("speed.can", can, RUN, ("can", "cantools")),
    Spoilt("drive.log", can, RUN, ("can", "cantools")),
    Spoilt("car.dbc", can, RUN, ("can", "cantools")),
    Spoilt("speed.yaml", mdf, RUN, ("asammdf",)),
    Spoilt("drive.mf4", mdf, RUN, ("asammdf",)),
    Spoilt("drive.mcap", mcap, RUN, ("mcap",)),
    Spoilt("faults.yaml", faults, SIMULATE, ("greenlet",)),
    Spoilt("out/summary.json", results, (*RUN, "--force")),
    Spoilt("graph.yaml", graph, ("schedule", "DIR/graph.yaml", "--network", "DIR/network.yaml")),
    Spoilt("network.yaml", graph, ("schedule", "DIR/graph.yaml", "--network", "DIR/network.yaml")),
)


def name_of(kind: Spoilt) -> str:
    return f"{kind.file} {kind.command[0]}"


# ---------------------------------------------------------------- by bytes


def spoil_bytes(content: bytes, draw: random.Random) -> bytes:
    """One to four edits."""
    data = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        place, length = draw.randrange(len(data) + 1), draw.choice((1, 1, 2, 4, 8, 40))
        match draw.randrange(7):
            case 0:
                del data[place : place + length]
            case 1:
                del data[place:]
            case 2:
                data[place:place] = draw.randbytes(length)
            case 3:
                data[place:place] = data[place : place + length] * draw.choice((1, 2, 50))
            case 4 if data:
                data[place % len(data)] ^= 1 << draw.randrange(8)
            case 5 if data:
                data[place % len(data)] = draw.choice(EDGES)
            case _:
                source = draw.randrange(len(data) + 1)
                data[place : place + length] = data[source : source + length]
    return bytes(data)


# ---------------------------------------------------------------- by structure

VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 2**31, 2**63, 10**30, 1e308, 0.5, "", "x", "../x", "1 ms", "\0"),
    *([], {}, [[]], {"a": 1}, "a" * 5_000, "1 per 1 ns", "9999 h"),
)


def spoil_json(text: str, draw: random.Random) -> str:
    """Values replaced, removed, renamed and exchanged, anywhere in a JSON document."""
    tree = json.loads(text)
    for _ in range(draw.randint(1, 3)):
        places = [*_places(tree)]
        if not places:
            break
        holder, key = draw.choice(places)
        match draw.randrange(4):
            case 0:
                holder[key] = draw.choice(VALUES)
            case 1:
                del holder[key]
            case 2 if isinstance(holder, dict):
                holder[draw.choice(("", "name", "x", "../x"))] = holder.pop(key)
            case _:
                other, place = draw.choice(places)
                holder[key] = json.loads(json.dumps(other[place]))
    return json.dumps(tree)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        holder = waiting.pop()
        for key in [*holder] if isinstance(holder, dict) else range(len(holder)):
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return found
