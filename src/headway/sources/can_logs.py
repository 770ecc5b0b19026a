"""Recorded CAN traffic, frame by frame: what python-can reads (.asc, .blf, .csv, .log, .trc), and
NumPy arrays ``t``, ``address``, ``data`` and ``src``: in a folder, in the layout of comma2k19, or
together in a file .npz."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile
from zlib import error as DeflateError

import numpy as np

from headway.errors import FileError, Place, Problem
from headway.sources import optional
from headway.sources.record import unreadable

SUFFIXES = (".asc", ".blf", ".csv", ".log", ".trc")
ARRAYS = ("t", "address", "data", "src")
ARRAY_FILE = ".npz"
LARGEST_STANDARD = 0x7FF
_PIECE = 8192


class CanFrame(NamedTuple):
    """``number`` counts from 1 in its log. ``remark`` says why there is nothing to decode."""

    number: int
    microseconds: int
    bus: int
    address: int
    data: bytes
    extended: bool
    remark: str = ""


def needed(module: str, package: str) -> Any:
    """A package of the extra ``can``, or EnvironmentMissing."""
    return optional.needed(module, package, extra="can", reading="CAN logs")


def is_log(path: Path) -> bool:
    return is_array_log(path) or (path.is_file() and path.suffix.lower() in SUFFIXES)


def is_array_log(path: Path) -> bool:
    if path.suffix.lower() == ARRAY_FILE:
        return path.is_file()
    return path.is_dir() and all((path / name).is_file() for name in ARRAYS)


def find_logs(path: Path) -> list[Path]:
    """The log itself, or all logs directly in a folder, by name; FileError if there is none."""
    if is_log(path):
        return [path]
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if not p.name.startswith((".", "_")) and is_log(p))
        if found:
            return found
    kinds = ", ".join(sorted((*SUFFIXES, ARRAY_FILE)))
    want = f"a file of {kinds}, or a folder with {', '.join(ARRAYS)}"
    raise FileError(Problem("there is no CAN log", place=Place(str(path)), want=want))


def count_frames(path: Path) -> int | None:
    """How many frames a log has, where that is known without reading it."""
    return len(_arrays(path)["t"]) if is_array_log(path) else None


def read_frames(path: Path, start: int = 0, end: int | None = None) -> Iterator[CanFrame]:
    """The frames ``start`` to ``end`` (from 0, without ``end``); FileError if unreadable."""
    if is_array_log(path):
        return _from_arrays(path, start, end)
    return (frame for frame in _from_file(path) if start < frame.number <= (end or frame.number))


def _arrays(path: Path) -> dict[str, Any]:
    try:
        if path.is_dir():
            arrays = {n: np.load(path / n, mmap_mode="r", allow_pickle=False) for n in ARRAYS}
        else:
            # NumPy leaves a file open that it opened itself and finds damaged.
            with path.open("rb") as file, np.load(file, allow_pickle=False) as packed:
                arrays = {name: packed[name] for name in ARRAYS}
    except (OSError, ValueError, EOFError, KeyError, BadZipFile, DeflateError) as error:
        raise unreadable(path, error) from None
    kinds = "".join(arrays[name].dtype.kind for name in ARRAYS)
    lengths = {array.shape for array in arrays.values()}
    if kinds not in ("fiSi", "fuSu", "fiSu", "fuSi") or len(lengths) != 1:
        got = ", ".join(f"{name} {a.dtype} {a.shape}" for name, a in arrays.items())
        what = "is not a CAN log of arrays of one length"
        raise FileError(Problem(what, place=Place(str(path)), got=got))
    return arrays


def _from_arrays(path: Path, start: int, end: int | None) -> Iterator[CanFrame]:
    arrays = _arrays(path)
    count = len(arrays["t"]) if end is None else min(end, len(arrays["t"]))
    for first in range(start, count, _PIECE):
        piece = slice(first, min(first + _PIECE, count))
        times = np.rint(arrays["t"][piece] * 1e6).astype(np.int64).tolist()
        addresses, buses = arrays["address"][piece].tolist(), arrays["src"][piece].tolist()
        data = arrays["data"][piece].tolist()  # NumPy takes zeros at the end away
        rows = zip(times, buses, addresses, data, strict=True)
        for number, (at, bus, address, content) in enumerate(rows, start=first + 1):
            extended = address > LARGEST_STANDARD
            yield CanFrame(number, at, bus, address, content.ljust(8, b"\0"), extended)


def _from_file(path: Path) -> Iterator[CanFrame]:
    can = needed("can", "python-can")
    try:
        with can.LogReader(path) as reader:
            for number, message in enumerate(reader, start=1):
                yield CanFrame(
                    number,
                    round(message.timestamp * 1e6),
                    _bus(message.channel),
                    message.arbitration_id,
                    bytes(message.data or b""),
                    message.is_extended_id,
                    _remark(message),
                )
    # The readers of python-can let out whatever a damaged file makes them trip over.
    except Exception as error:  # noqa: BLE001
        what = f"cannot be read as a CAN log ({type(error).__name__})"
        raise unreadable(path, error, what) from None


def _bus(channel: Any) -> int:
    """``0`` where a log does not tell; the number in names such as ``can1``."""
    if isinstance(channel, int):
        return channel
    digits = "".join(letter for letter in str(channel or "") if letter.isdigit())
    return int(digits) if digits else 0


def _remark(message: Any) -> str:
    if message.is_error_frame:
        return "an error frame"
    return "a remote frame" if message.is_remote_frame else ""
