"""Position error on a real drive (comma2k19), without and with type 1 fusion, in order and not.

    python benchmarks/bench_fusion_error.py [--every 1] [--seed 1] [--segment DIR]

GNSS (9.7 Hz) and CAN speed (83 Hz) against the reference trajectory (20 Hz); ``--every 10`` keeps
only every tenth fix, as a common receiver would give them. The operator has its default parameters;
nothing is fitted to this drive. Unless a line says otherwise an error is that of what is known at
the moment of a reference point, by tuples that have arrived. Disorder delays every tuple's arrival
by 0 to 100 ms, evenly. The segment is found in $HEADWAY_SHARED or ../shared.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from headway.fusion.operator import SINGLE_OBJECT
from headway.fusion.own_vehicle import OwnVehicleFusion
from headway.fusion.state import NORMAL_95, FilterState
from headway.model.operators import Parameter
from headway.model.schema import schema
from headway.model.time import MILLISECOND, SECOND
from headway.model.user_operator import OperatorContext, Row
from headway.sources.comma2k19 import Gnss, Segment, Times, load_segment
from headway.sources.geodesy import Array

REPOSITORY = Path(__file__).resolve().parent.parent
WARM_UP = 2_000_000
"""Microseconds at the start that no line of the table counts."""
TIMEOUT = 10_000
DISORDER = 100_000
PATIENCE = 200_000
"""How much later the corrected estimates are asked for (microseconds)."""

INPUTS = {
    "gps": schema(x="double [m]", y="double [m]", bearing="double [deg]"),
    "speed": schema(v="double [m/s]"),
}
OUTPUT = schema(at="timestamp", x="double [m]", y="double [m]", conf="double [m]")


@dataclass(frozen=True)
class Errors:
    """Errors of position (m), along and left of the true motion."""

    name: str
    along: Array
    left: Array

    @property
    def distances(self) -> Array:
        return np.hypot(self.along, self.left)

    @property
    def mean(self) -> float:
        return float(self.distances.mean())

    @property
    def rms(self) -> float:
        return float(np.sqrt((self.distances**2).mean()))

    @property
    def percentile95(self) -> float:
        return float(np.percentile(self.distances, 95))

    def less(self, offset: Errors) -> Errors:
        """These errors without the mean of others."""
        along, left = offset.along.mean(), offset.left.mean()
        return Errors(self.name, self.along - along, self.left - left)


def errors_of(segment: Segment, name: str, times: Times, position: Array) -> Errors:
    """What the positions lie off the reference."""
    reference = segment.reference
    off = position - reference.position_at(times)
    course = np.stack([np.interp(times, reference.times, v) for v in reference.velocity.T])
    east, north = course / np.hypot(*course)
    return Errors(name, off[:, 0] * east + off[:, 1] * north, off[:, 1] * east - off[:, 0] * north)


Arrival = tuple[int, str, Row]


def segment_directory() -> Path:
    shared = Path(os.environ.get("HEADWAY_SHARED", REPOSITORY.parent / "shared"))
    return shared / "data/comma2k19/segment"


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


def counted(segment: Segment) -> slice:
    """The reference points after the warm-up and while there are fixes."""
    times = segment.reference.times
    start = max(times[0], segment.gnss.times[0]) + WARM_UP
    return slice(
        int(np.searchsorted(times, start)), int(np.searchsorted(times, segment.gnss.times[-1]))
    )


def without_fusion(segment: Segment) -> list[Errors]:
    gnss = segment.gnss
    own = gnss.times >= gnss.times[0] + WARM_UP
    times = segment.reference.times[counted(segment)]
    last = np.searchsorted(gnss.times, times, side="right") - 1
    held = gnss.position[last]
    share = (times - gnss.times[last]) / (gnss.times[last] - gnss.times[last - 1])
    carried = held + share[:, None] * (held - gnss.position[last - 1])
    return [
        errors_of(segment, "GNSS, at its own times", gnss.times[own], gnss.position[own]),
        errors_of(segment, "GNSS, last fix held", times, held),
        errors_of(segment, "GNSS, last two fixes carried on", times, carried),
    ]


def with_fusion(segment: Segment, name: str, states: list[FilterState | None]) -> Errors:
    points = counted(segment)
    kept = [state for state in states[points] if state is not None]
    if len(kept) != len(states[points]):
        raise RuntimeError(f"{name}: {len(states[points]) - len(kept)} points have no estimate")
    position = np.array([(state.x, state.y) for state in kept])
    return errors_of(segment, name, segment.reference.times[points], position)


def study(segment: Segment, seed: int) -> list[Errors]:
    """Every line of the table."""
    in_order = arrivals(segment, 0, seed)
    late = arrivals(segment, DISORDER, seed)
    small = operator(front=1 * MILLISECOND)
    exact = operator(scale_variance=1e-12)

    def line(name: str, states: Callable[[], list[FilterState | None]]) -> Errors:
        return with_fusion(segment, name, states())

    return [
        *without_fusion(segment),
        line("fusion, in order", lambda: fused(segment, in_order, operator())),
        line(
            "fusion, in order, speed scale taken as exact", lambda: fused(segment, in_order, exact)
        ),
        line("fusion, disorder", lambda: fused(segment, late, operator())),
        line("fusion, disorder, late ones refused", lambda: fused(segment, late, small)),
        line(
            "fusion, in order, asked 200 ms later",
            lambda: fused(segment, in_order, operator(), PATIENCE),
        ),
        line(
            "fusion, disorder, asked 200 ms later",
            lambda: fused(segment, late, operator(), PATIENCE),
        ),
    ]


def coverage(segment: Segment, seed: int) -> float:
    """How often the 95 % interval holds the reference, east and north taken separately."""
    points = counted(segment)
    states = fused(segment, arrivals(segment, 0, seed), operator())[points]
    hits: list[bool] = [
        abs(value - true) <= NORMAL_95 * variance**0.5
        for state, (east, north) in zip(
            states, segment.reference.position[points].tolist(), strict=True
        )
        if state is not None
        for value, true, variance in (
            (state.x, east, state.var_x),
            (state.y, north, state.var_y),
        )
    ]
    return sum(hits) / len(hits)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--segment", type=Path, default=segment_directory())
    parser.add_argument("--every", type=int, default=1, help="keep every n-th fix")
    parser.add_argument("--seed", type=int, default=1)
    choices = parser.parse_args()
    if not choices.segment.is_dir():
        print(f"no recording at {choices.segment}: nothing measured")
        return
    segment = thinned(load_segment(choices.segment), choices.every)
    lines = study(segment, choices.seed)
    print("| position error (m) | mean | RMS | 95th percentile | mean without GNSS offset |")
    print("|---|---|---|---|---|")
    for line in lines:
        numbers = (line.mean, line.rms, line.percentile95, line.less(lines[0]).mean)
        print(f"| {line.name} | {' | '.join(f'{value:.3f}' for value in numbers)} |")
    along, left = lines[0].along.mean(), lines[0].left.mean()
    delay = -along / segment.gnss.speed.mean() * 1e3
    print(f"\nGNSS offset: {along:+.2f} m along, {left:+.2f} m left of the motion;")
    print(f"the first is what a delay of {delay:.0f} ms would give.")
    print(f"95 % intervals hold the reference {100 * coverage(segment, choices.seed):.1f} %.")


if __name__ == "__main__":
    main()
