"""Where the recorded real drive is: a segment of the public data set comma2k19, which is not part
of Headway. The environment variable ``HEADWAY_COMMA2K19`` names its folder; without it the segment
is looked for in ``shared/data/comma2k19/segment`` beside the repository (``HEADWAY_SHARED`` names
another ``shared``)."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from headway.errors import EnvironmentMissing, FileError, InputError, Place, Problem
from headway.sources.can_logs import ARRAYS, needed

SEGMENT_VARIABLE, SHARED_VARIABLE = "HEADWAY_COMMA2K19", "HEADWAY_SHARED"
CAN_LOG = "processed_log/CAN/raw_can"
DBC = "../toyota_adas.dbc"
"""what decodes the radar's frames; it stands beside the segment"""
SIGNALS = (
    "processed_log/GNSS/live_gnss_ublox",
    "processed_log/CAN/speed",
    "processed_log/CAN/radar",
)
FILES = (
    "global_pose/frame_times",
    "global_pose/frame_positions",
    "global_pose/frame_velocities",
    *(f"{signal}/{part}" for signal in SIGNALS for part in ("t", "value")),
    *(f"{CAN_LOG}/{part}" for part in ARRAYS),
    DBC,
)
"""all that is read, from the segment's folder"""
HOW = (
    f"set {SEGMENT_VARIABLE} to the folder of a segment of a Toyota RAV4 from the public data set "
    "comma2k19 (repository commaai/comma2k19), which holds global_pose, processed_log/CAN and "
    "processed_log/GNSS, and put toyota_adas.dbc (repository commaai/opendbc) into the folder above"
)


def segment_directory() -> Path:
    """The folder that is named, or the one beside the repository; it need not be there."""
    if named := os.environ.get(SEGMENT_VARIABLE):
        return Path(named).absolute()
    beside = Path(__file__).parents[5] / "shared"
    shared = Path(os.environ.get(SHARED_VARIABLE) or beside).absolute()
    return shared / "data/comma2k19/segment"


def lacks() -> str | None:
    """What is missing to run the recorded drive here, and how to get it."""
    folder = segment_directory()
    missing = [name for name in FILES if not _file(folder, name).is_file()]
    if len(missing) == len(FILES):
        return f"there is no recorded drive: {HOW}"
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        return f"the recorded drive lacks {missing[0]}{more}: {HOW}"
    try:
        needed("cantools", "cantools")
    except EnvironmentMissing as error:
        return str(error)
    return None


def recording() -> str | None:
    """Says which drive it is, by the content of its files; None where there is none."""
    if lacks() is not None:
        return None
    digest = hashlib.sha256()
    for name in FILES:
        content = _read(_file(segment_directory(), name))
        digest.update(f"{name} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def segment_of(wanted: str | None) -> Path:
    """The folder of that recording; another machine may have none, or another one."""
    if (lack := lacks()) is not None:
        raise EnvironmentMissing(lack)
    found = recording()
    if found != wanted:
        raise InputError(
            Problem(
                "this is not the recorded drive that the run began with",
                place=Place(str(segment_directory())),
                got=f"recording {found} instead of {wanted}",
                want=f"name the same one with {SEGMENT_VARIABLE} everywhere, or begin anew",
            )
        )
    return segment_directory()


def _file(folder: Path, name: str) -> Path:
    return folder.parent / Path(name).name if name == DBC else folder / name


def can_log_of(folder: Path) -> Path:
    """The raw CAN log of a segment."""
    return folder.absolute() / CAN_LOG


def dbc_of(folder: Path) -> Path:
    """The DBC of a segment."""
    return _file(folder.absolute(), DBC)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(Problem(f"cannot be read: {reason}", place=Place(str(path)))) from None
