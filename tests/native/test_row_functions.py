"""Whole functions over rows: filters, maps, joins, groups and keys, and how their text looks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.expressions.grammar import COLUMNS, random_row
from tests.expressions.test_same_on_spark import AGGREGATES
from tests.native.cpp_compiler import (
    READ_AND_WRITE,
    RUNTIME,
    SANITIZED,
    compile_program,
    pack_rows,
    run_program,
    sanitizers_work,
    unpack_rows,
)
from tests.native.expression_program import same

from headway.engine.operators.operator_base import key_function
from headway.errors import UnsupportedError
from headway.expressions.aggregates import compile_aggregates
from headway.expressions.check import check
from headway.expressions.rows import compile_condition, compile_values
from headway.expressions.scope import Scope
from headway.model.expression import PythonCall, Sql
from headway.model.expression_tree import DEEPEST_TREE, Compare, Logic, Node, Typed
from headway.model.schema import TIMESTAMP_COLUMN, DataType, Field, Schema, schema
from headway.native.cpp_aggregates import AggregateNames, aggregate_functions
from headway.native.cpp_body import WIDTH
from headway.native.cpp_functions import HEADERS
from headway.native.cpp_keys import KeyStruct, key_struct
from headway.native.cpp_row_functions import (
    CppFunctionText,
    PortRow,
    filter_function,
    join_condition,
    join_function,
    map_function,
    value_function,
)
from headway.native.cpp_text_lengths import result_length, struct_lengths
from headway.native.cpp_types import RowStruct, columns_struct, row_struct

SPEED = schema(v="double [m/s]", lane="int", name="string(20)", ok="boolean")
TIMESTAMP = Field(TIMESTAMP_COLUMN, DataType.TIMESTAMP)


def column_lengths(
    columns: Sequence[tuple[str, Node]], structs: Mapping[str | None, RowStruct]
) -> dict[str, int]:
    """The longest that computed strings can be."""
    lengths = struct_lengths(structs)
    strings = [(name, node) for name, node in columns if node.type is DataType.STRING]
    return {name: result_length(node, lengths) for name, node in strings}


def tree(text: str, scope: Scope) -> Node:
    return check(Sql(text), scope).tree


def out_struct(
    name: str,
    columns: Sequence[tuple[str, Node]],
    lengths: dict[str, int],
    kept: Sequence[Field] = (),
) -> RowStruct:
    fields = [TIMESTAMP, *kept, *(Field(column, node.type) for column, node in columns)]
    return columns_struct(name, fields, lengths)


def program(parts: Sequence[CppFunctionText], structs: Sequence[RowStruct], main: str) -> str:
    headers = frozenset[str]().union(*(part.headers for part in parts))
    return "\n\n".join(
        [
            READ_AND_WRITE.includes + "".join(f'#include "{name}"\n' for name in sorted(headers)),
            READ_AND_WRITE.text,
            *(struct.declaration() for struct in structs),
            *(part.text for part in parts),
            f"int main() {{\n{main}\n    return 0;\n}}\n",
        ]
    )


def assert_rows(ours: Sequence[Sequence[Any]], theirs: Sequence[Sequence[Any]]) -> None:
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert all(same(a, b, 0) for a, b in zip(mine, other, strict=True)), f"{mine}\n{other}"


# -------------------------------------------------------------------- text


def test_the_text_of_a_filter() -> None:
    struct = row_struct("Speed", SPEED)
    written = filter_function("is_fast", tree("v > 20 AND NOT ok", Scope.row(SPEED)), struct)
    assert written.headers == {"headway/value.hpp"}
    assert written.text == (
        "inline bool is_fast(const Speed& row) {\n"
        "    return row.v.known && headway::greater(row.v.value, 20.0) && row.ok.known"
        " && !row.ok.value;\n"
        "}"
    )


def test_the_text_of_a_map() -> None:
    struct = row_struct("Speed", SPEED)
    scope = Scope.row(SPEED)
    columns = [
        ("kmh", tree("v * 3.6", scope)),
        ("share", tree("v / lane", scope)),
        ("class", tree("CASE WHEN lane = 1 THEN upper(name) ELSE 'slow' END", scope)),
    ]
    out = out_struct("Told", columns, column_lengths(columns, {None: struct}), SPEED.fields[1:2])
    assert out.declaration() == (
        "struct Told {\n"
        "    std::int64_t timestamp;\n"
        "    headway::Maybe<std::int32_t> lane;\n"
        "    headway::Maybe<double> kmh;\n"
        "    headway::Maybe<double> share;\n"
        "    headway::Maybe<headway::Text<60>> class_;\n"
        "};"
    )
    written = map_function("tell", columns, struct, out)
    assert written.headers == {
        "headway/value.hpp",
        "headway/arithmetic.hpp",
        "headway/letter_case.hpp",
    }
    assert written.text == (
        "inline void tell(const Speed& row, Told& out) {\n"
        "    out.timestamp = row.timestamp;\n"
        "    out.lane = row.lane;\n"
        "    out.kmh = headway::maybe(row.v.known, row.v.value * 3.6);\n"
        "    const headway::Maybe<double> quotient1 =\n"
        "        headway::quotient(row.v.value, static_cast<double>(row.lane.value));\n"
        "    out.share = headway::maybe(row.v.known && row.lane.known && quotient1.known,"
        " quotient1.value);\n"
        "    const headway::Text<60> upper_1 = headway::upper<60>(row.name.value.view());\n"
        "    headway::Maybe<std::string_view> chosen1 = headway::null<std::string_view>();\n"
        "    if (row.lane.known && headway::equal(row.lane.value, 1)) {\n"
        "        chosen1 = headway::maybe(row.name.known, upper_1.view());\n"
        "    } else {\n"
        '        chosen1 = headway::known(std::string_view("slow", 4));\n'
        "    }\n"
        "    out.class_ = headway::maybe_text<60>(chosen1.known, chosen1.value);\n"
        "}"
    )


def test_lines_are_folded() -> None:
    struct = row_struct("Row", COLUMNS)
    text = " AND ".join(f"(d > {n} OR s = 'a long text, with \"commas\" && {n}')" for n in range(9))
    written = filter_function("long", tree(text, Scope.row(COLUMNS)), struct)
    assert max(len(line) for line in written.text.split("\n")) <= WIDTH


def test_the_text_grows_no_faster_than_the_expression() -> None:
    """What is needed twice has a name: nothing is written out again and again."""
    scope = Scope.row(COLUMNS)
    nested, truth, test = tree("b", scope), tree("c", scope), tree("i > 3", scope)
    levels = DEEPEST_TREE // 2 - 1
    for _ in range(levels):
        nested = Compare("=", Logic("AND", nested, truth), test)
    written = filter_function("deep", nested, row_struct("Row", COLUMNS))
    assert len(written.text) < levels * 500


def test_a_python_function_is_refused_by_name() -> None:
    call = check(PythonCall("math:sqrt", ("v",), DataType.DOUBLE), Scope.row(SPEED)).tree
    with pytest.raises(UnsupportedError) as refused:
        value_function("value", call, row_struct("Speed", SPEED))
    assert str(refused.value) == (
        "the Python function math:sqrt cannot run in native code; "
        "write it in SQL, or as an operator in C++"
    )


def test_a_string_that_may_be_too_long_is_refused() -> None:
    wide = schema(s="string(40000)")
    with pytest.raises(UnsupportedError) as refused:
        value_function("value", tree("s || s", Scope.row(wide)), row_struct("Wide", wide))
    assert str(refused.value) == (
        "native code holds strings of at most 65535 bytes; got one of up to 80000; "
        "declare shorter columns, as in string(20)"
    )


@pytest.mark.parametrize("header", HEADERS)
def test_each_header_stands_alone(header: str, tmp_path: Path) -> None:
    source = f'#include "{header}"\n#include "{header}"\nint main() {{ return 0; }}\n'
    compile_program(source, tmp_path, ["-fsyntax-only"])


def test_every_header_of_expressions_is_there() -> None:
    assert all((RUNTIME / header).is_file() for header in HEADERS)


# -------------------------------------------------------------------- joins


def test_a_join_of_rows_of_which_one_may_be_missing(tmp_path: Path) -> None:
    """A port may be called as anything, a column too."""
    left = schema(x="double", name="string(5)", id="int")
    right = schema(x="double", name="string(9)", id="int")
    scope = Scope.join({"out": left, "class": right})
    texts = {
        "x": "out.x - class.x",
        "when": "out.timestamp",
        "other": "class.timestamp",
        "later": "class.timestamp > out.timestamp",
        "missing": "out.timestamp IS NULL",
        "name": "coalesce(out.name, class.name || '!')",
        "copied": "class.name",
        "id": "out.id",
    }
    typed = {name: check(Sql(text), scope) for name, text in texts.items()}
    columns = [(name, one.tree) for name, one in typed.items()]
    ports = (PortRow("out", row_struct("Left", left)), PortRow("class", row_struct("Right", right)))
    structs: dict[str | None, RowStruct] = {one.port: one.struct for one in ports}
    out = out_struct("Pair", columns, column_lengths(columns, structs))
    where = check(Sql("out.x > class.x OR out.timestamp < class.timestamp"), scope)
    parts = [
        join_function("pair", columns, *ports, out),
        join_condition("belong", where.tree, *ports),
    ]
    main = """\
    Left left;
    Right right;
    while (read_one(left) && read_one(right)) {
        Pair out{};
        pair(&left, &right, out);
        out.timestamp = belong(left, right) ? 1 : 0;
        write_one(out);
        pair(&left, nullptr, out);
        write_one(out);
        pair(nullptr, &right, out);
        write_one(out);
    }"""
    rng = Random(3)
    pairs = [
        (
            (rng.randint(0, 5), rng.choice([None, 1.5, math.nan]), rng.choice([None, "ä"]), 7),
            (rng.randint(0, 5), rng.choice([None, 2.5, 0.0]), rng.choice([None, "right"]), None),
        )
        for _ in range(60)
    ]
    packed = b"".join(
        pack_rows([one], ports[0].struct) + pack_rows([other], ports[1].struct)
        for one, other in pairs
    )
    built = compile_program(program(parts, [ports[0].struct, ports[1].struct, out], main), tmp_path)
    given = unpack_rows(run_program(built, packed), out)
    values = compile_values(list(typed.values()), scope)
    condition = compile_condition(where, scope)
    nothing = (None,) * 4
    expected = []
    for one, other in pairs:
        belongs = int(condition(one, other))
        expected.append((belongs, *values(one, other)))
        expected.append((belongs, *values(one, nothing)))
        expected.append((belongs, *values(nothing, other)))
    assert_rows(expected, given)


# -------------------------------------------------------------------- groups


def aggregate_program(
    texts: Sequence[str], grouping: tuple[str, ...], columns: Schema
) -> tuple[str, RowStruct, RowStruct, list[Typed]]:
    """A program that puts all its rows in one group and writes the group's result."""
    scope = Scope.aggregate(columns)
    typed = [check(Sql(text), scope, aggregates=True, grouping=grouping) for text in texts]
    named = [(f"x{number}", one.tree) for number, one in enumerate(typed)]
    struct = row_struct("Row", columns)
    kept = [field for field in columns.columns if field.name in grouping]
    lengths = {**struct.lengths, **column_lengths(named, {None: struct})}
    out = out_struct("Result", named, lengths, kept)
    names = AggregateNames("PerLaneKey", "PerLaneState", "per_lane_add", "per_lane_result")
    functions = aggregate_functions(names, named, grouping, struct, out)
    key = key_struct(names.key, [(struct, grouping)])
    main = f"""\
    {struct.name} row;
    {names.state} state{{}};
    {names.key} key{{}};
    while (read_one(row)) {{
        {key_of_row(key, struct, grouping)}
        {names.add}(state, row);
    }}
    Result out{{}};
    {names.result}(state, key, 1000, 2000, out);
    write_one(out);"""
    return program([key_text(key), functions], [struct, out], main), struct, out, typed


