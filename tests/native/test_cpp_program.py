"""Programs in C++: names of all sorts, structs that are shared or converted, and what is refused
before anything is written."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.native import both, differences
from tests.contract.recordings import Recording, Tuple
from tests.native.needed import needs_compiler
from tests.outside.offer import offered, run_python

from headway.compiler import compile_query
from headway.errors import InputError, QueryError
from headway.model.expression import Column, PythonCall, Sql
from headway.model.operators import (
    Aggregate,
    Distinct,
    Filter,
    Input,
    Join,
    Map,
    Operator,
    Union,
    UserDefined,
)
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, SECOND
from headway.model.query import Output, Query, Source
from headway.model.schema import DataType, schema
from headway.native.cpp_program import write_program
from headway.native.program_layout import meaning_layout, node_layout, vehicle_layout

MS = MILLISECOND


def of(*streams: str) -> tuple[Input, ...]:
    if len(streams) == 1:
        return (Input("input", streams[0]),)
    return tuple(Input(f"input{place}", stream) for place, stream in enumerate(streams, 1))


def query_of(sources: tuple[Source, ...], *steps: Operator, name: str = "all_sorts") -> Query:
    read = {stream for step in steps for stream in step.streams}
    outputs = tuple(
        Output(name=step.name, stream=step.name, deadline=SECOND)
        for step in steps
        if step.name not in read
    )
    return Query(name=name, sources=sources, steps=steps, outputs=outputs)


# ---------------------------------------------------------------- names and types of all sorts

TYPES = schema(
    {
        "class": "boolean",
        "EOF": "int",
        "double": "bigint",
        "_x": "float",
        "row": "double",
        "out": "string(6)",
        "key": "string",
        "state": "timestamp",
        "hash": "int",
        "other": "bigint",
        "each": "double",
    }
)
SHORT = schema(name="string(3)", v="int")
LONG = schema(name="string(9)", v="int")
SOURCES = (
    Source(name="NULL", schema=TYPES, lateness=2 * MS),
    Source(name="union", schema=TYPES, lateness=2 * MS),
    Source(name="short", schema=SHORT, lateness=2 * MS),
    Source(name="Short", schema=LONG, lateness=2 * MS),
)
STEPS: tuple[Operator, ...] = (
    Filter(name="new", inputs=of("NULL"), where=Sql("class OR EOF > 1 OR out < 'b'")),
    Union(name="delete", inputs=of("new", "union")),
    Distinct(name="operator", inputs=of("delete"), keys=("out", "_x", "each"), within=3 * MS),
    Map(
        name="template",
        inputs=of("operator"),
        columns=(
            Column("out", Sql("concat(upper(out), key, CAST(EOF AS string))")),
            Column("shout", Sql("CASE WHEN class THEN 'yes' ELSE out END")),
        ),
        keep=True,
    ),
    Filter(name="row", inputs=of("template"), where=Sql("EOF + 1 > 0")),
    Map(
        name="out",
        inputs=of("row"),
        columns=(Column("sum", Sql("double + EOF * 2 - hash")), Column("row", Sql("row"))),
    ),
    Aggregate(
        name="sum1",
        inputs=of("out"),
        window=6 * MS,
        every=6 * MS,
        columns=(Column("key", Sql("sum(sum + row * 2 + 7 - sum / 3) + max(row)")),),
    ),
    Aggregate(
        name="key",
        inputs=of("out"),
        window=3 * MS,
        every=3 * MS,
        by=("sum",),
        columns=(Column("state", Sql("sum(sum + row * 2 + 7 - sum / 3) + max(row) - 1")),),
    ),
    Union(name="names", inputs=of("short", "Short")),
    Union(name="names_twice", inputs=of("names", "Short")),
    Map(
        name="lengths",
        inputs=of("names_twice"),
        columns=(Column("n", Sql("length(name)")), Column("name", Sql("name"))),
    ),
    Join(
        name="join",
        inputs=(Input("row", "short"), Input("out", "Short")),
        within=5 * MS,
        keys=(("name", "name"), ("timestamp", "timestamp")),
        columns=(
            Column("left_time", Sql("row.timestamp")),
            Column("name", Sql("coalesce(out.name, row.name, '?')")),
        ),
        timeout=2 * MS,
    ),
    Aggregate(
        name="state",
        inputs=of("NULL"),
        window=6 * MS,
        every=4 * MS,
        by=("out", "class", "hash", "other"),
        columns=(
            Column("least", Sql("min(key)")),
            Column("any", Sql("bool_or(class)")),
            Column("mean", Sql("avg(row)")),
            Column("total", Sql("sum(EOF)")),
            Column("from_time", Sql("window_start")),
            Column("count", Sql("count(*) + count(each)")),
        ),
    ),
)


def some(draw: random.Random, kind: DataType, length: int | None) -> object:
    if draw.random() < 0.15:
        return None
    match kind:
        case DataType.BOOLEAN:
            return draw.random() < 0.5
        case DataType.FLOAT | DataType.DOUBLE:
            return draw.choice((0.0, -0.0, 1.5, float("nan"), -2.25))
        case DataType.STRING:
            text = draw.choice(("", "a", "bé", "€c", "zz"))
            while length is not None and len(text.encode()) > length:
                text = text[:-1]
            return text
    return draw.randint(-3, 3)


def recording(query: Query, seed: int) -> Recording:
    draw = random.Random(seed)
    found = []
    time = 0
    for _ in range(400):
        time += draw.randint(0, 1_500)
        source = draw.choice(query.sources)
        sensed = time - draw.choice((0, 0, 100, 1_000, 9_000))
        values = (some(draw, field.type, field.length) for field in source.schema.fields)
        found.append(Tuple("car", source.name, time, (sensed, *values)))
    return Recording(tuple(found))


@needs_compiler
def test_names_and_types_of_all_sorts() -> None:
    query = query_of(SOURCES, *STEPS, name="time")
    plan = compile_query(query)
    ((_, expected, got),) = both(plan, recording(query, 4))
    assert all(expected.outputs.values()), "an output without a tuple shows nothing"
    assert differences(expected, got) == []


def test_rows_that_go_on_as_they_are_share_a_struct() -> None:
    plan = compile_query(query_of(SOURCES, *STEPS))
    streams = write_program(meaning_layout(plan)).streams
    assert streams.same_struct("NULL", "operator")
    assert streams.same_struct("union", "delete")
    assert not streams.same_struct("short", "names")
    assert not streams.same_struct("NULL", "template")
    assert len(set(streams.names)) == len(streams.names)


def test_the_same_plan_gives_the_same_text() -> None:
    plan = compile_query(query_of(SOURCES, *STEPS))
    assert write_program(vehicle_layout(plan)).files == write_program(vehicle_layout(plan)).files


def test_no_line_is_longer_than_a_hundred_columns() -> None:
    plan = compile_query(query_of(SOURCES, *STEPS))
    files = write_program(vehicle_layout(plan)).files
    lines = [line for text in files.values() for line in text.splitlines()]
    assert [line for line in lines if len(line) > 100] == []
    assert not any(line.startswith("#line") or line.endswith(" ") for line in lines)


def test_what_the_query_says_stands_above_each_operator() -> None:
    text = write_program(meaning_layout(compile_query(query_of(SOURCES, *STEPS)))).files
    operators = text["operators.hpp"]
    assert "//   aggregate:" in operators
    assert '// new: {filter: "class OR EOF > 1 OR out < \'b\'", from: "NULL"}' in operators
    assert re.search(r"^inline bool new_\(const NULL_\w*& row\)", operators, re.MULTILINE)


# ---------------------------------------------------------------- what is refused

PLAIN = (Source(name="s", schema=schema(v="double")),)


def refused(*steps: Operator) -> str:
    plan = compile_query(query_of(PLAIN, *steps))
    with pytest.raises(QueryError) as caught:
        write_program(vehicle_layout(plan))
    return str(caught.value)


def test_a_python_function_is_refused_by_name() -> None:
    call = PythonCall("tests.contract.users:is_small", ("v", "timestamp"), DataType.BOOLEAN)
    assert refused(Filter(name="f", inputs=of("s"), where=call)) == (
        "operators.f: the Python function tests.contract.users:is_small cannot run in native "
        "code; write it in SQL, or as an operator in C++"
    )


def test_an_operator_with_only_a_python_class_is_refused_by_name() -> None:
    operator = UserDefined(
        name="u",
        inputs=of("s"),
        implementation="tests.contract.users:Change",
        schema=schema(v="double"),
    )
    assert refused(operator).startswith(
        "operators.u: operator 'u' has only a Python class, tests.contract.users:Change"
    )


def test_all_problems_are_told_at_once() -> None:
    call = PythonCall("tests.contract.users:is_small", ("v", "timestamp"), DataType.BOOLEAN)
    steps = [Filter(name=name, inputs=of("s"), where=call) for name in ("f", "g")]
    assert len(refused(*steps).splitlines()) == 2


def test_a_policy_that_says_no_order_in_numbers_is_refused_by_name() -> None:
    plan = compile_query(query_of(PLAIN, Filter(name="f", inputs=of("s"), where=Sql("v > 1"))))
    with pytest.raises(InputError, match="the policy 'least-laxity' cannot be compiled"):
        vehicle_layout(plan, "least-laxity")


# ---------------------------------------------------------------- what an ECU must know


def on_an_ecu(plan: Plan) -> None:
    write_program(node_layout(plan, plan.node_queries[0].node))


def test_a_source_without_a_rate_is_refused_for_an_ecu() -> None:
    plan = compile_query(query_of(PLAIN, Filter(name="f", inputs=of("s"), where=Sql("v > 1"))))
    with pytest.raises(QueryError) as caught:
        on_an_ecu(plan)
    assert "sources.s: source 's' declares no rate" in str(caught.value)
    assert "declare a rate" in str(caught.value)


def test_without_costs_and_rates_a_workstation_takes_it() -> None:
    plan = compile_query(query_of(PLAIN, Filter(name="f", inputs=of("s"), where=Sql("v > 1"))))
    assert write_program(vehicle_layout(replace(plan))).files.keys() == {
        "streams.hpp",
        "operators.hpp",
        "program.hpp",
    }


# ---------------------------------------------------------------- kinds of other packages


@needs_compiler
def test_a_kind_of_another_package_brings_its_own_code(tmp_path: Path) -> None:
    done = run_python(offered(tmp_path), "-m", "tests.outside.thin_on_native")
    assert done.returncode == 0, done.stderr
