"""A segment of the public data set comma2k19 (MIT): GNSS, CAN speed, the radar's
tracks as the data set decodes them, and a reference trajectory.

Every signal is a folder with two NumPy files without an ending, ``t`` (seconds since boot) and
``value``; a file .npz with the same arrays may stand in for any folder. The arrays come out on a
local map: metres east and north of the reference's first position, times in whole microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile
from zlib import error as DeflateError

import numpy as np
from numpy.typing import NDArray

from headway.errors import FileError
from headway_studies.beyond.geodesy import Array, east_north_up, ecef_to_local, geodetic_to_ecef

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Gnss:
    """The receiver's fixes: time (µs), position (m, east and north), speed (m/s) and course."""

    times: Times
    position: Array
    speed: Array
    bearing: Array
    """degrees clockwise from north"""


@dataclass(frozen=True)
class SpeedSensor:
    """The speed on the CAN bus (m/s)."""

    times: Times
    speed: Array


@dataclass(frozen=True)
class Reference:
    """Where the car was: position (m) and velocity (m/s), east and north."""

    times: Times
    position: Array
    velocity: Array

    def position_at(self, times: Times) -> Array:
        """Between two points on a straight line; the first and last point hold outside."""
        return np.stack(
            [np.interp(times, self.times, self.position[:, axis]) for axis in (0, 1)], axis=-1
        )


@dataclass(frozen=True)
class RadarTracks:
    """One row for each track and cycle: metres forward and to the left of the car (with what the
    data set adds), and the relative speed (m/s; negative when the distance shrinks)."""

    seconds: Array
    forward: Array
    left: Array
    opening: Array
    track: Array
    """the CAN address of its frame"""


@dataclass(frozen=True)
class Segment:
    """One minute of driving."""

    gnss: Gnss
    speed: SpeedSensor
    reference: Reference


def load_segment(directory: Path) -> Segment:
    """Reads the directory that holds ``global_pose`` and ``processed_log``."""
    pose = directory / "global_pose"
    frame_times = _load(pose / "frame_times")
    ecef = _load(pose / "frame_positions", columns=3, rows=len(frame_times))
    origin = ecef[0]
    velocity: Array = (
        _load(pose / "frame_velocities", columns=3, rows=len(frame_times)) @ east_north_up(origin).T
    )
    fix_times, fixes = _signal(directory, "GNSS/live_gnss_ublox", columns=6)
    fix_positions = geodetic_to_ecef(fixes[:, 0], fixes[:, 1], fixes[:, 4])
    speed_times, speed = _signal(directory, "CAN/speed", columns=1)
    return Segment(
        gnss=Gnss(
            times=_microseconds(fix_times),
            position=ecef_to_local(fix_positions, origin)[:, :2],
            speed=fixes[:, 2],
            bearing=fixes[:, 5],
        ),
        speed=SpeedSensor(times=_microseconds(speed_times), speed=speed[:, 0]),
        reference=Reference(
            times=_microseconds(frame_times),
            position=ecef_to_local(ecef, origin)[:, :2],
            velocity=velocity[:, :2],
        ),
    )


def load_radar(directory: Path) -> RadarTracks:
    """The radar of a segment in the data set's own decoding."""
    seconds, values = _signal(directory, "CAN/radar", columns=7)
    return RadarTracks(
        seconds=seconds,
        forward=values[:, 0],
        left=values[:, 1],
        opening=values[:, 2],
        track=values[:, 5],
    )


def packed_in(folder: Path) -> Path:
    """The file that may hold the arrays of a folder."""
    return folder.with_name(folder.name + ".npz")


def _signal(directory: Path, name: str, columns: int) -> tuple[Array, Array]:
    """Times in seconds, and a row of values for each."""
    folder = directory / "processed_log" / name
    times = _load(folder / "t")
    return times, _load(folder / "value", columns=columns, rows=len(times))


def _microseconds(seconds: Array) -> Times:
    times: Times = np.rint(seconds * 1e6).astype(np.int64)
    return times


def _load(path: Path, columns: int | None = None, rows: int | None = None) -> Array:
    """A numeric array, not empty; never runs code from the file (``allow_pickle=False``)."""
    packed = packed_in(path.parent)
    try:
        if packed.is_file():
            # NumPy leaves a file open that it opened itself and finds damaged.
            with packed.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                array = arrays[path.name]
        else:
            array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, KeyError, BadZipFile, DeflateError) as error:
        raise FileError(f"{path} is not a readable NumPy file", got=str(error)) from error
    fits = array.ndim == 1 if columns is None else array.ndim == 2 and array.shape[1] == columns
    if not fits or array.dtype.kind != "f" or len(array) != (rows or len(array) or 1):
        lines = f"{rows} rows" if rows else "at least one row"
        raise FileError(
            f"{path} does not hold the signal it should",
            got=f"an array of {array.dtype} with shape {array.shape}",
            want=f"expected floats with {columns or 'no'} columns and {lines}",
        )
    floats: Array = array.astype(np.float64)
    return floats
