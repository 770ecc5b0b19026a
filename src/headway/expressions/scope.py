"""What the names in an expression mean."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headway.errors import ExpressionError
from headway.model.expression_tree import ColumnRef, Typed
from headway.model.schema import TIMESTAMP_COLUMN, DataType, Field, Schema

WINDOW_START = "window_start"
WINDOW_END = "window_end"
WINDOW_COLUMNS = (WINDOW_START, WINDOW_END)


@dataclass(frozen=True, slots=True)
class Scope:
    """Columns by port; an operator with one input has the single port None.

    Names are matched exactly, capitals included. At a join every column may be NULL, the timestamp
    too: a tuple that found no partner goes out alone.
    """

    ports: tuple[tuple[str | None, Schema], ...]
    windowed: bool = False

    @classmethod
    def row(cls, schema: Schema) -> Scope:
        """The columns of one stream."""
        return cls(((None, schema),))

    @classmethod
    def join(cls, ports: Mapping[str, Schema]) -> Scope:
        """The columns of several streams: ``port.column``, or ``column`` if only one has it."""
        return cls(tuple(ports.items()))

    @classmethod
    def aggregate(cls, schema: Schema) -> Scope:
        """The columns of one stream and the window's bounds."""
        return cls(((None, schema),), windowed=True)

    def column(self, name: str, port: str | None = None) -> Typed:
        """A column as an expression of its own."""
        return self.find(name, port)

    def find(
        self,
        name: str,
        port: str | None = None,
        offset: int | None = None,
        port_offset: int | None = None,
    ) -> Typed:
        """The column of that name; ExpressionError with near names when there is none."""
        if port is not None:
            return self._at_port(port, name, offset, port_offset)
        if self.windowed and name in WINDOW_COLUMNS:
            return Typed(
                ColumnRef(None, name, DataType.TIMESTAMP, nullable=False), DataType.TIMESTAMP
            )
        found = [
            (owner, field)
            for owner, schema in self.ports
            if (field := schema.find(name)) is not None
        ]
        if len(found) == 1:
            return self._reference(*found[0])
        if found:
            choices = " or ".join(f"{owner}.{name}" for owner, _ in found)
            raise ExpressionError(
                f"column {name!r} is ambiguous", want=f"write {choices}", offset=offset
            )
        raise ExpressionError(
            f"unknown column {name!r}", want=suggest(name, self._names()), offset=offset
        )

    def _at_port(self, port: str, name: str, offset: int | None, port_offset: int | None) -> Typed:
        schema = next((schema for owner, schema in self.ports if owner == port), None)
        if schema is None:
            ports = [owner for owner, _ in self.ports if owner is not None]
            want = (
                suggest(port, ports) if ports else f"write {name!r} alone: there is only one input"
            )
            raise ExpressionError(f"unknown port {port!r}", want=want, offset=port_offset)
        field = schema.find(name)
        if field is None:
            known = [column.name for column in schema.columns]
            raise ExpressionError(
                f"port {port!r} has no column {name!r}", want=suggest(name, known), offset=offset
            )
        return self._reference(port, field)

    def _reference(self, port: str | None, field: Field) -> Typed:
        nullable = port is not None or field.name != TIMESTAMP_COLUMN
        return Typed(ColumnRef(port, field.name, field.type, nullable), field.type, field.unit)

    def _names(self) -> list[str]:
        names = [
            column.name if owner is None else f"{owner}.{column.name}"
            for owner, schema in self.ports
            for column in schema.columns
        ]
        return names + list(WINDOW_COLUMNS if self.windowed else ())


def suggest(name: str, known: Iterable[str]) -> str:
    """``did you mean 'speed'?``, or the list of what there is."""
    candidates = list(dict.fromkeys(known))
    # `radar.x` is near `x`: compare with the bare names as well.
    bare = {candidate.rpartition(".")[2]: candidate for candidate in reversed(candidates)}
    folded = {candidate.lower(): candidate for candidate in [*bare, *candidates]}
    near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    if near:
        match = folded[near[0]]
        return f"did you mean {bare.get(match, match)!r}?"
    shown = ", ".join(candidates[:8]) + (", …" if len(candidates) > 8 else "")
    return f"there are {shown}" if shown else "there are none"
