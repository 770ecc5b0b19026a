"""A program's source as text, file by file: written to a folder, and known by its digest.

Names are paths with ``/`` inside the folder; they come from a generator, but also from files that
people name, so one that leads out of the folder is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from headway.engine.run_folder import unwritable
from headway.errors import InputError


def write_tree(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Writes the files into a folder of their own, which is made; FileError when that cannot be
    done. For folders that get their name when they are complete."""
    written: list[Path] = []
    path = folder
    try:
        for name, text in files.items():
            path = folder.joinpath(*_parts(name))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            written.append(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL character
        raise unwritable(path, error) from None
    return written


def _parts(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise InputError(
            "a source file must lie inside the folder of its program",
            got=repr(name),
            want="name it by a path without '..'",
        )
    return path.parts


def tree_digest(files: Mapping[str, str], include: Sequence[Path] = ()) -> str:
    """Of all names and texts, and of all files below the folders that are included."""
    digest = hashlib.sha256()
    for name, text in sorted(files.items()):
        _add(digest, name.encode(), text.encode())
    for folder in include:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                _add(digest, path.relative_to(folder).as_posix().encode(), path.read_bytes())
    return digest.hexdigest()


def _add(digest: hashlib._Hash, *parts: bytes) -> None:
    """With their lengths, so that no two lists of parts give the same bytes."""
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
