"""Makes the recordings of the examples anew: python examples/make_recordings.py

Seeded, so that the files are the same each time. Sensing times and delays stay within what the
queries declare; how the numbers come about stands with each function.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from headway import load_query
from headway.model.query import Source
from headway.sources.parquet_file import StreamWriter

HERE = Path(__file__).parent
BEGIN = 1_767_225_600_000_000
"""2026-01-01 00:00:00 UTC, in microseconds"""
MS = 1_000

Row = tuple[Any, ...]
Tuple = tuple[int, str | None, Row]
"""(arrival, vehicle, row with its sensing time first), times in microseconds"""


def main() -> None:
    for example in (hello, tyre_watch, collision_warning):
        example(HERE / example.__name__)


# -------------------------------------------------------------------- hello


def hello(folder: Path) -> None:
    """Five seconds at 100 Hz: 27 to 33 m/s and back, with a little noise."""
    random = Random(1)
    tuples: list[Tuple] = []
    for cycle in range(500):
        at = BEGIN + cycle * 10 * MS
        v = 30 + 3 * math.sin(2 * math.pi * cycle / 500 - math.pi / 2) + random.gauss(0, 0.05)
        tuples.append((at + 800, None, (at, round(v, 3))))
    _write_csv(folder / "recording" / "speed.csv", _sources(folder)["speed"], tuples)


# -------------------------------------------------------------------- tyre_watch


def tyre_watch(folder: Path) -> None:
    """Twenty seconds: wheel 2 loses 0.06 bar a second and warms by 2 degrees a second."""
    random = Random(2)
    pressure: list[Tuple] = []
    heat: list[Tuple] = []
    for sample in range(160):
        wheel, at = sample % 4, BEGIN + sample * 125 * MS
        seconds = sample / 8 if wheel == 2 else 0.0
        bar = round(2.5 - 0.06 * seconds + random.gauss(0, 0.01), 3)
        celsius = round(60 + 2 * seconds + random.gauss(0, 0.5), 2)
        pressure.append((at + 3 * MS, None, (at, wheel, bar)))
        heat.append((at + 4 * MS, None, (at, wheel, celsius)))
    sources = _sources(folder)
    _write_csv(folder / "recording" / "pressure.csv", sources["pressure"], pressure)
    _write_jsonl(folder / "recording" / "heat.jsonl", sources["heat"], heat)


# -------------------------------------------------------------------- collision_warning

CYCLES = 60
RANGE = 200.0
"""metres that radar and radio reach"""


@dataclass(frozen=True)
class Car:
    """Drives straight on from (x, y): ``speed`` in m/s, ``direction`` in radians from x."""

    id: int
    x: float
    y: float
    speed: float
    direction: float
    radio: bool = True

    def at(self, seconds: float) -> tuple[float, float, float, float]:
        vx, vy = self.speed * math.cos(self.direction), self.speed * math.sin(self.direction)
        return self.x + vx * seconds, self.y + vy * seconds, vx, vy


EAST, NORTH, WEST, SOUTH = 0.0, math.pi / 2, math.pi, -math.pi / 2
KMH_60 = 60 / 3.6
A = Car(1, -100.0, 0.0, KMH_60, EAST)
B = Car(2, 50.0, -180.0, KMH_60, NORTH)
OTHERS = (
    # Ahead of A in its lane, slower, without a radio: A would hit it after 9.7 s.
    Car(3, -35.0, 0.0, 10.0, EAST, radio=False),
    # From the left, without a radio, on its way to where A is after 7 s.
    Car(4, A.x + 7 * A.speed, 7 * 14.0, 14.0, SOUTH, radio=False),
    # Opposite lanes, and streets one block further.
    *(Car(5 + n, 120.0 - 45.0 * n, 4.0, KMH_60, WEST) for n in range(4)),
    *(Car(9 + n, 54.0, 130.0 - 60.0 * n, KMH_60, SOUTH) for n in range(4)),
    *(Car(13 + n, -60.0 + 50.0 * n, -100.0, 12.0, EAST) for n in range(3)),
)


def collision_warning(folder: Path) -> None:
    """Six seconds of two cars, A eastward and B northward at 60 km/h, on a grid of 100 m blocks.

    Every 100 ms: GPS (3 m, 0.05 rad), speed (0.2 m/s), radar (the four nearest cars in front
    within 200 m; 0.5 m, 0.2 m/s), and from each car with a radio its own position (1.5 m) and
    velocity (0.2 m/s), which arrives up to 100 ms after sensing and so out of order.
    """
    random = Random(3)
    streams: dict[str, list[Tuple]] = {"gps": [], "speed": [], "radar": [], "v2v": []}
    for name, own in (("A", A), ("B", B)):
        around = [car for car in (A, B, *OTHERS) if car is not own]
        for cycle in range(CYCLES):
            at = BEGIN + cycle * 100 * MS
            x, y, _, _ = own.at(cycle / 10)
            fix = (x + random.gauss(0, 3), y + random.gauss(0, 3))
            heading = own.direction + random.gauss(0, 0.05)
            streams["gps"].append((at + 1_500, name, (at, *fix, heading)))
            streams["speed"].append((at + 500, name, (at, own.speed + random.gauss(0, 0.2))))
            for row in _seen(own, around, cycle / 10, random):
                streams["radar"].append((at + 1_800, name, (at, *row)))
        streams["v2v"] += [(at, name, row) for at, row in _heard(own, around, random)]
    for name, source in _sources(folder).items():
        path = folder / "recording" / f"{name}.parquet"
        with StreamWriter(path, source.schema, vehicle=True) as writer:
            for arrival, vehicle, row in sorted(streams[name], key=lambda one: one[:2]):
                writer.write(row, arrival, vehicle)


def _seen(own: Car, around: Sequence[Car], seconds: float, random: Random) -> Iterator[Row]:
    """What the radar sees: id, relative position and velocity."""
    x, y, vx, vy = own.at(seconds)
    found = []
    for car in around:
        other = car.at(seconds)
        dx, dy = other[0] - x, other[1] - y
        ahead = dx * math.cos(own.direction) + dy * math.sin(own.direction)
        distance = math.hypot(dx, dy)
        if ahead > 0.5 * distance and distance <= RANGE:
            found.append((distance, car.id, (dx, dy), (other[2] - vx, other[3] - vy)))
    for _, id, position, velocity in sorted(found)[:4]:
        noisy = [p + random.gauss(0, 0.5) for p in position]
        yield (id, *noisy, *(v + random.gauss(0, 0.2) for v in velocity))


def _heard(own: Car, around: Sequence[Car], random: Random) -> Iterator[tuple[int, Row]]:
    """What comes by radio: (arrival, row). A car keeps the phase in which it sends."""
    for car in (car for car in around if car.radio):
        phase = random.randrange(100) * MS
        for cycle in range(CYCLES - 1):
            at = BEGIN + cycle * 100 * MS + phase
            seconds = (at - BEGIN) / 1e6
            x, y, vx, vy = car.at(seconds)
            position = (x + random.gauss(0, 1.5), y + random.gauss(0, 1.5))
            velocity = (vx + random.gauss(0, 0.2), vy + random.gauss(0, 0.2))
            here = own.at(seconds)
            distance = math.hypot(position[0] - here[0], position[1] - here[1])
            if distance <= RANGE:
                variances = (2.25, 2.25, 0.04, 0.04)
                row = (at, car.id, "v2v", False, *position, *velocity, *variances, distance)
                yield at + random.randrange(5, 100) * MS, row


# -------------------------------------------------------------------- files


def _sources(folder: Path) -> dict[str, Source]:
    return {source.name: source for source in load_query(folder / "query.yaml").query.sources}


def _records(source: Source, tuples: Iterable[Tuple]) -> Iterator[dict[str, Any]]:
    for arrival, _, row in tuples:
        columns = [field.name for field in source.schema.columns]
        yield dict(zip(columns, row, strict=True)) | {"arrived_at": arrival}


def _write_csv(path: Path, source: Source, tuples: Sequence[Tuple]) -> None:
    path.parent.mkdir(exist_ok=True)
    records = list(_records(source, tuples))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def _write_jsonl(path: Path, source: Source, tuples: Sequence[Tuple]) -> None:
    path.parent.mkdir(exist_ok=True)
    lines = [json.dumps(record) + "\n" for record in _records(source, tuples)]
    path.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
