"""Tuple by tuple in compiled code: the results of the Python engine's stepwise run, and a state
that can be taken anywhere after any tuple."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.compiler.build import one_node
from tests.engine.support import compiled
from tests.native.needed import needs_compiler
from tests.native.same_runs import table_of

from headway.engine.jobs import NEVER, Arrival
from headway.engine.stepwise import Stepwise
from headway.errors import DataError
from headway.model.expression import Column, Sql
from headway.model.operators import Aggregate, Filter, Input, Join, Operator
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Decide, LoadShedder, Output, Query, Source
from headway.model.schema import schema
from headway.native import native_stepwise
from headway.native.native_stepwise import NativeStepwise

pytestmark = needs_compiler
COST = Cost(MICROSECOND)
MICRO = timedelta(microseconds=1)
COLUMNS = schema(v="double", k="int", name="string(6)")


def windows_plan() -> Plan:
    """A join and an aggregate over two sources, one of which sheds at the end of its windows."""
    shedder = LoadShedder(value=Sql("v"), at_most=3, per=20 * MILLISECOND, decide=Decide.WINDOW_END)
    steps: tuple[Operator, ...] = (
        Filter(name="some", inputs=(Input("input", "near"),), where=Sql("v > 0.1"), cost=COST),
        Join(
            name="pairs",
            inputs=(Input("a", "some"), Input("b", "far")),
            cost=COST,
            within=5 * MILLISECOND,
            keys=(("k", "k"),),
            columns=(Column("sum", Sql("a.v + b.v")), Column("name", Sql("a.name"))),
        ),
        Aggregate(
            name="means",
            inputs=(Input("input", "pairs"),),
            cost=COST,
            window=10 * MILLISECOND,
            every=10 * MILLISECOND,
            by=("name",),
            columns=(Column("mean", Sql("avg(sum)")), Column("count", Sql("count(*)"))),
        ),
    )
    query = Query(
        name="windows",
        sources=(
            Source(
                name="near", schema=COLUMNS, rate=Rate(1, MILLISECOND), lateness=2 * MILLISECOND
            ),
            Source(name="far", schema=COLUMNS, rate=Rate(1, MILLISECOND), shedder=shedder),
        ),
        steps=steps,
        outputs=(
            Output(name="all_pairs", stream="pairs", deadline=100 * MILLISECOND),
            Output(name="all_means", stream="means", deadline=100 * MILLISECOND),
        ),
    )
    return compiled(query, one_node(query))


def arrivals(seed: int, count: int = 120) -> list[Arrival]:
    draw = random.Random(seed)
    found = []
    for i in range(count):
        row: tuple[Any, ...] = (
            1000 * i - draw.choice([0, 0, 0, 500, 4000]),
            draw.random() if draw.random() < 0.9 else None,
            draw.randrange(3),
            draw.choice(["a", "bb", None, "ä"]),
        )
        if draw.random() < 0.04:
            row = (*row[:3], "much too long")
        found.append(Arrival(i * MILLISECOND, draw.choice(["near", "far"]), row))
    return found


@pytest.fixture(scope="module")
def plan() -> Plan:
    return windows_plan()


@pytest.fixture(scope="module")
def native(plan: Plan) -> Iterator[NativeStepwise]:
    with NativeStepwise(plan) as one:
        yield one


def wanted(plan: Plan, given: list[Arrival]) -> tuple[list[str], list[str]]:
    python = Stepwise(plan)
    for arrival in given:
        python.take(*arrival)
    python.finish()
    return [repr(one) for one in python.results], [repr(one) for one in python.dropped]


@pytest.mark.parametrize("seed", range(4))
def test_all_at_once(plan: Plan, native: NativeStepwise, seed: int) -> None:
    given = arrivals(seed)
    native.restore(None)
    for arrival in given:
        native.take(*arrival)
    native.finish()
    results, dropped = wanted(plan, given)
    assert len(results) > 20
    assert {"REJECTED", "SHED", "LATE"} <= {
        one.split("DropKind.")[1].split(":")[0] for one in dropped
    }
    assert [repr(one) for one in native.take_results()] == results
    assert [repr(one) for one in native.take_dropped()] == dropped
    assert native.take_results() == []
    assert native.take_dropped() == []


def test_tables_in_tables_out(plan: Plan, native: NativeStepwise) -> None:
    """In pieces, the state carried as bytes from each to the next: the same tuples, as columns."""
    given = [one for one in arrivals(5) if len(one.row[3] or "") < 5]
    outputs = [one.name for one in plan.query.outputs]
    got: dict[str, list[Any]] = {name: [] for name in outputs}
    state: bytes | None = None
    for first in range(0, len(given), 50):
        native.restore(state)
        piece = given[first : first + 50]
        native.take_tables({s.name: table_of(plan, s.name, piece) for s in plan.query.sources})
        state = native.snapshot()
        last = first + 50 >= len(given)
        if last:
            native.finish()
        for name, one in native.take_result_tables().items():
            columns = [column.to_pylist() for column in one.rows.columns]
            got[name] += zip(one.completed.tolist(), one.late.tolist(), *columns, strict=True)
    python = Stepwise(plan)
    for arrival in given:
        python.take(*arrival)
    python.finish()
    meant = [
        [(one.at, one.late, *one.row) for one in python.results if one.output == place]
        for place in range(len(outputs))
    ]
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    seen = [
        [(at, late, (time - epoch) // MICRO, *rest) for at, late, time, *rest in got[name]]
        for name in outputs
    ]
    assert seen == meant
    assert all(len(one) > 10 for one in meant)
    assert all(one.rows.num_rows == 0 for one in native.take_result_tables().values())


@pytest.mark.parametrize("seed", range(3))
def test_a_state_goes_on_elsewhere(plan: Plan, native: NativeStepwise, seed: int) -> None:
    """After every few tuples the state goes to another program and back; others run between."""
    given = arrivals(seed)
    results: list[str] = []
    dropped: list[str] = []
    state = None
    draw = random.Random(seed)
    with NativeStepwise(plan) as other:
        while given:
            runs = draw.choice([native, other])
            runs.restore(state)
            piece, given = given[: (n := draw.randrange(1, 9))], given[n:]
            for arrival in piece:
                runs.take(*arrival)
            if not given:
                runs.finish()
            state = runs.snapshot()
            results += map(repr, runs.take_results())
            dropped += map(repr, runs.take_dropped())
            for arrival in arrivals(99, 5):  # leaves nothing behind
                runs.take(*arrival)
            runs.take_results()
    assert (results, dropped) == wanted(plan, arrivals(seed))


def test_time_and_timers(plan: Plan, native: NativeStepwise) -> None:
    python = Stepwise(plan)
    native.restore(None)
    assert native.now == python.now == -NEVER
    assert native.next_timer == python.next_timer == NEVER
    for runs in (python, native):
        runs.take(3 * MILLISECOND, "far", (3000, 1.0, 1, "x"))
    assert native.next_timer == python.next_timer == 20 * MILLISECOND
    for runs in (python, native):
        runs.run_until(20 * MILLISECOND)
    assert native.now == python.now == 3 * MILLISECOND
    for runs in (python, native):
        runs.run_until(20 * MILLISECOND + 1)
    assert native.now == python.now == 20 * MILLISECOND


def test_tuples_are_handed_over_many_at_a_time(
    plan: Plan, native: NativeStepwise, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_stepwise, "CHUNK", 7)
    native.restore(None)
    for arrival in arrivals(1):
        native.take(*arrival)
    native.finish()
    assert [repr(one) for one in native.take_results()] == wanted(plan, arrivals(1))[0]


def test_what_is_no_state_is_refused(native: NativeStepwise) -> None:
    native.restore(None)
    blank = native.snapshot()
    for arrival in arrivals(2):
        native.take(*arrival)
    state = native.snapshot()
    damaged = bytearray(state)
    damaged[len(damaged) // 2] ^= 1
    for wrong in (b"", state[:-1], bytes(damaged), b"x" * len(state), state + b"x"):
        with pytest.raises(DataError, match=r"a state of another program|a damaged state"):
            native.restore(wrong)
        assert native.snapshot() == blank
    native.restore(state)
    assert native.snapshot() == state


def test_a_state_is_small(plan: Plan, native: NativeStepwise) -> None:
    import json

    python = Stepwise(plan)
    native.restore(None)
    for arrival in arrivals(2):
        python.take(*arrival)
        native.take(*arrival)
    assert len(native.snapshot()) < len(json.dumps(python.snapshot()))
