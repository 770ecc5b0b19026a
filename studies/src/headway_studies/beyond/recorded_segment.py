"""Where the recorded real drive is: a segment of the public data set comma2k19. A cut of one is a
part of Headway (``examples/recorded_drive``); the environment variable ``HEADWAY_COMMA2K19`` names
the folder of another.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

import headway
from headway.compiler import compile_query
from headway.drive.collision_warning import QueryInVehicle, example
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.errors import (
    DataError,
    EnvironmentMissing,
    FileError,
    InputError,
    Place,
    PlacementError,
    Problem,
)
from headway.files import load_query, load_vehicle
from headway.model.operators import Fusion
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Source
from headway.model.schema import Schema
from headway.model.user_operator import Row
from headway.sources.can_log import ARRAYS, needed
from headway.sources.parquet_file import StreamWriter
from headway.sources.recordings import read_recording
from headway_studies.beyond.comma2k19 import load_radar, load_segment, packed_in

SEGMENT_VARIABLE = "HEADWAY_COMMA2K19"
CAN_LOG = "processed_log/CAN/raw_can"
DBC = "../toyota_adas.dbc"
"""what decodes the radar's frames; it stands beside the segment"""
SIGNALS = (
    "processed_log/GNSS/live_gnss_ublox",
    "processed_log/CAN/speed",
    "processed_log/CAN/radar",
)
OWN = "examples/recorded_drive/segment"
FILES = (
    "global_pose/frame_times",
    "global_pose/frame_positions",
    "global_pose/frame_velocities",
    *(f"{signal}/{part}" for signal in SIGNALS for part in ("t", "value")),
    *(f"{CAN_LOG}/{part}" for part in ARRAYS),
    DBC,
)
"""all that is read, from the segment's folder"""
WANTED = (
    "the folder of a segment of a Toyota RAV4 from the public data set comma2k19 (repository "
    "commaai/comma2k19), which holds global_pose, processed_log/CAN and processed_log/GNSS, and "
    "put toyota_adas.dbc (repository commaai/opendbc) into the folder above"
)


def segment_directory() -> Path:
    """The folder that is named, else that of Headway's own; it need not be there."""
    named = os.environ.get(SEGMENT_VARIABLE)
    return Path(named).absolute() if named else _own()


def _own() -> Path:
    """As installed with the package, or as it stands in the source tree."""
    package = Path(headway.__file__).parent
    installed = package / OWN
    return installed if installed.is_dir() else package.parents[1] / OWN


def whole_segment() -> Path:
    """The folder that is named, with all that is read; EnvironmentMissing says what is not there.
    A report tells it, so no path of a machine is in it unless its user named one."""
    folder = segment_directory()
    missing = [name for name in FILES if not _file(folder, name).is_file()]
    if missing and not os.environ.get(SEGMENT_VARIABLE):
        raise EnvironmentMissing(
            f"the recorded drive is not installed ({OWN}): install Headway from a wheel or a "
            f"source tree, or set {SEGMENT_VARIABLE} to {WANTED}"
        )
    if missing:
        more = f" and {len(missing) - 1} more of its {len(FILES)} files" if missing[1:] else ""
        problem = Problem(
            f"{SEGMENT_VARIABLE} is set to this folder, but there is no whole recorded drive in it",
            place=Place(str(folder)),
            got=f"a folder without {missing[0]}{more}" if folder.is_dir() else "no such folder",
            want=f"set it to {WANTED}",
        )
        raise EnvironmentMissing(str(problem))
    needed("cantools", "cantools")
    return folder


def lacks() -> str | None:
    """What is missing to run the recorded drive here, and how to get it."""
    try:
        whole_segment()
    except EnvironmentMissing as error:
        return str(error)
    return None


def recording() -> str | None:
    """Says which drive it is, by the content of its files; None where there is none."""
    try:
        return _digest(whole_segment())
    except EnvironmentMissing:
        return None


