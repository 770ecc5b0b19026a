"""Where the recorded real drive is: a segment of the public data set comma2k19, which is not part
of Headway. The environment variable ``HEADWAY_COMMA2K19`` names its folder."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from headway.errors import EnvironmentMissing, FileError, InputError, Place, Problem
from headway.sources.can_log import ARRAYS, needed

SEGMENT_VARIABLE = "HEADWAY_COMMA2K19"
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
WANTED = (
    "the folder of a segment of a Toyota RAV4 from the public data set comma2k19 (repository "
    "commaai/comma2k19), which holds global_pose, processed_log/CAN and processed_log/GNSS, and "
    "put toyota_adas.dbc (repository commaai/opendbc) into the folder above"
)


def segment_directory() -> Path | None:
    """The folder that is named; it need not be there."""
    named = os.environ.get(SEGMENT_VARIABLE)
    return Path(named).absolute() if named else None


def whole_segment() -> Path:
    """The folder that is named, with all that is read; EnvironmentMissing says what is not there.
    A report tells it, so no path of a machine is in it unless its user named one."""
    folder = segment_directory()
    if folder is None:
        raise EnvironmentMissing(
            f"there is no recorded drive: {SEGMENT_VARIABLE} is not set; set it to {WANTED}"
        )
    missing = [name for name in FILES if not _file(folder, name).is_file()]
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
            Problem(
                "this is not the recorded drive that the run began with",
                place=Place(str(folder)),
                got=f"recording {found} instead of {wanted}",
                want=f"name the same one with {SEGMENT_VARIABLE} everywhere, or begin anew",
            )
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
