"""What the C++ of an operator is to the rest of its program, and what its writer is given.

The table of kinds (:mod:`headway.model.operator_kinds`) names for each kind the function that
writes it for the engine ``native``: it takes the operator and a :class:`WriteContext` and gives an
:class:`OperatorCode`. A kind of another package brings its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from headway.model.schema import Schema
from headway.native.buffer_sizes import OperatorSizes
from headway.native.cpp_names import Names
from headway.native.cpp_streams import Streams
from headway.native.cpp_types import RowStruct

FILTER, MAP, PASS, CONVERT, STATEFUL = "FILTER", "MAP", "PASS", "CONVERT", "STATEFUL"
"""the kinds of steps (``headway::StepKind``)"""


@dataclass(frozen=True, kw_only=True)
class WriteContext:
    """``inputs`` are the rows that come in by each port, ``output`` those that go out;
    ``function`` is the name, free for the taking, of the operator's function or object, and
    ``type_name`` the beginning of the names of its types. ``names`` gives out further names."""

    streams: Streams
    inputs: dict[str, RowStruct]
    output: RowStruct
    schema: Schema
    sizes: OperatorSizes
    names: Names
    function: str
    type_name: str


@dataclass(frozen=True, kw_only=True)
class OperatorCode:
    """``text`` declares functions, types and objects, in the program's namespace.

    What it does with a row is one of: ``filter`` or ``map``, a function of the program that takes
    references (``bool f(const In&)``, ``void f(const In&, Out&)``); ``converters``, such a function
    for each port, empty where the layout is the same; ``object``, something derived from
    ``headway::Operator``. ``arena`` is a C++ constant: the bytes that the object takes at start.
    """

    kind: str
    text: tuple[str, ...] = ()
    headers: frozenset[str] = frozenset()
    filter: str = ""
    map: str = ""
    converters: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    """of a union with converters: what comes in by each port"""
    object: str = ""
    arena: str = ""
    files: dict[str, str] = field(default_factory=dict)
    """further headers that it includes: path -> text"""

    def with_headers(self, headers: Iterable[str]) -> OperatorCode:
        """The same, with more headers."""
        return replace(self, headers=self.headers | set(headers))


WriteOperator = Callable[[Any, WriteContext], OperatorCode]


def halved(text: str) -> list[str]:
    """Lines of text indented by four blanks a level, with two."""
    found = []
    for line in text.splitlines():
        bare = line.lstrip(" ")
        found.append(" " * ((len(line) - len(bare)) // 2) + bare)
    return found
