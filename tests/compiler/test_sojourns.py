"""Bounds by all the time that work stays among places it can come back to: by hand, and held
against attacks."""

from __future__ import annotations

import pytest
from tests.compiler.build import query_of

from headway.compiler.latency.sojourns import Asked, longest_stay
from headway.compiler.passes import compile_query
from headway.engine.adversary.search import attack
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, ArrivalCurve, Rate
from headway.model.vehicle import Bus, BusKind, Node, Vehicle

MS = MILLISECOND
CURVE = ArrivalCurve((Rate(1, 100),))


def test_steps_back_by_hand() -> None:
    """x is 3 * 6 / 0.4 = 45: W = 6 + 6 * floor(144 / 45) + 60 * curve(144 + 45)."""
    assert longest_stay([Asked(CURVE, 60, None, 0)], 6, 6) == 6 + 6 * 3 + 60 * 2


def test_what_is_released_soon_counts_by_its_release() -> None:
    """W = 6 + 60 * curve(66 + 5), with no step back."""
    assert longest_stay([Asked(CURVE, 60, 5, 0)], 6, 6) == 66


def test_without_a_way_to_count_there_is_no_stay() -> None:
    assert longest_stay([Asked(CURVE, 60, None, None)], 6, 6) is None
    assert longest_stay([Asked(CURVE, 100, 0, 0)], 6, 6) is None


def gathering(behind: int, cost: int) -> Plan:
    """Operators on one node, each of which gathers what the one before gives, and a source."""
    steps = [("a", "g0"), ("b", "g0")]
    for i in range(1, behind):
        steps += [(f"g{i - 1}", f"g{i}"), ("ab"[i % 2], f"g{i}")]
    steps.append((f"g{behind - 1}", "out"))
    query = query_of(
        steps,
        {"out": 500 * MS},
        costs=cost * MS,
        timeouts={f"g{i}": 2 * MS for i in range(behind)},
        rates={"a": Rate(1, 100 * MS), "b": Rate(1, 100 * MS)},
    )
    return compile_query(query, Vehicle(name="v", nodes=(Node(name="n"),)))


def to_and_fro() -> Plan:
    """Two nodes with little to do, and gathering that crosses a bus between them four times."""
    steps = [("a", "g0"), ("b", "g0")]
    for i in range(1, 6):
        steps += [(f"g{i - 1}", f"g{i}"), ("ab"[i % 2], f"g{i}")]
    query = query_of(
        [*steps, ("g5", "out")],
        {"out": 500 * MS},
        costs=3 * MS,
        timeouts={f"g{i}": 2 * MS for i in range(6)},
        rates={"a": Rate(1, 100 * MS), "b": Rate(1, 100 * MS)},
    )
    vehicle = Vehicle(
        name="v",
        nodes=(Node(name="n"), Node(name="m")),
        buses=(Bus(name="bus", kind=BusKind.CAN, bit_rate=500_000, nodes=("n", "m")),),
        sensors=(("a", "n"), ("b", "n")),
        pins=tuple((f"g{i}", "nm"[i % 2]) for i in range(6)),
    )
    return compile_query(query, vehicle)


def bound_of(plan: Plan) -> int | None:
    assert plan.verdict is not None
    return plan.verdict.promises[0].bound


def test_waits_on_a_way_through_a_node_do_not_add_up() -> None:
    """Two timeouts of 2 ms, and all that can run: the first operator twice, the second for its two
    results and for b."""
    assert bound_of(gathering(2, 1)) == (2 + 2 + 5) * MS


@pytest.mark.parametrize("plan", [gathering(4, 4), gathering(5, 3), to_and_fro()])
def test_where_jobs_push_each_other_up_there_is_a_bound(plan: Plan) -> None:
    assert bound_of(plan) is not None
    result = attack(plan, tries=60, seed=1)
    assert result.found
    assert result.exceeded == []
