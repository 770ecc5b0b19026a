"""A class in C++ that a query names: its header found, and put beside the generated source.

A header is found as Python modules are: in the folder Headway runs in, then in those of
``sys.path``. Headers that it includes by quoted names come with it, if they lie in the same folder
tree; the generated ``streams.hpp`` and the runtime's own are there already.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from headway.errors import QueryError

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

_REFINES = re.compile(r"\brefine_piece\s*\(")


@dataclass(frozen=True, slots=True)
class NativeClass:
    """``name`` is fit for any namespace; ``files`` are the header and what it needs, by path."""

    name: str
    header: str
    files: Mapping[str, str]


def native_class(path: str, operator: str) -> NativeClass:
    """The class of ``header.hpp:Class``; QueryError when there is no such header."""
    header, _, name = path.partition(":")
    folders = [Path.cwd(), *(Path(entry) for entry in sys.path if entry)]
    folder = next((one for one in folders if (one / header).is_file()), None)
    if folder is None:
        raise QueryError(
            f"there is no header {header!r}",
            at=f"operators.{operator}.native",
            want="run Headway in the folder that has it, or add that folder to PYTHONPATH",
        )
    files: dict[str, str] = {}
    _collect(folder, PurePosixPath(header), files, operator)
    if name.rpartition("::")[2] not in files[header]:
        raise QueryError(f"{header!r} has no class {name!r}", at=f"operators.{operator}.native")
    return NativeClass(f"::{name}", header, files)


def check_refines(found: NativeClass, operator: str) -> None:
    """QueryError for a class without the optional part that its query declares."""
    if not any(_REFINES.search(text) for text in found.files.values()):
        raise QueryError(
            f"{found.name.removeprefix('::')} has no optional part",
            at=f"operators.{operator}.optional",
            want="override refine_piece, or leave out 'optional'",
        )


def _collect(folder: Path, header: PurePosixPath, files: dict[str, str], operator: str) -> None:
    """A header and those that it includes and that lie beside it."""
    if str(header) in files:
        return
    try:
        text = (folder / header).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QueryError(
            f"the header {str(header)!r} cannot be read: {error}",
            at=f"operators.{operator}.native",
        ) from error
    files[str(header)] = text
    for included in _INCLUDE.findall(text):
        for place in (header.parent / included, PurePosixPath(included)):
            if ".." not in place.parts and not place.is_absolute() and (folder / place).is_file():
                _collect(folder, place, files, operator)
                break
