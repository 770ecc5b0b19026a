"""The streams of a program as C++ structs, named as in the query.

Every stream has a type of its own name. Streams that pass rows on as they are (filters, distincts,
unions of one layout) share the struct, by ``using``: a row is never looked at as anything but what
it is. Strings are as long as the query declares; computed ones as long as their expression can
become.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headway.model.expression import typed
from headway.model.graph import Graph
from headway.model.operators import Aggregate, Distinct, Filter, Join, Map, Operator, Union
from headway.model.schema import DataType, Field, Schema
from headway.native.cpp_keys import each_lines
from headway.native.cpp_names import Names, comment_lines
from headway.native.cpp_text_lengths import result_length, struct_lengths
from headway.native.cpp_types import RowStruct, row_struct


@dataclass(frozen=True)
class Streams:
    """The structs of all streams. ``shared``: stream -> the one whose struct it shares."""

    graph: Graph
    schemas: Mapping[str, Schema]
    rows: Mapping[str, RowStruct]
    shared: Mapping[str, str]

    def struct(self, stream: str) -> str:
        """The C++ type of a stream's rows."""
        return self.rows[stream].name

    @property
    def names(self) -> list[str]:
        """The names of all types."""
        return [row.name for row in self.rows.values()]

    def same_struct(self, left: str, right: str) -> bool:
        return self.shared[left] == self.shared[right]

    def ports(self, operator: Operator) -> dict[str, RowStruct]:
        return {port.port: self.rows[port.stream] for port in operator.inputs}

    def lines(self, *, states: bool) -> list[str]:
        """The declarations. ``states``: operators keep rows, so each struct says what it consists
        of."""
        lines: list[str] = []
        for stream, row in self.rows.items():
            first = self.shared[stream]
            schema = self.schemas[stream]
            lines += [f"/{line}" for line in comment_lines(self._title(stream))]
            if first != stream:
                lines += [f"using {row.name} = {self.rows[first].name};", ""]
                continue
            lines.append(f"struct {row.name} {{")
            for field, column in zip(schema.columns, row.columns, strict=True):
                lines.append(f"  {column.cpp} {column.member};{_note(field)}")
            if states:
                lines += ["", *each_lines([column.member for column in row.columns])]
            lines += ["};", ""]
        return lines

    def _title(self, stream: str) -> str:
        if stream in self.graph.sources:
            return f"The source '{stream}'."
        operator = self.graph.operators[stream]
        inputs = ", ".join(dict.fromkeys(operator.streams))
        return f"'{stream}': {operator.kind} of {inputs}."


def _note(field: Field) -> str:
    return f"  // {field.unit}" if field.unit else ""


# ---------------------------------------------------------------- making them


def streams_of(graph: Graph, schemas: Mapping[str, Schema], taken: Iterable[str] = ()) -> Streams:
    """The structs of a query's streams; ``taken`` are names that they must not have."""
    names = Names(taken)
    rows: dict[str, RowStruct] = {}
    for stream in (*graph.sources, *graph.order):
        lengths = _lengths(graph.operators.get(stream), schemas[stream], rows)
        rows[stream] = row_struct(names.take_type(stream), schemas[stream], lengths)
    return Streams(graph, schemas, rows, _shared(graph, rows))


def _lengths(
    operator: Operator | None, schema: Schema, rows: Mapping[str, RowStruct]
) -> dict[str, int]:
    """The room for the strings of an operator's rows, where nothing is declared."""
    if operator is None or operator.declared_schema is not None:
        return {}
    inputs = {port.port: rows[port.stream] for port in operator.inputs}
    ports: dict[str | None, RowStruct] = dict(inputs.items())
    if not isinstance(operator, Join | Union):
        (only,) = inputs.values()
        ports = {None: only}
    found: dict[str, int] = {}
    for one in ports.values():
        for name, length in one.lengths.items():
            if isinstance(operator, Union) or name not in found:
                found[name] = max(found.get(name, 0), length)
    if isinstance(operator, Map | Join | Aggregate):
        for column in operator.columns:
            field = schema.find(column.name)
            assert field is not None
            if field.type is DataType.STRING:
                found[column.name] = result_length(typed(column.value).tree, struct_lengths(ports))
    return found


def _shared(graph: Graph, rows: Mapping[str, RowStruct]) -> dict[str, str]:
    """Stream -> the first of those that share its struct."""
    first: dict[str, str] = {name: name for name in rows}

    def root(name: str) -> str:
        while first[name] != name:
            name = first[name]
        return name

    order = {name: place for place, name in enumerate(rows)}
    for name in graph.order:
        operator = graph.operators[name]
        if not isinstance(operator, Filter | Union | Distinct):
            continue
        if any(rows[stream].columns != rows[name].columns for stream in operator.streams):
            continue
        for stream in operator.streams:
            left, right = sorted((root(stream), root(name)), key=order.__getitem__)
            first[right] = left
    return {name: root(name) for name in rows}
