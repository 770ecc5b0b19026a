"""Places of files and folders: a local path, or the URI of one of Hadoop's file systems.

A URI is read as Hadoop reads it: what stands behind the authority is a path letter by letter, so
``%20`` is a percent sign and two digits, and ``#`` and ``?`` are letters of a name. ``file:`` names
a local path. A local path always means this machine's file system, also where the Hadoop
configuration of a cluster has another one as its default.
"""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

from headway.errors import FileError, Place

LOCAL = "file"
_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?://(?P<authority>[^/]*))?(?P<path>/.*|)")
"""two letters at least before the colon: ``C:/`` is a drive of Windows"""
_PATTERN_LETTERS = "[]{}*?\\"


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """Made by :meth:`of`. Two of the same place are equal where they are spelt alike but for
    ``file:``, doubled slashes and dots."""

    text: str
    """a local path without ``file:``, or a URI"""

    @classmethod
    def of(cls, given: str | os.PathLike[str] | Location) -> Location:
        """FileError for a URI that names no place."""
        if isinstance(given, Location):
            return given
        text = os.fspath(given)
        found = _URI.fullmatch(text)
        if found is None or not (found["authority"] or found["path"]):
            return cls(str(Path(text)))
        if not isinstance(given, str):  # a path is local, however it looks
            return cls(str(Path(text).absolute()))
        scheme, authority = found["scheme"].lower(), found["authority"]
        path = _normal(found["path"] or "/")
        if scheme == LOCAL:
            if authority not in (None, "", "localhost"):
                raise FileError(
                    "a file URI names no machine",
                    place=Place(text),
                    got=f"the machine {authority!r}",
                    want="write file:///PATH, with three slashes",
                )
            return cls(path)
        return cls(f"{scheme}:{'' if authority is None else f'//{authority}'}{path}")

    def __str__(self) -> str:
        return self.text

    def __truediv__(self, name: str) -> Location:
        if self.is_local:
            return Location(str(Path(self.text) / name))
        before, path = self._split()
        return Location(before + _normal(posixpath.join(path, name)))

    @property
    def name(self) -> str:
        """The last part; empty for the root of a file system."""
        return Path(self.text).name if self.is_local else posixpath.basename(self._split()[1])

    @property
    def suffix(self) -> str:
        """Of the name, with its dot."""
        return Path(self.name).suffix

    @property
    def parent(self) -> Location:
        """The root is its own."""
        if self.is_local:
            return Location(str(Path(self.text).parent))
        before, path = self._split()
        return Location(before + posixpath.dirname(path))

    @property
    def absolute(self) -> Location:
        """The same, whatever folder the process is in."""
        return Location(str(Path(self.text).absolute())) if self.is_local else self

    @property
    def scheme(self) -> str:
        return LOCAL if self.is_local else self.text.partition(":")[0]

    @property
    def is_local(self) -> bool:
        found = _URI.fullmatch(self.text)
        return found is None or not (found["authority"] or found["path"])

    @property
    def path(self) -> Path:
        """Of a local one; FileError for others."""
        if not self.is_local:
            raise FileError(
                "a local path is needed here", place=Place(self.text), want="name a local folder"
            )
        return Path(self.text)

    @property
    def hadoop_path(self) -> str:
        """For Hadoop and for Spark's writers, which take it letter by letter."""
        return f"{LOCAL}://{Path(self.text).absolute()}" if self.is_local else self.text

    @property
    def spark_path(self) -> str:
        """For Spark's readers, which take a path for a pattern: this one stands for itself."""
        return "".join(f"\\{one}" if one in _PATTERN_LETTERS else one for one in self.hadoop_path)

    def _split(self) -> tuple[str, str]:
        """Of a URI: what stands before the path, and the path."""
        found = _URI.fullmatch(self.text)
        assert found is not None
        return self.text[: found.start("path")], found["path"]


def _normal(path: str) -> str:
    """As Hadoop has it: one slash where there are two, no dots, none at the end."""
    return posixpath.normpath("/" + path.lstrip("/"))
