"""The car ahead on a drive in the layout of comma2k19, by a query on the vehicle engine.

The recording is written for the sources ``gps``, ``speed`` and ``radar`` of
``examples/collision_warning/car_ahead.yaml``: GNSS and speed as Parquet, the radar as it is in the
raw CAN log, decoded with its DBC. What comes out is compared with what the radar says by itself, in
the data set's own decoding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headway.model.plan import Plan
from headway.model.schema import Schema
from headway.model.time import MICROSECOND
from headway.model.user_operator import Row
from headway.runtime.engine import Engine, RunResult
from headway.runtime.kernel import Arrival
from headway.sources.comma2k19 import load_segment
from headway.sources.recordings import read_recording
from headway.sources.writing import StreamWriter

LANE = 1.8
"""m to each side of our way; the query says the same"""
CLOSING = 0.5
"""m/s: slower than that there is no time to collision worth telling"""
RADAR_TO_CAMERA = 2.7
"""m, which the data set adds to the distance"""
RADAR_CAN = """log: {log}
dbc: {dbc}
bus: 1
messages: "TRACK_A_*"
columns: {{track: frame.address, valid: VALID, forward: LONG_DIST, right: LAT_DIST,
  closing: REL_SPEED}}
"""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class CarAhead:
    """The nearest object in our lane, moment by moment: seconds, m, m/s (negative: closing)."""

    time: Numbers
    distance: Numbers
    opening: Numbers

    @property
    def ttc(self) -> Numbers:
        """Seconds; NaN where the distance hardly shrinks."""
        closing = np.where(self.opening < -CLOSING, -self.opening, np.nan)
        return self.distance / closing

    def at(self, times: Numbers, reach: float = 0.1) -> CarAhead:
        """The nearest moment to each of ``times``; NaN where there is none within ``reach`` s."""
        place = np.clip(np.searchsorted(self.time, times), 1, len(self.time) - 1)
        place -= times - self.time[place - 1] < self.time[place] - times
        far = np.abs(self.time[place] - times) > reach
        distance, opening = self.distance[place].copy(), self.opening[place].copy()
        distance[far] = opening[far] = np.nan
        return CarAhead(times, distance, opening)


def write_recording(folder: Path, segment_folder: Path, plan: Plan) -> None:
    """GNSS and speed as Parquet; a pointer into the CAN log for the radar."""
    segment = load_segment(segment_folder)
    schemas = {source.name: source.schema for source in plan.query.sources}
    gnss = segment.gnss
    heading = np.radians(90.0 - gnss.bearing)  # clockwise from north to counter-clockwise from east
    rows = zip(gnss.times.tolist(), *gnss.position.T.tolist(), heading.tolist(), strict=True)
    _write(folder / "gps.parquet", schemas["gps"], rows)
    speed = zip(segment.speed.times.tolist(), segment.speed.speed.tolist(), strict=True)
    _write(folder / "speed.parquet", schemas["speed"], speed)
    log = segment_folder.absolute() / "processed_log/CAN/raw_can"
    dbc = segment_folder.absolute().parent / "toyota_adas.dbc"
    (folder / "radar.can").write_text(RADAR_CAN.format(log=log, dbc=dbc), encoding="utf-8")


def _write(path: Path, schema: Schema, rows: Iterable[Row]) -> None:
    with StreamWriter(path, schema, arrival=False) as writer:
        for row in rows:
            writer.write(row)


def drive(folder: Path, plan: Plan) -> RunResult:
    arrivals = (
        Arrival(one.arrived_at * MICROSECOND, one.source, one.row)
        for one in read_recording(folder, plan.query.sources)
    )
    return Engine(plan=plan, keep_trace=False).run(arrivals)


def car_ahead(result: RunResult) -> CarAhead:
    """Of all in our lane, at each moment of the fusion, the nearest."""
    nearest: dict[int, tuple[float, float]] = {}
    for _, _, at, ahead, _, opening in result.outputs["ahead"].rows:
        if at not in nearest or ahead < nearest[at][0]:
            nearest[at] = (ahead, opening)
    moments = sorted(nearest)
    distance, opening = np.array([nearest[at] for at in moments]).T
    return CarAhead(np.array(moments) / 1e6, distance, opening)


def radar_alone(segment_folder: Path) -> CarAhead:
    """In the data set's decoding: the nearest track straight in front of the car, each cycle."""
    radar = segment_folder / "processed_log/CAN/radar"
    times = np.load(radar / "t", allow_pickle=False)
    values = np.load(radar / "value", allow_pickle=False)
    cycle = np.cumsum(np.diff(times, prepend=times[0]) > 0.02)
    found = []
    for number in range(int(cycle[-1]) + 1):
        mine = (cycle == number) & (np.abs(values[:, 1]) < LANE)
        if mine.any():
            nearest = np.flatnonzero(mine)[np.argmin(values[mine, 0])]
            found.append((times[nearest], values[nearest, 0] - RADAR_TO_CAMERA, values[nearest, 2]))
    time, distance, opening = np.array(found).T
    return CarAhead(time, distance, opening)


@dataclass(frozen=True)
class Agreement:
    """Of two views of the car ahead, at the moments of the first: how far they lie apart."""

    moments: int
    both: int
    distance_median: float
    distance_95: float
    another_car: float
    """share of the moments at which they differ by more than 5 m"""
    speed_median: float
    speed_95: float


def agreement(one: CarAhead, other: CarAhead) -> Agreement:
    there = other.at(one.time)
    distance = np.abs(one.distance - there.distance)
    both = np.isfinite(distance)
    distance, speed = distance[both], np.abs(one.opening - there.opening)[both]
    return Agreement(
        moments=len(one.time),
        both=int(both.sum()),
        distance_median=float(np.median(distance)),
        distance_95=float(np.percentile(distance, 95)),
        another_car=float(np.mean(distance > 5)),
        speed_median=float(np.median(speed)),
        speed_95=float(np.percentile(speed, 95)),
    )
