"""Buffers are as large as they must be: hand-worked numbers, runs at full rate in which nothing is
refused, and runs far beyond it that lose tuples, count them and do no harm."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.examples import recording_of
from tests.contract.native import differences, gave
from tests.contract.recordings import Recording, Tuple
from tests.example_plans import example_plan
from tests.native.needed import host, needs_compiler

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.errors import QueryError
from headway.files import load_query
from headway.model.expression import Column, Sql
from headway.model.operators import Aggregate, Distinct, Input, Join, UserDefined
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.native.buffer_sizes import GRACE, OperatorSizes, exact_sizes
from headway.native.build_cache import cached_program
from headway.native.compiled_program import CompiledProgram
from headway.native.cpp_library import LIBRARY, library_text
from headway.native.cpp_program import write_program
from headway.native.native_engine import NativeEngine
from headway.native.program_layout import vehicle_layout
from headway.native.source_tree import with_runtime
from headway.native.toolchain import BinaryKind, BuildMode

MS, US = MILLISECOND, MICROSECOND
COLUMNS = schema(k="int", v="double")
EXAMPLES = Path("examples")


def source(name: str = "s", **changed: object) -> Source:
    given = Source(name=name, schema=COLUMNS, rate=Rate(1, 10 * MS), gap=20 * MS)
    return replace(given, **changed)  # type: ignore[arg-type]


def sizes(operator: object, *sources: Source, deadline: int = 100 * MS) -> OperatorSizes:
    query = Query(
        name="q",
        sources=sources or (source(),),
        steps=(operator,),  # type: ignore[arg-type]
        outputs=(Output(name="o", stream="x", deadline=deadline),),
    )
    plan = compile_query(query)
    return exact_sizes(vehicle_layout(plan)).of("x")


ONLY = (Input("input", "s"),)
BOTH = (Input("a", "s"), Input("b", "t"))
SOON = Cost(100 * US)

# ---------------------------------------------------------------- worked by hand


def test_a_join_keeps_what_the_watermark_and_its_reach_hold() -> None:
    join = Join(
        name="x", inputs=BOTH, within=50 * MS, cost=SOON, columns=(Column("v", Sql("a.v")),)
    )
    found = sizes(join, source("s"), source("t", lateness=400 * MS))
    # The watermark lies at most 400 ms + 20 ms (its gap) behind, longer than GRACE; 50 ms more are
    # in reach: 470 ms at 10 ms a tuple are 48, and 64 more until the join is told.
    assert found.kept == {"a": 48 + 64, "b": 48 + 64}
    assert found.waiting == {"a": 0, "b": 0}


def test_a_join_with_a_timeout_lets_tuples_wait() -> None:
    join = Join(
        name="x",
        inputs=BOTH,
        within=0,
        timeout=40 * MS,
        cost=SOON,
        columns=(Column("v", Sql("a.v")),),
    )
    found = sizes(join, source("s"), source("t", rate=Rate(2, 10 * MS)))
    # 40 ms, and as long as the node may stand still: 290 ms.
    assert GRACE == 250 * MS
    assert found.waiting == {"a": 30, "b": 60}


def test_an_aggregate_has_groups_for_all_open_windows() -> None:
    aggregate = Aggregate(
        name="x",
        inputs=ONLY,
        window=100 * MS,
        every=50 * MS,
        by=("k",),
        cost=SOON,
        columns=(Column("n", Sql("count(*)")),),
    )
    found = sizes(aggregate)
    # From 250 ms + 100 ms back to the present, a window begins every 50 ms; two at the ends.
    assert found.windows == 350 // 50 + 2
    # 36 tuples in 350 ms, each in two windows.
    assert found.groups == 72
    alone = sizes(replace(aggregate, by=()))
    assert alone.groups == alone.windows


def test_a_distinct_without_keys_keeps_results_that_lie_apart() -> None:
    distinct = Distinct(name="x", inputs=ONLY, keys=("k",), within=50 * MS, cost=SOON)
    assert sizes(distinct).kept == {"input": 31 + 64}
    # In 300 ms one result every 50 ms, two at the ends, and 64 until it is told of the watermark.
    assert sizes(replace(distinct, keys=())).kept == {"input": 5 + 2 + 64}


def test_what_is_not_declared_is_told_all_at_once() -> None:
    operator = UserDefined(
        name="x", inputs=ONLY, implementation="tests.contract.users:Change", schema=COLUMNS
    )
    with pytest.raises(QueryError) as caught:
        sizes(operator, source("s", rate=None))
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == [
        "sources.s",
        "operators.x",
    ]


def test_a_load_shedder_is_as_good_as_a_rate() -> None:
    plan = compile_query(load_query(EXAMPLES / "hello" / "query.yaml").query)
    assert exact_sizes(vehicle_layout(plan)).units[0].jobs == 27


# ---------------------------------------------------------------- compiled, without growing


def run(plan: Plan, arrivals: Iterable[Arrival]) -> RunResult:
    """The whole vehicle with the buffers of its ECUs."""
    layout = vehicle_layout(plan)
    program = write_program(layout, exact_sizes(layout))
    files = with_runtime({**program.files, LIBRARY: library_text(program)})
    built = cached_program(files, [LIBRARY], host(), kind=BinaryKind.SHARED, mode=BuildMode.DEBUG)
    engine = NativeEngine(plan=plan, mode=BuildMode.DEBUG, keep_trace=False)
    engine._program = CompiledProgram(built.path, layout, b"")
    return engine.run(arrivals)


@needs_compiler
@pytest.mark.parametrize("name", ["hello", "tyre_watch"])
def test_at_full_rate_nothing_is_refused(name: str) -> None:
    plan = example_plan(name)
    recording = recording_of(plan.query, random.Random(9), steps=120)
    for vehicle in recording.vehicles:
        arrivals = recording.arrivals(plan, vehicle)
        result = run(plan, arrivals)
        expected = Engine(plan=plan, keep_trace=False).run(arrivals)
        assert differences(gave(plan, expected), gave(plan, result)) == []


@needs_compiler
@pytest.mark.parametrize("name", ["hello", "tyre_watch"])
def test_far_beyond_the_rate_tuples_are_shed_and_counted(name: str) -> None:
    plan = example_plan(name)
    draw = random.Random(2)
    found: list[Tuple] = []
    for one in recording_of(plan.query, draw, steps=30).tuples:
        found += [one] * 200
    recording = Recording(tuple(found))
    arrivals = recording.arrivals(plan, "north")
    result = run(plan, arrivals)
    shed = [one for _, one in result.side.dropped if "full" in one.reason]
    assert len(shed) > 100
    assert result.kernel.arrived == len(arrivals)
