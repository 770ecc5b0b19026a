"""Filters, maps and unions as C++ functions that take and give rows."""

from __future__ import annotations

from collections.abc import Iterable

from headway.model.expression import typed
from headway.model.operators import Filter, Map, Union
from headway.model.query import Source
from headway.model.schema import DataType
from headway.native.cpp_row_functions import filter_function, map_function, value_function
from headway.native.cpp_types import RowColumn, RowStruct
from headway.native.operator_code import (
    CONVERT,
    FILTER,
    MAP,
    PASS,
    OperatorCode,
    WriteContext,
    halved,
)

ROW, OUT = "row", "out"


# ---------------------------------------------------------------- filter and map


def write_filter(operator: Filter, context: WriteContext) -> OperatorCode:
    (row,) = context.inputs.values()
    written = filter_function(context.function, typed(operator.where).tree, row)
    return OperatorCode(
        kind=FILTER,
        text=tuple(halved(written.text)),
        headers=written.headers,
        filter=context.function,
    )


def write_map(operator: Map, context: WriteContext) -> OperatorCode:
    (row,) = context.inputs.values()
    columns = [(column.name, typed(column.value).tree) for column in operator.columns]
    written = map_function(context.function, columns, row, context.output)
    return OperatorCode(
        kind=MAP,
        text=tuple(halved(written.text)),
        headers=written.headers,
        map=context.function,
    )


def _row_to_row(name: str, row: RowStruct, out: RowStruct, lines: Iterable[str]) -> list[str]:
    return [f"inline void {name}(const {row.name}& {ROW}, {out.name}& {OUT}) {{", *lines, "}"]


def copied(given: RowColumn, column: RowColumn, row: str) -> str:
    """A column as it is; a text where another length may be."""
    place = f"{row}.{given.member}"
    if given.type == column.type:
        return place
    assert column.type.type is DataType.STRING
    return f"headway::maybe_text<{column.type.length}>({place}.known, {place}.value.view())"


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


def shed_value_lines(source: Source, row: RowStruct, name: str) -> tuple[list[str], frozenset[str]]:
    """A function that gives a tuple's value to the source's load shedder, and its headers."""
    assert source.shedder is not None
    value = typed(source.shedder.value)
    computed = value_function(f"{name}_known", value.tree, row)
    number = "{1, value.value, 0.0}" if value.type.is_integral else "{1, 0, value.value}"
    lines = [
        *halved(computed.text),
        "",
        f"inline headway::ShedValue {name}(const {row.name}& {ROW}) {{",
        f"  const auto value = {name}_known({ROW});",
        "  if (!value.known) return {0, 0, 0.0};",
        "  if (headway::is_nan(value.value)) return {2, 0, 0.0};",
        f"  return {number};",
        "}",
    ]
    return lines, computed.headers
