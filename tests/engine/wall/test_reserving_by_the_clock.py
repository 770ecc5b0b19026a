"""Reservations where time passes by itself: admission, measured budgets, overrun, replenishing."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.reserving.small import CROSSING, MS, arrivals, instants, misses, plan_of
from tests.engine.wall.taking_time import CLOCK
from tests.exploring import examples

from headway.compiler import compile_query
from headway.engine import reservations
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.operators.operator_base import DropKind
from headway.engine.results import RunResult
from headway.engine.trace import EventKind
from headway.engine.wall_engine import WallEngine
from headway.errors import UnsupportedError
from headway.files import parse_query
from headway.model.plan import Plan
from headway.model.vehicle import Bus, BusKind, Node, Vehicle

OPERATOR = """  {name}:
    udo: "tests.engine.wall.taking_time:Slow"
    inputs: {{input: {stream}}}
    schema: A
    most_outputs: 1
    cost: {declared} us
    parameters: {{takes: {takes}}}
"""


def operator(name: str, stream: str, declared: float, takes: float | None = None) -> str:
    """Declares and takes so many ms."""
    real = declared if takes is None else takes
    return OPERATOR.format(
        name=name, stream=stream, declared=int(declared * 1000), takes=int(real * MS)
    )


def two_paths(radar: Iterable[str], v2v: Iterable[str], soft: int = 15) -> Plan:
    """A hard path of 20 ms and a soft one, each one tuple in 20 ms."""
    text = "query: two_paths\nschemas:\n  A: {v: double}\nsources:\n"
    text += "  radar: {schema: A, rate: 1 per 20 ms}\n  v2v: {schema: A, rate: 1 per 20 ms}\n"
    text += "operators:\n" + "".join([*radar, *v2v])
    text += "outputs:\n  brake: {from: braked, deadline: 20 ms, criticality: hard}\n"
    return plan_of(text + f"  show: {{from: shown, deadline: {soft} ms, criticality: soft}}\n")


def by_the_clock(plan: Plan, policy: str, given: Iterable[tuple[float, str]]) -> RunResult:
    return WallEngine(plan=plan, policy=policy, clock=CLOCK).run(arrivals(given))


def completed(result: RunResult) -> dict[str, list[float]]:
    return {name: [at / MS for at in one.completed] for name, one in result.outputs.items()}


def shed(result: RunResult) -> list[tuple[str, int]]:
    return [(d.where, d.row[0]) for _, d in result.side.dropped if d.kind is DropKind.SHED]


HONEST = two_paths(
    [operator("braked", "radar", 10)], [operator("seen", "v2v", 2), operator("shown", "seen", 2)]
)


@pytest.mark.parametrize("policy", ["rop-edf", "rop-edf-2", "er-edf", "cbs"])
def test_operators_that_keep_their_word_run_as_in_virtual_time(policy: str) -> None:
    given = [(0.0, "radar"), (1.0, "v2v"), (20.0, "radar"), (21.0, "v2v"), (39.0, "v2v")]
    real = by_the_clock(HONEST, policy, given)
    planned = Engine(plan=HONEST, policy=policy).run(arrivals(given))
    assert completed(real) == completed(planned)
    assert shed(real) == shed(planned)
    for kind in (EventKind.OVERRUN, EventKind.REPLENISH):
        assert instants(real, kind) == instants(planned, kind)


def test_a_soft_tuple_that_does_not_fit_is_turned_away_and_listed() -> None:
    """One V2V tuple holds 4/15 of the room (30 %) until its deadline."""
    given = [(0.0, "radar"), (0.0, "v2v"), (1.0, "v2v"), (16.0, "v2v")]
    result = by_the_clock(HONEST, "rop-edf", given)
    assert shed(result) == [("seen", 1000)]
    assert len(result.outputs["show"]) == 2
    assert misses(result)["brake"] == 0
    assert result.summary().refused == 0


LYING = two_paths(
    [operator("braked", "radar", 10)],
    [operator("seen", "v2v", 2, takes=7), operator("shown", "seen", 2)],
)


def test_a_soft_job_that_takes_longer_than_it_said_pays_with_its_own_budget() -> None:
    """`seen` takes 7 ms instead of 2. By its deadline `shown` would go next, and `brake` miss."""
    given = [(0.0, "v2v"), (5.0, "radar")]
    result = by_the_clock(LYING, "rop-edf", given)
    assert completed(result) == {"brake": [17], "show": [19]}
    assert instants(result, EventKind.OVERRUN) == [7]
    assert instants(result, EventKind.PREEMPT) == [7]
    assert instants(result, EventKind.REPLENISH) == [17]
    assert completed(by_the_clock(LYING, "op-edf", given)) == {"show": [9], "brake": [19]}


def test_without_others_it_goes_on() -> None:
    result = by_the_clock(LYING, "rop-edf", [(0.0, "v2v")])
    assert completed(result) == {"brake": [], "show": [9]}
    assert instants(result, EventKind.OVERRUN) == []


def test_what_declares_no_cost_belongs_to_the_job_before_it() -> None:
    """`also` declares nothing and takes 3 ms: the budget of 4 ms does not hold `shown` then."""
    plan = two_paths(
        [operator("braked", "radar", 10)],
        [operator("seen", "v2v", 2), operator("also", "seen", 0, takes=3),
         operator("shown", "also", 2)],
    )  # fmt: skip
    result = by_the_clock(plan, "rop-edf", [(0.0, "v2v"), (1.0, "radar")])
    assert completed(result) == {"brake": [15], "show": [17]}
    assert instants(result, EventKind.OVERRUN) == [5]
    assert shed(result) == []


def test_a_hard_source_is_held_to_its_rate() -> None:
    result = by_the_clock(HONEST, "rop-edf", [(0.0, "radar"), (1.0, "radar"), (20.0, "radar")])
    turned = [d.reason for _, d in result.side.dropped if d.kind is DropKind.REJECTED]
    assert turned == ["beyond the declared rate (1 per 20 ms) of a hard path"]
    assert completed(result)["brake"] == [10, 30]


def test_sources_of_old_tuples_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [(20.0 * n, "radar") for n in range(40)] + [(20.0 * n + 1, "v2v") for n in range(40)]
    meant = completed(by_the_clock(HONEST, "rop-edf", given))
    monkeypatch.setattr(reservations, "MOST_ORIGINS", 8)
    assert completed(by_the_clock(HONEST, "rop-edf", given)) == meant


@pytest.mark.parametrize("policy", ["rop-edf", "rop-edf-2", "cbs"])
@examples(40)
@given(
    gaps=st.lists(st.integers(0, 6), min_size=1, max_size=60),
    jitter=st.lists(st.integers(20, 33), min_size=1, max_size=12),
)
def test_no_hard_deadline_is_missed_whatever_the_soft_load(
    policy: str, gaps: list[int], jitter: list[int]
) -> None:
    given, now = [], 0
    for gap in gaps:
        now += gap
        given.append((float(now), "v2v"))
    now = 0
    for gap in jitter:
        given.append((float(now), "radar"))
        now += gap
    result = by_the_clock(HONEST, policy, given)
    assert misses(result)["brake"] == 0
    assert len(result.outputs["brake"]) == len(jitter)
    assert len(result.outputs["show"]) + len(shed(result)) == len(gaps)


def test_several_nodes_in_one_process_are_refused() -> None:
    query = parse_query(CROSSING).query
    vehicle = Vehicle(
        name="two",
        nodes=(Node(name="front"), Node(name="rear")),
        buses=(Bus(name="can", kind=BusKind.CAN, bit_rate=500_000, nodes=("front", "rear")),),
        sensors=(("radar", "front"), ("v2v", "rear")),
        pins=(("distance", "front"), ("others", "rear")),
    )
    plan = compile_query(query, vehicle)
    with pytest.raises(UnsupportedError, match="all run in one process here"):
        WallEngine(plan=plan, policy="rop-edf")
    WallEngine(plan=plan, policy="op-edf").run([Arrival(0, "radar", (0, 1.0))])
