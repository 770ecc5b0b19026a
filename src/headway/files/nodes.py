"""YAML text as a tree that knows where every part stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

from headway.errors import Place
from headway.files.scalars import Value

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(slots=True)
class Scalar:
    start: int
    end: int
    text: str
    style: str
    """``''`` for plain, else ``'``, ``"``, ``|`` or ``>``"""
    value: Value


@dataclass(slots=True)
class Sequence:
    start: int
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Mapping:
    start: int
    entries: dict[str, Node] = field(default_factory=dict)
    keys: dict[str, Scalar] = field(default_factory=dict)


Node = Scalar | Sequence | Mapping


@dataclass(slots=True)
class Document:
    """A parsed file: its name, its text and its root."""

    file: str
    text: str
    root: Mapping
    _line_starts: list[int] = field(default_factory=list)

    def place(self, index: int) -> Place:
        """Line and column of a character, both from 1."""
        if not self._line_starts:
            self._line_starts = _line_starts(self.text)
        line = bisect_right(self._line_starts, index)
        return Place(self.file, line, index - self._line_starts[line - 1] + 1)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def plain(node: Node) -> Any:
    """The tree as dicts, lists and scalars."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return {key: plain(value) for key, value in node.entries.items()}
