"""Many expressions compiled into one program, and what they give beside Python's values."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.native.cpp_compiler import (
    READ_AND_WRITE,
    compile_program,
    get,
    maybe_layout,
    pack_rows,
    run_program,
)

from headway.expressions.check import check
from headway.expressions.rows import compile_condition, compile_value
from headway.expressions.scope import Scope
from headway.model.expression import Sql
from headway.model.expression_tree import Typed
from headway.model.schema import DataType, Schema
from headway.native.cpp_functions import HEADERS
from headway.native.cpp_row_functions import filter_function, value_function
from headway.native.cpp_text_lengths import result_length, struct_lengths
from headway.native.cpp_types import RowStruct, ValueType, row_struct, text_room

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Question:
    """An expression, and how far the two may be apart in the last places."""

    text: str
    typed: Typed
    ulps: int = 0

    def kind(self, struct: RowStruct) -> ValueType:
        if self.typed.type is not DataType.STRING:
            return ValueType(self.typed.type)
        length = result_length(self.typed.tree, struct_lengths({None: struct}))
        return ValueType(DataType.STRING, text_room(length))


def questions(texts: Sequence[str], schema: Schema, ulps: int = 0) -> list[Question]:
    scope = Scope.row(schema)
    return [Question(text, check(Sql(text), scope), ulps) for text in texts]


def source_of(asked: Sequence[Question], struct: RowStruct) -> str:
    """A program that reads rows and writes, row by row, every expression's value; of a condition
    also whether it is true."""
    functions, calls = [], []
    headers: set[str] = set()
    for number, question in enumerate(asked):
        written = [value_function(f"value{number}", question.typed.tree, struct)]
        calls.append(f"write_one(value{number}(row));")
        if question.typed.type is DataType.BOOLEAN:
            written.append(filter_function(f"is{number}", question.typed.tree, struct))
            calls.append(f"write_one(is{number}(row));")
        functions += [one.text for one in written]
        headers.update(*(one.headers for one in written))
    assert headers <= set(HEADERS)
    includes = "".join(f'#include "{name}"\n' for name in HEADERS if name in headers)
    body = "\n".join(f"        {call}" for call in calls)
    return "\n\n".join(
        [
            READ_AND_WRITE.includes + includes,
            READ_AND_WRITE.text,
            struct.declaration(),
            *functions,
            f"int main() {{\n    {struct.name} row;\n    while (read_one(row)) {{\n{body}\n    }}\n"
            "    return 0;\n}\n",
        ]
    )


@dataclass(frozen=True)
class Answers:
    """What the compiled program gave: per question one value per row, and per condition whether."""

    values: list[list[Any]]
    truths: list[list[bool]]


def answers(
    asked: Sequence[Question],
    rows: Sequence[Row],
    schema: Schema,
    folder: Path,
    flags: Sequence[str] = ("-O1",),
) -> Answers:
    struct = row_struct("Row", schema)
    program = compile_program(source_of(asked, struct), folder, flags)
    return read_answers(asked, rows, struct, run_program(program, pack_rows(rows, struct)))


def read_answers(
    asked: Sequence[Question], rows: Sequence[Row], struct: RowStruct, data: bytes
) -> Answers:
    """What the program of :func:`source_of` wrote about the rows."""
    values: list[list[Any]] = [[] for _ in asked]
    truths: list[list[bool]] = [[] for _ in asked]
    kinds = [question.kind(struct) for question in asked]
    place = 0
    for _ in rows:
        for number, kind in enumerate(kinds):
            layout = maybe_layout(kind)
            values[number].append(get(layout.from_buffer_copy(data, place), kind))
            place += ctypes.sizeof(layout)
            if kind.type is DataType.BOOLEAN:
                truths[number].append(bool(data[place]))
                place += 1
    assert place == len(data)
    return Answers(values, truths)


def same(ours: Any, theirs: Any, ulps: int) -> bool:
    """Equal to the bit but for NaN, of which there is one; floats up to so many last places."""
    if type(ours) is not type(theirs):
        return False
    if not isinstance(ours, float):
        return bool(ours == theirs)
    if math.isnan(ours) or math.isnan(theirs):
        return math.isnan(ours) and math.isnan(theirs)
    if ours == theirs:
        return math.copysign(1.0, ours) == math.copysign(1.0, theirs)
    return bool(abs(ours - theirs) <= ulps * max(math.ulp(ours), math.ulp(theirs)))


def disagreements(
    asked: Sequence[Question], rows: Sequence[Row], schema: Schema, given: Answers
) -> Iterator[str]:
    scope = Scope.row(schema)
    struct = row_struct("Row", schema)
    for question, values, truths in zip(asked, given.values, given.truths, strict=True):
        function: Callable[..., Any] = compile_value(question.typed, scope).function
        condition = (
            compile_condition(question.typed, scope).function
            if question.typed.type is DataType.BOOLEAN
            else None
        )
        for place, row in enumerate(rows):
            ours = function(row)
            told = f"{question.text}\n  python {ours!r}, native {values[place]!r}"
            if condition is not None and condition(row) != truths[place]:
                told += f", as a condition {truths[place]}"
            elif same(ours, values[place], question.ulps):
                continue
            names = dict(zip((f.name for f in schema.columns), row, strict=True))
            yield f"{told}\n  {names}\n{value_function('value', question.typed.tree, struct).text}"
            break


def assert_same(
    asked: Sequence[Question],
    rows: Sequence[Row],
    schema: Schema,
    folder: Path,
    flags: Sequence[str] = ("-O1",),
) -> None:
    given = answers(asked, rows, schema, folder, flags)
    wrong = list(disagreements(asked, rows, schema, given))
    assert not wrong, f"{len(wrong)} of {len(asked)}:\n\n" + "\n\n".join(wrong[:5])
