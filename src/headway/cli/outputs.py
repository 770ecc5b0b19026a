"""Files that a command writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from headway.errors import FileError, Place, Problem


def write_files(folder: Path, contents: Mapping[str, str]) -> list[Path]:
    """Writes the files, making the folder where needed; FileError when that cannot be done."""
    return write_bytes(folder, {name: text.encode() for name, text in contents.items()})


def write_bytes(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """The same for files that are no text."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            path = folder / name
            path.write_bytes(content)
            written.append(path)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL character
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(
            Problem(
                f"cannot write here: {reason}",
                place=Place(str(folder)),
                want="name a folder that can be written to",
            )
        ) from None
    return written
