"""Chain: what is held in memory, and lower envelopes, worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.compiler.build import one_node, query_of
from tests.engine.support import compiled, run, slots_of

from headway.engine.jobs import Arrival
from headway.engine.program import tasks_for
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND
from headway.schedule.online.chain import ChainPolicy

MS = MILLISECOND
MINUTE = 60_000 * MS


def plan_of(
    streams: list[tuple[str, str]],
    outputs: list[str],
    selectivity: Mapping[str, float],
    costs: Mapping[str, int] | None = None,
) -> Plan:
    """Costs are in ms, 1 where none is given. Every operator passes all on; what is declared of it
    is what counts here."""
    operators = {consumer for _, consumer in streams} - set(outputs)
    given = {name: (costs or {}).get(name, 1) * MS for name in operators}
    query = query_of(streams, dict.fromkeys(outputs, MINUTE), costs=given)
    steps = tuple(
        replace(step, selectivity=selectivity.get(step.name, 1.0), most_outputs=3)
        for step in query.operators
    )
    query = replace(query, steps=steps)
    return compiled(query, one_node(query))


def places(plan: Plan) -> dict[str, int]:
    """By operator."""
    tasks, order = tasks_for(plan, ChainPolicy())
    return {task.operators[0]: order.chain[task.name] for task in tasks}


IN_A_ROW = [("s", "o1"), ("o1", "o2"), ("o2", "out")]


def held(plan: Plan, policy: str, sizes: Mapping[str, float]) -> list[float]:
    """What is in memory when each of five tuples, one a millisecond, has come. A tuple has the size
    of what the operator made that it has left last."""
    given = [Arrival(at * MS, "s", (at * 1_000, float(at))) for at in range(5)]
    slots = slots_of(run(plan, given, policy))
    found = []
    for now in range(5):
        total = now + 1.0
        for slot in slots:
            if slot.end <= now * MS:
                before = 1.0 if slot.operator == "o1" else sizes["o1"]
                total -= before - sizes[slot.operator]
        found.append(round(total, 9))
    return found


def test_what_is_held_while_tuples_come() -> None:
    """o1 leaves a fifth of a tuple, o2 nothing: as long as tuples come, working o1 off first keeps
    the queue shorter."""
    plan = plan_of(IN_A_ROW, ["out"], {"o1": 0.2})
    sizes = {"o1": 0.2, "o2": 0.0}
    assert held(plan, "fifo+", sizes) == [1.0, 1.2, 2.0, 2.2, 3.0]
    assert held(plan, "chain", sizes) == [1.0, 1.2, 1.4, 1.6, 1.8]


def test_an_operator_before_a_steep_one_is_of_its_chain() -> None:
    """o1 keeps nearly all, o2 behind it drops nearly all: both together free more in a unit of time
    than o3, which drops 40 % at once. Alone o1 would be last."""
    rows = [("s", "o1"), ("o1", "o2"), ("o2", "o3"), ("o3", "out")]
    plan = plan_of(rows, ["out"], {"o1": 0.9, "o2": 0.1 / 0.9, "o3": 0.6}, {"o3": 2})
    # the chart: (0, 1) (1, 0.9) (2, 0.1) (4, 0); its envelope goes (0, 1) (2, 0.1) (4, 0)
    assert places(plan) == {"o1": 0, "o2": 0, "o3": 1}


@pytest.mark.parametrize(
    ("selectivity", "costs", "wanted"),
    [
        # 0.5 a ms, then 0.5 a ms: one straight line
        ({"o1": 0.5}, {}, {"o1": 0, "o2": 0}),
        # all drop at the end: one line, whatever the costs
        ({}, {"o1": 7, "o2": 2}, {"o1": 0, "o2": 0}),
        # 0.8 a ms, then 0.2 a ms
        ({"o1": 0.2}, {}, {"o1": 0, "o2": 1}),
        # more come out than go in
        ({"o1": 3.0}, {}, {"o1": 0, "o2": 0}),
        # what costs nothing goes first
        ({"o1": 0.5}, {"o1": 0}, {"o1": 0, "o2": 1}),
    ],
)
def test_envelopes_by_hand(
    selectivity: dict[str, float], costs: dict[str, int], wanted: dict[str, int]
) -> None:
    plan = plan_of(IN_A_ROW, ["out"], selectivity, costs)
    assert places(plan) == wanted


def test_behind_a_branch_the_steeper_follower_goes_on_with_the_chain() -> None:
    """o1 drops nothing, and is of one chain with o2 (1 in 2 ms); o3 and o4 are a chain of their own
    (1 in 10 ms), and so is a path beside them (1 in 4 ms)."""
    rows = [
        ("s", "o1"), ("o1", "o2"), ("o2", "a"), ("o1", "o3"), ("o3", "o4"), ("o4", "b"),
        ("t", "o5"), ("o5", "c"),
    ]  # fmt: skip
    plan = plan_of(rows, ["a", "b", "c"], {}, {"o3": 5, "o4": 5, "o5": 4})
    assert places(plan) == {"o1": 0, "o2": 0, "o5": 1, "o3": 2, "o4": 2}


def test_where_ways_meet_the_steepest_counts() -> None:
    """o3 is of the chain of o1 (1 in 2 ms) and of that of o2 (1 in 6 ms)."""
    rows = [("s", "o1"), ("t", "o2"), ("o1", "o3"), ("o2", "o3"), ("o3", "out")]
    plan = plan_of(rows, ["out"], {}, {"o2": 5})
    assert places(plan) == {"o1": 0, "o3": 0, "o2": 1}


def test_in_a_chain_the_oldest_tuple_goes_first() -> None:
    plan = plan_of(IN_A_ROW, ["out"], {})
    given = [Arrival(0, "s", (0, float(place))) for place in range(2)]
    slots = slots_of(run(plan, given, "chain"))
    assert [slot.operator for slot in slots] == ["o1", "o2", "o1", "o2"]
