"""Text from files people name: regular, not too large, UTF-8; FileError for anything else."""

from __future__ import annotations

from pathlib import Path

from headway.errors import FileError, Place, Problem

MOST_BYTES = 8_000_000
"""A query of 10,000 operators takes about one megabyte."""


def read_text(path: Path) -> str:
    """The text of a file, without a byte order mark."""
    place = Place(str(path), 1, 1)
    try:
        if not path.exists():
            raise FileError(Problem("there is no such file", place=place, want="check its path"))
        if not path.is_file():
            got = "a directory" if path.is_dir() else "something that is no regular file"
            raise FileError(
                Problem("cannot be read", place=place, got=got, want="name a YAML file")
            )
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL character
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(
            Problem(f"cannot be read: {reason}", place=place, want="check its path and permissions")
        ) from None
    if len(data) > MOST_BYTES:
        raise FileError(
            Problem(
                "the file is too large",
                place=place,
                got=f"more than {MOST_BYTES:,} bytes",
                want="move components into libraries and name them under 'use'",
            )
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise FileError(
            Problem(
                "the file is not UTF-8",
                place=Place(str(path), line, column),
                got=f"byte 0x{data[error.start]:02x}",
                want="save it as UTF-8",
            )
        ) from None
