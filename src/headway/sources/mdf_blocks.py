"""Whether an MDF 4 file is whole: every block that another one points to lies inside the file.

A measurement that was cut short (power lost, copy interrupted) may still open and give fewer
samples than were taken, so it is looked at before it is read. All blocks of MDF 4 begin alike: an
identification ``##XX``, four bytes, the block's length, the number of its links, and the links,
each the place of another block or 0 (ASAM MDF 4.1, 4.2).
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from headway.errors import FileError, Place, Problem
from headway.sources.record import unreadable

_HEAD = struct.Struct("<4s4xQQ")
_FIRST = 64
"""where the header block stands, behind the identification"""


def check_whole(path: Path) -> None:
    """FileError when it is no MDF 4, was not finished, or lacks a part."""
    try:
        with path.open("rb") as file:
            _check_identification(path, file.read(_FIRST))
            _check_blocks(path, file)
    except OSError as error:
        raise unreadable(path, error) from None


def _check_identification(path: Path, start: bytes) -> None:
    name, version = start[:8].rstrip(), start[8:16].rstrip(b" \0")
    if name == b"UnFinMF":
        what = "was not finished by the tool that wrote it (its mark is 'UnFinMF')"
        raise _bad(path, what, want="let that tool finalise it")
    if name != b"MDF" or len(start) < _FIRST:
        raise _bad(path, "is no MDF file", got=f"{start[:16]!r}")
    if not version.startswith(b"4."):
        what = "is not MDF 4"
        raise _bad(path, what, got=f"version {version.decode('latin-1')}", want="convert it")


def _check_blocks(path: Path, file: BinaryIO) -> None:
    size = path.stat().st_size
    seen: set[int] = set()
    waiting = [_FIRST]
    while waiting:
        at = waiting.pop()
        if at == 0 or at in seen:
            continue
        seen.add(at)
        file.seek(at)
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise _short(path, at, size)
        name, length, links = _HEAD.unpack(head)
        if not name.startswith(b"##") or length < _HEAD.size + 8 * links:
            raise _bad(path, f"is damaged: there is no block at byte {at:,}", got=repr(name))
        if at + length > size:
            raise _short(path, at, size)
        waiting += struct.unpack(f"<{links}Q", file.read(8 * links))


def _short(path: Path, at: int, size: int) -> FileError:
    return _bad(
        path,
        f"is cut short: a block that should be at byte {at:,} is not whole",
        got=f"{size:,} bytes",
        want="copy it again, or let the tool that wrote it repair it",
    )


def _bad(path: Path, what: str, *, got: str = "", want: str = "") -> FileError:
    return FileError(Problem(what, place=Place(str(path)), got=got, want=want))
