"""Bounds on nodes with several cores: by hand, and held against attacks.

``HEADWAY_CORE_PLANS=300`` attacks that many plans instead of a few.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from tests.engine.bounds import random_plan
from tests.engine.kernels import kernel_of
from tests.engine.random_runs import COLUMNS, Shape
from tests.engine.support import compiled, run

from headway.compiler.latency.demand import Demand
from headway.compiler.latency.several_cores import core_by_core, longest_stay
from headway.compiler.latency.verdict import compilation_of
from headway.engine.adversary.search import attack
from headway.engine.virtual_time import core_groups
from headway.errors import PlacementError
from headway.model.operators import Input, Map
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, ArrivalCurve, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.vehicle import Node, Vehicle

MS = MILLISECOND
PLANS = int(os.environ.get("HEADWAY_CORE_PLANS", "8"))


def every(period: int, cost: int, entry: int = 0) -> Demand:
    return Demand(ArrivalCurve((Rate(1, period),)), cost, entry)


def test_by_hand() -> None:
    """Two cores, jobs of 4 and 6: 6 under way, 4 and 6 released, and the job itself once more."""
    assert longest_stay([every(100, 4), every(100, 6)], [4, 6], 2) == [10, 11]
    assert longest_stay([every(100, 4), every(100, 6)], [4, 6], 4) == [10, 12]


def test_what_was_held_up_before_counts() -> None:
    """With an entry of a period a second job may be released together with the first."""
    assert longest_stay([every(10, 4)], [4], 2) == [6]
    assert longest_stay([every(10, 4, 10)], [4], 2) == [8]


def test_more_work_than_cores_has_no_end() -> None:
    assert longest_stay([every(10, 19)], [19], 2) is not None
    assert longest_stay([every(10, 20)], [20], 2) is None


def with_cores_of_their_own(plan: Plan) -> Plan | None:
    """The plan compiled again, each train with one of the cores; None where that does not fit."""
    nodes = tuple(replace(node, partitioned=True) for node in plan.vehicle.nodes)
    try:
        return compiled(plan.query, replace(plan.vehicle, nodes=nodes))
    except PlacementError:
        return None


def test_cores_of_their_own_by_hand() -> None:
    """Three trains of 8, 5 and 4 on two cores: the first alone, the others one after the other.
    Sharing one queue: 8 under way, all three released, and the job itself once more, halved."""
    sources = tuple(
        Source(name=f"s{cost}", schema=COLUMNS, rate=Rate(1, 20 * MS)) for cost in (8, 5, 4)
    )
    steps = tuple(
        Map(
            name=f"o{cost}",
            inputs=(Input("input", f"s{cost}"),),
            cost=Cost(cost * MS),
            columns=(),
            keep=True,
        )
        for cost in (8, 5, 4)
    )
    outputs = tuple(Output(name=f"out{n}", stream=f"o{n}", deadline=20 * MS) for n in (8, 5, 4))
    query = Query(name="three", sources=sources, steps=steps, outputs=outputs)
    node = Node(name="n", cores=2, partitioned=True)
    sensors = tuple((source.name, "n") for source in sources)
    plan = compiled(query, Vehicle(name="v", nodes=(node,), sensors=sensors))
    assert plan.verdict is not None
    assert [one.bound for one in plan.verdict.promises] == [8 * MS, 9 * MS, 9 * MS]
    shared = tuple(replace(one, partitioned=False) for one in plan.vehicle.nodes)
    together = compiled(query, replace(plan.vehicle, nodes=shared)).verdict
    assert together is not None
    assert [one.bound for one in together.promises] == [16_500_000, 15 * MS, 14_500_000]


def test_the_compiler_and_the_engine_give_trains_the_same_cores() -> None:
    compared = 0
    for seed in range(12):
        made = random_plan(50_000 + seed, Shape(most_operators=7, cores=3), patterns=("aligned",))
        plan = None if made is None else with_cores_of_their_own(made[0])
        if plan is None:
            continue
        by_core, _, _ = core_by_core(compilation_of(plan))
        units = kernel_of(run(plan, [])).program.units
        places = {
            unit.name: place
            for node in plan.vehicle.nodes
            for group in core_groups(
                node, [one for one in units if one.node == node.name], 0, partitioned=False
            )
            for place in group.places.values()
            for unit in group.units
        }
        assert places == {task.name: task.node for task in by_core.tasks}
        compared += len(set(places.values()))
    assert compared > 12


@pytest.mark.timeout(0)  # as long as so many plans take
@pytest.mark.parametrize(("cores", "partitioned"), [(2, False), (3, False), (2, True)])
def test_no_attack_exceeds_a_bound(cores: int, partitioned: bool) -> None:
    bounded, nearest = 0, 0.0
    for seed in range(PLANS):
        made = random_plan(
            40_000 * cores + seed, Shape(most_operators=6, cores=cores), patterns=("aligned",)
        )
        plan = None if made is None else made[0]
        if plan is not None and partitioned:
            plan = with_cores_of_their_own(plan)
        if plan is None:
            continue
        result = attack(plan, tries=12, seed=seed)
        assert result.exceeded == [], f"seed {40_000 * cores + seed}"
        shares = [share for name in result.found if (share := result.share(name)) is not None]
        bounded += len(shares)
        nearest = max([nearest, *shares])
    assert bounded > 4
    assert nearest > 0.6, "the attacks are too tame to test anything"