def key_text(key: KeyStruct) -> CppFunctionText:
    return CppFunctionText("\n".join(key.lines()), frozenset({"headway/value.hpp"}))


def key_of_row(
    key: KeyStruct, struct: RowStruct, columns: Sequence[str], into: str = "key", row: str = "row"
) -> str:
    """The statement that makes the key of a row."""
    return "\n".join(key.fill(struct, columns, into, row)) if columns else ""


@pytest.mark.parametrize("sanitized", [False, True])
def test_groups(tmp_path: Path, sanitized: bool) -> None:
    if sanitized and not sanitizers_work():
        pytest.skip("the C++ compiler has no AddressSanitizer and UndefinedBehaviorSanitizer")
    texts = [text.strip() for text in AGGREGATES.replace("\n", "|").split("|") if text.strip()]
    texts += ["window_start", "unix_micros(window_end) + count(*)", "CAST(c AS int)", "sum(f)"]
    texts += ["avg(d)", "upper(max(s)) || min(u)", "sum(d) - sum(d)", "count_if(b AND c)", "min(f)"]
    source, struct, out, typed = aggregate_program(texts, ("c",), COLUMNS)
    built = compile_program(source, tmp_path, ["-O0", *(SANITIZED if sanitized else ())])
    functions = compile_aggregates(typed, Scope.aggregate(COLUMNS), ("c",))
    place = [field.name for field in COLUMNS.columns].index("c")
    rng = Random(4)
    for size in (0, 1, 2, 3, 60):
        for key in (True, False, None):
            rows = [random_row(rng) for _ in range(size)]
            rows = [(*row[:place], key, *row[place + 1 :]) for row in rows]
            state = functions.new()
            for row in rows:
                functions.add(state, row)
            shown = key if rows else None
            expected = (0, shown, *functions.result(state, (shown,), 1000, 2000))
            given = unpack_rows(run_program(built, pack_rows(rows, struct)), out)
            for text, ours, theirs in zip(
                ["timestamp", "c", *texts], expected, given[0], strict=True
            ):
                assert same(ours, theirs, 0), f"{text} of {size} rows: {ours!r} and {theirs!r}"