def segment_of(wanted: str | None) -> Path:
    """The folder of that recording; another machine may have none, or another one."""
    folder = whole_segment()
    found = _digest(folder)
    if found != wanted:
        raise InputError(
            "this is not the recorded drive that the run began with",
            place=Place(str(folder)),
            got=f"recording {found} instead of {wanted}",
            want=f"name the same one with {SEGMENT_VARIABLE} everywhere, or begin anew",
        )
    return folder


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in FILES:
        content = _read(_file(folder, name))
        digest.update(f"{name} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _file(folder: Path, name: str) -> Path:
    """The file itself, or the one that holds all of its folder."""
    if name == DBC:
        return folder.parent / Path(name).name
    packed = packed_in((folder / name).parent)
    return packed if packed.is_file() else folder / name


def can_log_of(folder: Path) -> Path:
    """The raw CAN log of a segment."""
    log = folder.absolute() / CAN_LOG
    packed = packed_in(log)
    return packed if packed.is_file() else log


def dbc_of(folder: Path) -> Path:
    """The DBC of a segment."""
    return _file(folder.absolute(), DBC)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(f"cannot be read: {reason}", place=Place(str(path))) from None


# ----------------------------------------------------------------
# The car ahead on a drive in the layout of comma2k19, by a query on the vehicle engine.
#
# The recording is written for the sources ``gps``, ``speed`` and ``radar`` of
# ``examples/collision_warning/car_ahead.yaml``: GNSS and speed as Parquet, the radar as it is in
# the raw CAN log, decoded with its DBC.


RADAR_CAN = """log: {log}
dbc: {dbc}
bus: 1
messages: "TRACK_A_*"
columns: {{track: frame.address, valid: VALID, forward: LONG_DIST, right: LAT_DIST,
  closing: REL_SPEED}}
"""


def car_ahead_application() -> QueryInVehicle:
    """The example's query and its one ECU."""
    query, vehicle = example("car_ahead.yaml"), example("one_ecu.yaml")
    return QueryInVehicle(load_query(query).query, load_vehicle(vehicle).vehicle)


def declaring(given: QueryInVehicle, *, gate: bool, correlated: bool) -> QueryInVehicle:
    """The same, with less of what the query declares of its type 2 fusion."""
    steps = tuple(
        replace(
            step,
            gate=step.gate if gate else None,
            correlated=step.correlated and correlated,
        )
        if isinstance(step, Fusion)
        else step
        for step in given.query.steps
    )
    return replace(given, query=replace(given.query, steps=steps))


def plan_at(given: QueryInVehicle, rate: float) -> Plan:
    """For an ECU of this rate. Where it is too slow for the compiler (more work is declared than it
    can do), what was compiled for the rate of the file runs on it, and nothing is promised."""
    nodes = tuple(replace(node, rate=rate) for node in given.vehicle.nodes)
    vehicle = replace(given.vehicle, nodes=nodes)
    try:
        return compile_query(given.query, vehicle)
    except PlacementError:
        return replace(compile_query(given.query, given.vehicle), vehicle=vehicle, verdict=None)


def write_recording(folder: Path, segment_folder: Path, sources: Sequence[Source]) -> None:
    """GNSS and speed as Parquet; a pointer into the CAN log for the radar."""
    segment = load_segment(segment_folder)
    schemas = {source.name: source.schema for source in sources}
    gnss = segment.gnss
    heading = np.radians(90.0 - gnss.bearing)  # clockwise from north to counter-clockwise from east
    rows = zip(gnss.times.tolist(), *gnss.position.T.tolist(), heading.tolist(), strict=True)
    _write(folder / "gps.parquet", schemas["gps"], rows)
    speed = zip(segment.speed.times.tolist(), segment.speed.speed.tolist(), strict=True)
    _write(folder / "speed.parquet", schemas["speed"], speed)
    log, dbc = (
        json.dumps(str(path)) for path in (can_log_of(segment_folder), dbc_of(segment_folder))
    )
    (folder / "radar.can").write_text(RADAR_CAN.format(log=log, dbc=dbc), encoding="utf-8")


def _write(path: Path, schema: Schema, rows: Iterable[Row]) -> None:
    with StreamWriter(path, schema, arrival=False) as writer:
        for row in rows:
            writer.write(row)


def recorded(segment_folder: Path, sources: Sequence[Source]) -> list[Arrival]:
    """The segment's tuples for the query's sources, by arrival."""
    with TemporaryDirectory() as folder:
        write_recording(Path(folder), segment_folder, sources)
        found = [
            Arrival(one.arrived_at * MICROSECOND, one.source, one.row)
            for one in read_recording(Path(folder), sources)
        ]
    _check_tracks(segment_folder, found, sources)
    return found


def _check_tracks(folder: Path, found: Sequence[Arrival], sources: Sequence[Source]) -> None:
    """A DBC that was cut off, or is of another radar, would leave out tracks without a word."""
    (columns,) = (source.schema.columns for source in sources if source.name == "radar")
    place = [column.name for column in columns].index("track")
    decoded = {one.row[place] for one in found if one.source == "radar"}
    missing = sorted({int(track) for track in load_radar(folder).track} - decoded)
    if missing:
        raise DataError(
            f"{len(missing)} of the radar's tracks cannot be decoded, the first is {missing[0]:#x}",
            place=Place(str(dbc_of(folder))),
            want="take the whole toyota_adas.dbc, and a drive of a Toyota RAV4",
        )


def drive(arrivals: Iterable[Arrival], plan: Plan, policy: str = "s-edf") -> RunResult:
    return Engine(plan=plan, policy=policy, keep_trace=False).run(arrivals)


# ----------------------------------------------------------------
# The car ahead, moment by moment: as the query gives it, as the radar says by itself in the data
# set's own decoding, and how far the two lie apart.


LANE = 1.8
"""m to each side of our way; the query says the same"""
CLOSING = 0.5
"""m/s: slower than that there is no time to collision worth telling"""
RADAR_TO_CAMERA = 2.7
"""m, which the data set adds to the distance"""

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


def car_ahead(result: RunResult) -> CarAhead:
    """Of all in our lane, at each moment of the fusion, the nearest."""
    nearest: dict[int, tuple[float, float]] = {}
    for _, _, at, ahead, _, opening in result.outputs["ahead"].rows:
        if at not in nearest or ahead < nearest[at][0]:
            nearest[at] = (ahead, opening)
    return _car_ahead([(at / 1e6, *nearest[at]) for at in sorted(nearest)])


def radar_alone(segment_folder: Path) -> CarAhead:
    """In the data set's decoding: the nearest track straight in front of the car, each cycle."""
    radar = load_radar(segment_folder)
    times = radar.seconds
    cycle = np.cumsum(np.diff(times, prepend=times[0]) > 0.02)
    found = []
    for number in range(int(cycle[-1]) + 1):
        mine = (cycle == number) & (np.abs(radar.left) < LANE)
        if mine.any():
            nearest = np.flatnonzero(mine)[np.argmin(radar.forward[mine])]
            distance = radar.forward[nearest] - RADAR_TO_CAMERA
            found.append((times[nearest], distance, radar.opening[nearest]))
    return _car_ahead(found)


def _car_ahead(found: Sequence[tuple[float, float, float]]) -> CarAhead:
    if len(found) < 2:
        raise DataError(
            "there is no car ahead in this recording",
            got=f"{len(found)} moments with one",
            want="take a segment with traffic, of a car whose radar the DBC describes",
        )
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
    if not both.any():
        raise DataError("the fusion and the radar never see a car ahead at the same time")
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
