"""A segment of the public data set comma2k19 (MIT): GNSS, CAN speed and a reference trajectory.

Every signal is a pair of NumPy files without an ending, ``t`` (seconds since boot) and ``value``.
The arrays come out on a local map: metres east and north of the reference's first position, times
in whole microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headway.errors import FileError, Problem
from headway.sources.geodesy import Array, east_north_up, ecef_to_local, geodetic_to_ecef

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
class Segment:
    """One minute of driving."""

    gnss: Gnss
    speed: SpeedSensor
    reference: Reference


def load_segment(directory: Path) -> Segment:
    """Reads the directory that holds ``global_pose`` and ``processed_log``."""
    pose, log = directory / "global_pose", directory / "processed_log"
    ecef = _load(pose / "frame_positions", columns=3)
    origin = ecef[0]
    fixes = _load(log / "GNSS/live_gnss_ublox/value", columns=6)
    fix_positions = geodetic_to_ecef(fixes[:, 0], fixes[:, 1], fixes[:, 4])
    velocity: Array = _load(pose / "frame_velocities", columns=3) @ east_north_up(origin).T
    return Segment(
        gnss=Gnss(
            times=_microseconds(_load(log / "GNSS/live_gnss_ublox/t")),
            position=ecef_to_local(fix_positions, origin)[:, :2],
            speed=fixes[:, 2],
            bearing=fixes[:, 5],
        ),
        speed=SpeedSensor(
            times=_microseconds(_load(log / "CAN/speed/t")),
            speed=_load(log / "CAN/speed/value", columns=1)[:, 0],
        ),
        reference=Reference(
            times=_microseconds(_load(pose / "frame_times")),
            position=ecef_to_local(ecef, origin)[:, :2],
            velocity=velocity[:, :2],
        ),
    )


def _microseconds(seconds: Array) -> Times:
    times: Times = np.rint(seconds * 1e6).astype(np.int64)
    return times


def _load(path: Path, columns: int | None = None) -> Array:
    """A numeric array; never runs code from the file (``allow_pickle=False``)."""
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FileError(Problem(f"{path} is not a readable NumPy file", got=str(error))) from error
    fits = array.ndim == 1 if columns is None else array.ndim == 2 and array.shape[1] == columns
    if not fits or array.dtype.kind != "f":
        raise FileError(
            Problem(
                f"{path} does not hold the signal it should",
                got=f"an array of {array.dtype} with shape {array.shape}",
                want=f"expected floats with {columns or 'no'} columns",
            )
        )
    floats: Array = array.astype(np.float64)
    return floats