def test_a_group_without_keys_and_aggregates(tmp_path: Path) -> None:
    source, struct, out, _ = aggregate_program(["7"], (), SPEED)
    built = compile_program(source, tmp_path)
    rows = [(5, 1.0, 2, "a", True)]
    assert unpack_rows(run_program(built, pack_rows(rows, struct)), out) == [(0, 7)]


# -------------------------------------------------------------------- keys


def test_keys_are_equal_where_they_are_in_python(tmp_path: Path) -> None:
    columns = schema(d="double", f="float", s="string(4)", b="boolean", l="bigint")
    struct = row_struct("Row", columns)
    names = list(columns.names)
    key = key_struct("RowKey", [(struct, names)])
    main = f"""\
    Row one;
    Row other;
    while (read_one(one) && read_one(other)) {{
        RowKey left{{}};
        RowKey right{{}};
        {key_of_row(key, struct, names, "left", "one")}
        {key_of_row(key, struct, names, "right", "other")}
        write_one(left == right);
        write_one(left.hash() == right.hash());
    }}"""
    reals = [0.0, -0.0, 1.5, math.nan, -math.nan, None, math.inf]
    rng = Random(8)
    rows = [
        (0, real, real, rng.choice(["", "a", "ab", None]), rng.choice([True, None]), whole)
        for real in reals
        for whole in (0, -1, None)
        for _ in range(2)
    ]
    pairs = list(itertools.product(rows, rows))
    built = compile_program(program([key_text(key)], [struct], main), tmp_path)
    packed = b"".join(pack_rows(pair, struct) for pair in pairs)
    given = run_program(built, packed)
    key_of = key_function(columns, names)
    seen = set()
    for place, (one, other) in enumerate(pairs):
        left, right = key_of(one), key_of(other)
        equal, same_hash = given[2 * place : 2 * place + 2]
        assert bool(equal) == (left == right), (one, other)
        assert bool(same_hash) == (left == right), (one, other)
        seen.add(bool(equal))
    assert seen == {True, False}
