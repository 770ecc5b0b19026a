"""Filters, maps and joins as whole C++ functions over the structs of their rows.

Each is an ``inline`` function that the caller puts where it wants, under whatever comment. Names of
functions and structs are given (:mod:`headway.native.cpp_names` makes them)::

    filter_function("is_fast", where, struct)         bool is_fast(const Speed& row)
    map_function("in_kmh", columns, struct, out)      void in_kmh(const Speed& row, Kmh& out)
    value_function("worth", value, struct)            Maybe<double> worth(const Speed& row)
    join_condition("belong", where, left, right)      bool belong(const A& a, const B& b)
    join_function("pair", columns, left, right, out)  void pair(const A* a, const B* b, AB& out)

A map's ``out`` gets the timestamp of ``row``; a join's function sets every column but the
timestamp, which its operator chooses. Of a join's two rows one may be missing (``nullptr``): all
its columns are NULL then, its timestamp too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.model.expression_tree import ColumnRef, Node
from headway.model.schema import TIMESTAMP_COLUMN, DataType
from headway.native.cpp_body import CppBody, bare, folded
from headway.native.cpp_expressions import CppEmitter
from headway.native.cpp_functions import VALUE
from headway.native.cpp_text_lengths import Lengths, result_length, struct_lengths
from headway.native.cpp_types import RowColumn, RowStruct, local_type, text_room
from headway.native.cpp_values import ReadColumn, column_code, port_reader, row_reader


@dataclass(frozen=True, slots=True)
class CppFunctionText:
    """A generated function (or struct with functions) and the headers of the runtime it needs."""

    text: str
    headers: frozenset[str]


@dataclass(frozen=True, slots=True)
class PortRow:
    """The rows at one port of a join."""

    port: str
    struct: RowStruct


# -------------------------------------------------------------------- one row


def filter_function(name: str, where: Node, struct: RowStruct) -> CppFunctionText:
    """``inline bool NAME(const In& row)``: true only where the condition is true."""
    body = CppBody()
    emitter = _row_emitter(body, struct)
    body.line(f"return {bare(emitter.condition(where))};")
    return finished(f"inline bool {name}(const {struct.name}& row)", body)


def value_function(name: str, value: Node, struct: RowStruct) -> CppFunctionText:
    """``inline headway::Maybe<T> NAME(const In& row)``; a string is a ``Text``."""
    body = CppBody()
    emitter = _row_emitter(body, struct)
    computed = emitter.value(value)
    if value.type is DataType.STRING:
        room = text_room(result_length(value, struct_lengths({None: struct})))
        kind = f"headway::Text<{room}>"
        code = f"headway::maybe_text<{room}>({computed.known_code}, {bare(computed.code)})"
    else:
        kind, code = local_type(value.type), computed.maybe_code
    body.line(f"return {code};")
    return finished(f"inline headway::Maybe<{kind}> {name}(const {struct.name}& row)", body)


def map_function(
    name: str, columns: Sequence[tuple[str, Node]], struct: RowStruct, out: RowStruct
) -> CppFunctionText:
    """``inline void NAME(const In& row, Out& out)``: every column of ``out``. Those that are not in
    ``columns`` are the row's own (a map that keeps them)."""
    body = CppBody()
    emitter = _row_emitter(body, struct)
    chosen = dict(columns)
    for column in out.columns:
        place = f"out.{column.member}"
        if column.name == TIMESTAMP_COLUMN:
            body.line(f"{place} = row.{struct.column(TIMESTAMP_COLUMN).member};")
            continue
        node = chosen.get(column.name)
        if node is None:
            node = ColumnRef(None, column.name, column.type.type)
        _set(body, emitter, column, node, {None: ("row", struct)})
    return finished(f"inline void {name}(const {struct.name}& row, {out.name}& out)", body)


def _row_emitter(body: CppBody, struct: RowStruct) -> CppEmitter:
    body.take("row")
    body.take("out")
    return CppEmitter(body, row_reader("row", struct), struct_lengths({None: struct}))


def _set(
    body: CppBody,
    emitter: CppEmitter,
    column: RowColumn,
    node: Node,
    rows: Mapping[str | None, tuple[str, RowStruct]],
) -> None:
    """Sets a column of ``out``; a column of the same form is copied as it is."""
    place = f"out.{column.member}"
    if isinstance(node, ColumnRef):
        row, struct = rows[node.port]
        source = struct.column(node.name)
        if source.nullable and source.type == column.type:
            body.line(f"{place} = {row}.{source.member};")
            return
    body.line(f"{place} = {column_code(emitter.value(node), column.type)};")


# -------------------------------------------------------------------- two rows


def join_condition(name: str, where: Node, left: PortRow, right: PortRow) -> CppFunctionText:
    """``inline bool NAME(const Left& left, const Right& right)``; a join asks it of pairs only."""
    body = CppBody(["out"])
    rows = [(one, body.take(one.port)) for one in (left, right)]
    read = port_reader({one.port: row_reader(row, one.struct) for one, row in rows})
    emitter = CppEmitter(body, read, _port_lengths(left, right))
    body.line(f"return {bare(emitter.condition(where))};")
    parameters = ", ".join(f"const {one.struct.name}& {row}" for one, row in rows)
    return finished(f"inline bool {name}({parameters})", body, used=[row for _, row in rows])


def join_function(
    name: str,
    columns: Sequence[tuple[str, Node]],
    left: PortRow,
    right: PortRow,
    out: RowStruct,
) -> CppFunctionText:
    """``inline void NAME(const Left* left, const Right* right, Out& out)``: the columns of a pair,
    or of a row that goes out alone."""
    body = CppBody(["out"])
    pointers = [(one, body.take(one.port)) for one in (left, right)]
    readers: dict[str | None, ReadColumn] = {}
    rows: dict[str | None, tuple[str, RowStruct]] = {}
    for one, pointer in pointers:
        row = body.take(f"{pointer}_row")
        body.constant(f"no_{row}", f"static constexpr {one.struct.name} no_{row}{{}};")
        body.constant(
            row,
            f"const {one.struct.name}& {row} = {pointer} != nullptr ? *{pointer} : no_{row};",
        )
        rows[one.port] = (row, one.struct)
        readers[one.port] = row_reader(row, one.struct, present=f"{pointer} != nullptr")
    emitter = CppEmitter(body, port_reader(readers), _port_lengths(left, right))
    for column_name, node in columns:
        _set(body, emitter, out.column(column_name), node, rows)
    parameters = ", ".join(f"const {one.struct.name}* {pointer}" for one, pointer in pointers)
    return finished(
        f"inline void {name}({parameters}, {out.name}& out)",
        body,
        used=[pointer for _, pointer in pointers],
    )


def _port_lengths(left: PortRow, right: PortRow) -> Lengths:
    return struct_lengths({left.port: left.struct, right.port: right.struct})


# -------------------------------------------------------------------- text


def finished(opening: str, body: CppBody, used: Sequence[str] = ("row",)) -> CppFunctionText:
    """The function. A parameter that its body does not use loses its name, as C++ wants it."""
    lines = body.lines()
    for parameter in used:
        if not body.mentions(parameter):
            opening = opening.replace(f" {parameter},", ",").replace(f" {parameter})", ")")
            opening = opening.replace(f"& {parameter},", "&,").replace(f"* {parameter},", "*,")
    heading = folded(f"{opening} {{", 0)
    return CppFunctionText("\n".join([*heading, *lines, "}"]), frozenset({VALUE, *body.headers}))
