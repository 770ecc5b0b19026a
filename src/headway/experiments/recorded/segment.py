"""Where the recorded real drive is: a segment of the public data set comma2k19. A cut of one is a
part of Headway (``examples/recorded_drive``); the environment variable ``HEADWAY_COMMA2K19`` names
the folder of another."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from headway.errors import EnvironmentMissing, FileError, InputError, Place, Problem
from headway.sources.can_logs import ARRAYS, needed
from headway.sources.comma2k19 import packed_in

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
    package = Path(__file__).parents[2]
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
        raise FileError(Problem(f"cannot be read: {reason}", place=Place(str(path)))) from None
