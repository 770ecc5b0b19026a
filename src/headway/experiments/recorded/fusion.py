"""Type 1 fusion on a recorded drive, run as in the vehicle: tuples by arrival, with or without
disorder, and the estimate asked for at every point of the reference trajectory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from headway.fusion.operator import SINGLE_OBJECT
from headway.fusion.own_vehicle import OwnVehicleFusion
from headway.fusion.state import FilterState
from headway.model.operators import Parameter
from headway.model.quantities import SECOND
from headway.model.schema import schema
from headway.model.user_operator import OperatorContext, Row
from headway.sources.comma2k19 import Gnss, Segment

TIMEOUT = 10_000
"""of the operator (microseconds)"""
INPUTS = {
    "gps": schema(x="double [m]", y="double [m]", bearing="double [deg]"),
    "speed": schema(v="double [m/s]"),
}
OUTPUT = schema(at="timestamp", x="double [m]", y="double [m]", conf="double [m]")

Arrival = tuple[int, str, Row]


def thinned(segment: Segment, every: int) -> Segment:
    """The same drive with only every n-th fix."""
    gnss = segment.gnss
    return replace(
        segment,
        gnss=Gnss(
            times=gnss.times[::every],
            position=gnss.position[::every],
            speed=gnss.speed[::every],
            bearing=gnss.bearing[::every],
        ),
    )


def operator(front: int = SECOND, rear: int = SECOND, **parameters: Parameter) -> OwnVehicleFusion:
    fusion = OwnVehicleFusion()
    windows = {"front": front, "rear": rear, "object_key": None, "sensor_key": None}
    fusion.open(
        OperatorContext(
            name="own", inputs=INPUTS, output=OUTPUT, windows=windows, parameters=parameters
        )
    )
    return fusion


def arrivals(segment: Segment, disorder: int, seed: int) -> list[Arrival]:
    """All tuples by arrival: its time, the port, the row."""
    gnss, speed = segment.gnss, segment.speed
    rows: list[tuple[str, Row]] = [
        ("gps", (time, x, y, bearing))
        for time, (x, y), bearing in zip(
            gnss.times.tolist(), gnss.position.tolist(), gnss.bearing.tolist(), strict=True
        )
    ]
    rows += [
        ("speed", (time, v))
        for time, v in zip(speed.times.tolist(), speed.speed.tolist(), strict=True)
    ]
    delays = random.Random(seed)
    return sorted((row[0] + delays.randint(0, disorder), port, row) for port, row in rows)


def executions(tuples: list[Arrival]) -> Iterator[tuple[int, dict[str, list[Row]]]]:
    """Runs when both inputs have a tuple, at the latest 10 ms after the first."""
    waiting: dict[str, list[Row]] = {}
    ends = 0
    for arrived_at, port, row in tuples:
        if waiting and arrived_at > ends:
            yield ends, waiting
            waiting = {}
        if not waiting:
            ends = arrived_at + TIMEOUT
        waiting.setdefault(port, []).append(row)
        if len(waiting) == len(INPUTS):
            yield arrived_at, waiting
            waiting = {}
    if waiting:
        yield ends, waiting


def fused(
    segment: Segment, tuples: list[Arrival], fusion: OwnVehicleFusion, patience: int = 0
) -> list[FilterState | None]:
    """The estimate for every reference point, asked ``patience`` after its moment."""
    runs = [*executions(tuples), (2**62, {})]
    found: list[FilterState | None] = []
    place = 0
    for moment in segment.reference.times.tolist():
        while runs[place][0] <= moment + patience:
            fusion.process(runs[place][1], runs[place][0] * 1000)
            place += 1
        found.append(fusion.estimate(SINGLE_OBJECT, moment))
    return found
