"""A query that changes while its stream runs: what stays keeps its state, what is new begins."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.contract.random_queries import COLUMNS
from tests.contract.recordings import Recording, Tuple
from tests.native.needed import HOST
from tests.spark.state.small_fleet import both, table, window
from tests.spark.state.steps import Answers, add, table_of

from headway.compiler import compile_query
from headway.errors import DataError
from headway.model.expression import Column, Sql
from headway.model.operators import Aggregate, Distinct, Filter, Input, Join, Operator
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, SECOND, Cost
from headway.model.query import Decide, LoadShedder, Output, Query, Source
from headway.native.toolchain import BuildMode
from headway.spark.state.state_migration import Migration, migrated, migration_of
from headway.spark.state.state_sections import NATIVE_FORM, PYTHON_FORM, fingerprint_of
from headway.spark.state.step_programs import step_program
from headway.spark.state.vehicle_states import states_from
from headway.spark.state.vehicle_steps import StepInput, VehicleSteps, vehicle_steps

FORMS = [
    PYTHON_FORM,
    pytest.param(
        NATIVE_FORM,
        marks=pytest.mark.skipif(HOST is None, reason="there is no C++ compiler"),
    ),
]


def program_of(plan: Plan, form: str) -> bytes | None:
    return None if form == PYTHON_FORM else step_program(plan, mode=BuildMode.DEBUG).library


def steps_of(plan: Plan, form: str) -> VehicleSteps:
    return vehicle_steps(plan, program=program_of(plan, form))


def source(name: str, *, sheds: bool = False) -> Source:
    shedder = LoadShedder(value=Sql("v"), at_most=2, per=7 * MILLISECOND, decide=Decide.WINDOW_END)
    return Source(
        name=name, schema=COLUMNS, lateness=20 * MILLISECOND, shedder=shedder if sheds else None
    )


def sums(name: str, stream: str, window_ms: int = 10) -> Aggregate:
    return Aggregate(
        name=name,
        inputs=(Input("input", stream),),
        window=window_ms * MILLISECOND,
        every=window_ms * MILLISECOND,
        by=("k",),
        columns=(Column("v", Sql("max(v)")),),
    )


def pairs(name: str, left: str, right: str) -> Join:
    return Join(
        name=name,
        inputs=(Input("a", left), Input("b", right)),
        within=3 * MILLISECOND,
        keys=(("k", "k"),),
        timeout=9 * MILLISECOND,
        columns=(Column("v", Sql("coalesce(a.v, 0) + coalesce(b.v, 0)")),),
    )


def plan_of(sources: Sequence[Source], steps: Sequence[Operator], *shown: str) -> Plan:
    return compile_query(
        Query(
            name="changing",
            sources=tuple(sources),
            steps=tuple(steps),
            outputs=tuple(Output(name=f"of_{one}", stream=one, deadline=SECOND) for one in shown),
        )
    )


def before() -> Plan:
    """A join that waits, windows, and a source that sheds at the end of its windows."""
    return plan_of(
        [source("s0"), source("s1", sheds=True)],
        [pairs("joined", "s0", "s1"), sums("windows", "s0")],
        "joined",
        "windows",
    )


def after() -> Plan:
    """More before, between and behind them; the sources stand in another place."""
    return plan_of(
        [source("s2"), source("s0"), source("s1", sheds=True)],
        [
            Distinct(name="once", inputs=(Input("input", "s2"),), keys=("k",), within=MILLISECOND),
            pairs("others", "s2", "s1"),
            replace(pairs("joined", "s0", "s1"), cost=Cost(5)),
            Filter(name="some", inputs=(Input("input", "s0"),), where=Sql("v >= 0")),
            sums("windows", "s0"),
            sums("few", "some", 5),
        ],
        "once",
        "others",
        "joined",
        "windows",
        "few",
    )


def recorded(seed: int, first: int, count: int, names: Sequence[str]) -> Recording:
    """One after another, so that every source has been seen as far as the next."""
    draw = random.Random(seed)
    found = []
    for number in range(first, first + count):
        at = number * 500
        for vehicle in ("a", "b"):
            for name in names:
                row = (
                    at - draw.choice((0, 500)),
                    draw.choice((0, 1, 2)),
                    float(draw.randint(0, 9)),
                )
                found.append(Tuple(vehicle, name, at, row))
    return Recording(tuple(found))


def tables(plan: Plan, recording: Recording) -> dict[str, Any]:
    found = {}
    for one in plan.query.sources:
        tuples = recording.of_source(one.name)
        found[one.name] = table_of(one, tuples, range(len(tuples)))
    return found


def answers_of(
    steps: VehicleSteps, plan: Plan, recording: Recording, state: bytes | None
) -> tuple[Answers, bytes]:
    answers: Answers = defaultdict(list)
    gave = steps.step(StepInput(tables(plan, recording), state))
    add(answers, gave)
    return answers, gave.state


@pytest.mark.parametrize("form", FORMS)
def test_what_stays_goes_on_and_what_is_new_begins(form: str) -> None:
    old, new = before(), after()
    assert migration_of(old, new) == Migration(
        kept=("s0", "s1", "joined", "windows"), begun=("s2", "once", "others", "few"), dropped=()
    )
    early, late = recorded(1, 0, 60, ("s0", "s1")), recorded(2, 60, 60, ("s0", "s1", "s2"))
    first, state = answers_of(steps_of(old, form), old, early, None)
    there = migrated(old, new, state, program_of(new, form))
    steps = steps_of(new, form)
    then, last = answers_of(steps, new, late, there)
    add(then, steps.finish(last))
    # The old query over all of it, without the change.
    unchanged = steps_of(old, form)
    goes_on, end = answers_of(unchanged, old, late, state)
    add(goes_on, unchanged.finish(end))
    assert sum(map(len, first.values())) > 20
    for key in goes_on:
        if key[1] in ("of_joined", "of_windows"):
            assert then[key] == goes_on[key]
            assert len(then[key]) > 5
    # The new query, begun where the change was.
    anew = steps_of(new, form)
    begun, end = answers_of(anew, new, late, None)
    add(begun, anew.finish(end))
    for key in begun:
        if key[1] in ("of_once", "of_few"):
            assert then[key] == begun[key]
            assert len(then[key]) > 5


@pytest.mark.parametrize("form", FORMS)
def test_there_and_back(form: str) -> None:
    """What is taken away takes its state with it; the rest does not notice."""
    old, new = before(), after()
    recording = recorded(3, 0, 60, ("s0", "s1"))
    _, state = answers_of(steps_of(old, form), old, recording, None)
    there = migrated(old, new, state, program_of(new, form))
    back = migrated(new, old, there, program_of(old, form))
    assert back == state
    assert migration_of(new, old).dropped == ("s2", "once", "others", "few")


@pytest.mark.parametrize("form", FORMS)
def test_segments_keep_what_they_say_of_vehicles(form: str) -> None:
    """Of one that was forgotten, and of one of which nothing could be run yet."""
    old, new = both(), window()
    steps = vehicle_steps(old, forget=10 * MILLISECOND, program=program_of(old, form))
    given = {"s0": table(("a", 1, 1)), "s1": table(("a", 2, 1))}
    base = steps.step(StepInput(given, None)).state
    delta = steps.step(StepInput({"s0": table(("b", 50, 1))}, base)).delta
    assert states_from(delta).engines.to_pylist() == [None, b""]
    there = states_from(migrated(old, new, delta, program_of(new, form)))
    assert there.engines.to_pylist() == [None, b""]
    assert there.vehicles.to_pylist() == ["a", "b"]
    assert [held.num_rows for held in there.held] == [1]


def test_what_does_not_change_the_form_of_a_state() -> None:
    old = before()
    changed = plan_of(
        [replace(source("s0"), lateness=0), source("s1", sheds=True)],
        [replace(pairs("joined", "s0", "s1"), within=MILLISECOND), sums("windows", "s0")],
        "windows",
        "joined",
    )
    assert fingerprint_of(old, PYTHON_FORM) == fingerprint_of(changed, PYTHON_FORM)
    assert fingerprint_of(old, PYTHON_FORM) != fingerprint_of(old, NATIVE_FORM)
    longer = plan_of(
        [source("s0"), source("s1", sheds=True)],
        [pairs("joined", "s0", "s1"), sums("windows", "s0", 20)],
        "joined",
        "windows",
    )
    assert migration_of(old, longer) == Migration(
        kept=("s0", "s1", "joined"), begun=("windows",), dropped=("windows",)
    )


def test_a_state_of_another_query_is_refused() -> None:
    state = vehicle_steps(window()).step(StepInput({"s0": table(("a", 1, 1))}, None)).state
    with pytest.raises(DataError, match="a state of another program"):
        migrated(both(), window(), state)


@pytest.mark.skipif(HOST is None, reason="there is no C++ compiler")
def test_a_compiled_state_needs_a_compiled_query() -> None:
    steps = steps_of(window(), NATIVE_FORM)
    state = steps.step(StepInput({"s0": table(("a", 1, 1))}, None)).state
    with pytest.raises(DataError, match="the changed one is not compiled"):
        migrated(window(), both(), state)
