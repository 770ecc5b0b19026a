"""Under overload the queue stays short: who is shed, in which order, and how that is told."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiler.build import one_node, source
from tests.engine.wall.taking_time import CLOCK
from tests.engine.wall.test_wall import at, slow
from tests.exploring import examples

from headway.compiler import compile_query
from headway.engine import wall_engine
from headway.engine.jobs import FRESH_TUPLE, ReadyJob, Stepping
from headway.engine.operator_counts import dropped_at, operator_counts
from headway.engine.operators.operator_base import DropKind
from headway.engine.program import Unit
from headway.engine.results import RunResult
from headway.engine.waiting_room import FEWEST, WaitingRoom, WhenFull, Worth, waiting_room
from headway.engine.wall_engine import WallEngine
from headway.model.expression import Column, Sql
from headway.model.operators import Aggregate, Input
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, SECOND, Cost, Rate
from headway.model.query import Criticality, Output, Query, Source

MS = MILLISECOND
HARD, SOFT = Criticality.HARD, Criticality.SOFT


def seldom(name: str) -> Source:
    return replace(source(name), rate=Rate(1, 50 * MS))


def plan(deadline: int = 500, weight: float = 2.0) -> Plan:
    """A hard output of `a`; soft ones of `b`, that are worth more, and of `c`. 10 ms a tuple."""
    query = Query(
        name="crowded",
        sources=tuple(seldom(name) for name in "abc"),
        steps=tuple(slow(f"for_{name}", name, 10 * MS) for name in "abc"),
        outputs=(
            Output(name="a", stream="for_a", deadline=deadline * MS, criticality=HARD),
            Output(
                name="b",
                stream="for_b",
                deadline=deadline * MS,
                criticality=SOFT,
                weight=weight,
            ),
            Output(name="c", stream="for_c", deadline=deadline * MS, criticality=SOFT),
        ),
    )
    return compile_query(query, one_node(query))


CROWDED = plan()


def run(
    given: list[tuple[int, str]],
    most: int,
    policy: str = "s-edf",
    of: Plan | None = None,
    when_full: WhenFull = WhenFull.SHED,
) -> RunResult:
    engine = WallEngine(
        plan=of or CROWDED, clock=CLOCK, policy=policy, most_waiting=most, when_full=when_full
    )
    result = engine.run([at(when, name) for when, name in sorted(given)])
    assert engine.keeping_up.worst_backlog <= most
    return result


def shed(result: RunResult) -> list[tuple[str, int]]:
    found = [one for _, one in result.side.dropped]
    assert {one.kind for one in found} <= {DropKind.SHED}
    return [(one.where, one.row[0] // 1000) for one in found]


def test_the_least_weight_goes_first_and_the_hard_last() -> None:
    """Nine wait where eight may: two go, so that seven are left."""
    result = run([(0, "a")] * 3 + [(0, "b")] * 3 + [(0, "c")] * 3, most=8)
    assert shed(result) == [("for_c", 0)] * 2
    assert result.summary().shed == 2
    assert [len(result.outputs[name]) for name in "abc"] == [3, 3, 1]
    assert result.summary().refused == 0
    reasons = {one.reason for _, one in result.side.dropped}
    assert reasons == {"8 jobs wait"}


def test_of_equal_weight_the_latest_deadline_goes() -> None:
    given = [(0, "a"), (1, "c"), (2, "c"), (3, "c"), (4, "c")]
    result = run(given, most=3)
    assert shed(result) == [("for_c", 4)]


def test_what_is_late_goes_before_what_is_of_less_weight() -> None:
    """At 20, when there is time to take in the tuples of `c`, that of `b` is 4 ms late."""
    given = [(0, "a"), (0, "a"), (1, "b"), (15, "c"), (16, "c"), (17, "c")]
    result = run(given, most=3, of=plan(deadline=15))
    assert shed(result) == [("for_b", 1)]
    (dropped,) = [one for _, one in result.side.dropped]
    assert dropped.reason == "3 jobs wait, and its deadline passed 4.000 ms ago"


def test_hard_tuples_are_shed_only_when_no_soft_one_waits_and_then_count_as_refused() -> None:
    result = run([(0, "b")] * 3 + [(1, "a")] * 12, most=8)
    lost = shed(result)
    hard = lost.count(("for_a", 1))
    assert lost[:2] == [("for_b", 0)] * 2
    assert hard == len(lost) - 2 > 0
    assert result.summary().refused == hard
    told = {one.reason for _, one in result.side.dropped if one.where == "for_a"}
    assert told == {"8 jobs wait (a hard output needed it)"}


def test_the_oldest_go_whatever_they_are_worth() -> None:
    """Five wait where four may: two go, those that came first, though a hard output needs them."""
    given = [(0, "b"), (1, "a"), (2, "a"), (3, "c"), (4, "c"), (5, "c")]
    result = run(given, most=4, when_full=WhenFull.OLDEST)
    assert shed(result) == [("for_a", 1)]
    (dropped,) = [one for _, one in result.side.dropped]
    assert dropped.reason == "4 jobs wait, the oldest go (a hard output needed it)"
    assert result.summary().refused == 1


def test_the_new_one_is_refused_whatever_it_is_worth() -> None:
    given = [(0, "b"), (1, "c"), (2, "c"), (3, "c"), (4, "c"), (5, "a"), (6, "a")]
    result = run(given, most=4, when_full=WhenFull.REFUSE)
    assert shed(result) == [("for_a", 5), ("for_a", 6)]
    reasons = {one.reason for _, one in result.side.dropped}
    assert reasons == {"4 jobs wait, no more are let in (a hard output needed it)"}
    assert result.summary().refused == 2
    assert dropped_at(operator_counts(result)) == {"shed": {"for_a": 2}}


@pytest.mark.parametrize("when_full", WhenFull)
@pytest.mark.parametrize("policy", ["s-edf", "fifo+", "least-laxity", "rop-edf", "cbs", "er-edf"])
@examples(12)
@given(
    given=st.lists(st.tuples(st.integers(0, 80), st.sampled_from("abc")), max_size=60),
    most=st.integers(1, 12),
)
def test_every_tuple_comes_out_or_is_listed_and_never_too_many_wait(
    policy: str, when_full: WhenFull, given: list[tuple[int, str]], most: int
) -> None:
    engine = WallEngine(
        plan=CROWDED, clock=CLOCK, policy=policy, most_waiting=most, when_full=when_full
    )
    result = engine.run([at(when, name) for when, name in sorted(given)])
    assert engine.keeping_up.worst_backlog <= most
    outputs = sum(len(record) for record in result.outputs.values())
    assert outputs + len(result.side.dropped) == len(given)


def test_who_has_begun_stays() -> None:
    """Under any rule: only the others make room, the oldest or those worth least first."""

    def job(number: int, begun: bool = False) -> ReadyJob:
        task = SimpleNamespace(relative_deadline=0)
        unit = cast(Unit, SimpleNamespace(name="T1", task=task))
        progress = cast(Stepping, object()) if begun else None
        row = (number, 1.0)
        return ReadyJob(number, number, unit, "in", row, number, False, FRESH_TUPLE, None, progress)

    jobs = [job(3), job(1, begun=True), job(2), job(5), job(4)]
    room = WaitingRoom(most=4, worths={}, when_full=WhenFull.OLDEST)
    assert [one.number for one in room.leaving(jobs, jobs[3], 0)] == [2]
    small = WaitingRoom(most=2, worths={}, when_full=WhenFull.OLDEST)
    assert [one.number for one in small.leaving(jobs, jobs[3], 0)] == [2, 3, 4]
    none = WaitingRoom(most=0, worths={}, when_full=WhenFull.OLDEST)
    assert [one.number for one in none.leaving(jobs, jobs[3], 0)] == [2, 3, 4, 5]
    worths = {"T1": Worth(hard=False, weight=1.0)}
    shedding = WaitingRoom(most=2, worths=worths, when_full=WhenFull.SHED)
    assert [one.number for one in shedding.leaving(jobs, jobs[3], 0)] == [5, 4, 3]  # the latest due
    refusing = WaitingRoom(most=4, worths={}, when_full=WhenFull.REFUSE)
    assert [one.number for one in refusing.leaving(jobs, jobs[3], 0)] == [5]


def test_only_soft_jobs_are_too_many_for_their_task() -> None:
    """Jobs of one CBS server wait for each other. Beyond the limit a soft one is not taken; a hard
    one is, however many soft ones wait."""
    result = run([(0, "b")] * 9 + [(1, "a")], most=3, policy="cbs")
    reason = "3 jobs wait for others of their task"
    told = [one.where for _, one in result.side.dropped if one.reason == reason]
    assert told == ["for_b"] * 5  # one runs and three wait for it
    assert len(result.outputs["a"]) == 1
    assert len(result.outputs["b"]) == 4
    assert {one.kind for _, one in result.side.dropped} == {DropKind.SHED}


def test_a_window_does_not_wait_for_what_was_shed() -> None:
    query = Query(
        name="windowed",
        sources=(seldom("a"),),
        steps=(
            slow("slowly", "a", 10 * MS),
            Aggregate(
                name="counted",
                inputs=(Input("input", "slowly"),),
                cost=Cost(0),
                window=20 * MS,
                every=20 * MS,
                columns=(Column("n", Sql("count(*)")),),
            ),
        ),
        outputs=(Output(name="n", stream="counted", deadline=SECOND, criticality=SOFT),),
    )
    result = WallEngine(
        plan=compile_query(query, one_node(query)), clock=CLOCK, most_waiting=2
    ).run([at(n, "a") for n in range(40)])
    counted = sum(row[-1] for row in result.outputs["n"].rows)
    assert 0 < counted < 40
    assert counted + result.summary().shed == 40


def test_the_default_follows_from_rates_and_deadlines() -> None:
    def most(rate: Rate | None, deadline: int) -> int:
        given = plan()
        sources = tuple(replace(one, rate=rate) for one in given.query.sources)
        outputs = tuple(replace(one, deadline=deadline) for one in given.query.outputs)
        query = replace(given.query, sources=sources, outputs=outputs)
        tasks = [replace(task, relative_deadline=deadline) for task in given.tasks]
        return waiting_room(replace(given, query=query), tasks).most

    assert most(Rate(1, 50 * MS), 500 * MS) == FEWEST
    assert most(Rate(1000, SECOND), 2 * SECOND) == 3 * 2 * 3000
    assert most(None, 2 * SECOND) == 3 * FEWEST


def test_a_run_that_keeps_no_outputs_keeps_few_of_the_dropped_and_counts_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may go on for days under overload."""
    monkeypatch.setattr(wall_engine, "MOST_DROPPED", 3)
    given = [(0, "b")] * 3 + [(1, "a")] * 12
    whole = run(given, most=8)
    engine = WallEngine(plan=CROWDED, clock=CLOCK, most_waiting=8, keep_outputs=False)
    result = engine.run([at(when, name) for when, name in given])
    assert len(result.side.dropped) == 3 < len(whole.side.dropped)
    assert result.side.dropped == whole.side.dropped[:3]
    assert result.side.by_place() == whole.side.by_place()
    assert result.summary().shed == whole.summary().shed
    assert dropped_at(operator_counts(result)) == dropped_at(operator_counts(whole))


def test_a_unit_is_worth_what_its_outputs_are_worth() -> None:
    """The greatest weight of those that follow from it, and hard if one of them is."""
    query = Query(
        name="both",
        sources=(seldom("s"),),
        steps=(slow("first", "s", MS), slow("x", "first", MS), slow("y", "first", MS)),
        outputs=(
            Output(name="x", stream="x", deadline=500 * MS, criticality=SOFT, weight=3.0),
            Output(name="y", stream="y", deadline=500 * MS, criticality=SOFT, weight=0.5),
        ),
    )
    plan = compile_query(query, one_node(query))
    worths = waiting_room(plan, plan.tasks).worths
    by_first = {task.operators[0]: worths[task.name] for task in plan.tasks}
    assert by_first["first"] == Worth(hard=False, weight=3.0)
    assert by_first["y"] == Worth(hard=False, weight=0.5)
