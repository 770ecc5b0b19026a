"""Filters, maps and unions as C++ functions that take and give rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from headway.model.expression import typed
from headway.model.operators import Filter, Map, Union
from headway.model.query import Source
from headway.native.cpp_body import CppBody
from headway.native.cpp_expressions import (
    CppValue,
    column_code,
    emit_condition,
    emit_value,
    row_reader,
    struct_lengths,
)
from headway.native.cpp_text import listed
from headway.native.cpp_types import RowColumn, RowStruct
from headway.native.operator_code import CONVERT, FILTER, MAP, PASS, OperatorCode, WriteContext
from headway.model.schema import DataType

ROW, OUT = "row", "out"


def function_lines(
    result: str, name: str, parameters: Sequence[tuple[str, str]], lines: Iterable[str]
) -> list[str]:
    """A function with its body. A parameter that the body does not use has its name in a
    comment."""
    body = [*lines]
    text = "\n".join(body)
    given = []
    for kind, parameter in parameters:
        used = re.search(rf"\b{parameter}\b", text) is not None
        given.append(f"{kind} {parameter}" if used else f"{kind} /*{parameter}*/")
    return [*listed(f"{result} {name}(", given, ") {"), *body, "}"]


def body_lines(body: CppBody) -> list[str]:
    """The statements at two blanks a level."""
    found = []
    for line in body.lines():
        text = line.lstrip(" ")
        found.append(" " * ((len(line) - len(text)) // 2) + text)
    return found


# ---------------------------------------------------------------- filter


def write_filter(operator: Filter, context: WriteContext) -> OperatorCode:
    (row,) = context.inputs.values()
    body = CppBody(taken=[ROW])
    condition = emit_condition(
        typed(operator.where).tree, body, row_reader(ROW, row), struct_lengths({None: row})
    )
    body.line(f"return {_outermost(condition)};")
    return OperatorCode(
        kind=FILTER,
        text=tuple(
            function_lines(
                "inline bool", context.function, [(f"const {row.name}&", ROW)], body_lines(body)
            )
        ),
        headers=frozenset(body.headers),
        filter=context.function,
    )


def _outermost(code: str) -> str:
    """The code without parentheses around all of it."""
    if not code.startswith("("):
        return code
    depth = 0
    for place, character in enumerate(code):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return code[1:-1] if place == len(code) - 1 else code
    return code


# ---------------------------------------------------------------- map


def write_map(operator: Map, context: WriteContext) -> OperatorCode:
    (row,) = context.inputs.values()
    computed = {column.name: typed(column.value).tree for column in operator.columns}
    body = CppBody(taken=[ROW, OUT])
    read, lengths = row_reader(ROW, row), struct_lengths({None: row})
    assigned = []
    for column in context.output.columns:
        tree = computed.get(column.name)
        if tree is None:
            code = copied(row.column(column.name), column, ROW)
        else:
            code = stored(emit_value(tree, body, read, lengths), column)
        assigned.append(f"{OUT}.{column.member} = {code};")
    for line in assigned:
        body.line(line)
    return OperatorCode(
        kind=MAP,
        text=tuple(_row_to_row(context.function, row, context.output, body_lines(body))),
        headers=frozenset(body.headers),
        map=context.function,
    )


def _row_to_row(name: str, row: RowStruct, out: RowStruct, lines: Iterable[str]) -> list[str]:
    parameters = [(f"const {row.name}&", ROW), (f"{out.name}&", OUT)]
    return function_lines("inline void", name, parameters, lines)


def stored(value: CppValue, column: RowColumn) -> str:
    """A value as the column holds it."""
    if not column.nullable:
        return value.code
    return column_code(value, column.type)


def copied(given: RowColumn, column: RowColumn, row: str) -> str:
    """A column as it is; a text where another length may be."""
    place = f"{row}.{given.member}"
    if given.type == column.type:
        return place
    assert column.type.type is DataType.STRING
    room = max(column.type.length, 1)
    return f"headway::maybe_text<{room}>({place}.known, {place}.value.view())"


# ---------------------------------------------------------------- union


def write_union(operator: Union, context: WriteContext) -> OperatorCode:
    """Nothing to do where rows have one layout; else a function for each that has another."""
    streams = [port.stream for port in operator.inputs]
    if all(context.streams.same_struct(stream, operator.name) for stream in streams):
        return OperatorCode(kind=PASS)
    text: list[str] = []
    converters: list[str] = []
    for port in operator.inputs:
        row, out = context.inputs[port.port], context.output
        if context.streams.same_struct(port.stream, operator.name):
            converters.append("")
            continue
        name = context.names.take(f"{context.function}_from_{port.port}")
        lines = [
            f"  {OUT}.{column.member} = {copied(row.column(column.name), column, ROW)};"
            for column in out.columns
        ]
        if text:
            text.append("")
        text += _row_to_row(name, row, out, lines)
        converters.append(name)
    return OperatorCode(
        kind=CONVERT,
        text=tuple(text),
        headers=frozenset({"headway/value.hpp"}),
        converters=tuple(converters),
        streams=tuple(streams),
    )


# ---------------------------------------------------------------- the value of a tuple to a shedder


def shed_value_lines(source: Source, row: RowStruct, name: str) -> tuple[list[str], set[str]]:
    """A function that gives a tuple's value to the source's load shedder, and its headers."""
    assert source.shedder is not None
    value = typed(source.shedder.value)
    body = CppBody(taken=[ROW])
    found = emit_value(value.tree, body, row_reader(ROW, row), struct_lengths({None: row}))
    whole = value.type.is_integral
    body.line(f"const auto value = {found.code};")
    if found.known:
        body.line(f"if (!({found.known_code})) return headway::ShedValue{{0, 0, 0.0}};")
    if whole:
        body.line("return headway::ShedValue{1, value, 0.0};")
    else:
        body.line("if (headway::is_nan(value)) return headway::ShedValue{2, 0, 0.0};")
        body.line("return headway::ShedValue{1, 0, static_cast<double>(value)};")
    lines = function_lines(
        "inline headway::ShedValue", name, [(f"const {row.name}&", ROW)], body_lines(body)
    )
    return lines, set(body.headers)
