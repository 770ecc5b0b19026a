"""Random queries: hard outputs that can be promised are never missed, whatever the soft load."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pytest
from tests.engine.reserving.small import MS, misses, plan_of, run

from headway.compiler import compile_query
from headway.compiler.latency import soft_room
from headway.engine import path_tasks
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.errors import HeadwayError
from headway.model.expression import Column, Sql
from headway.model.operators import ONLY_PORT, Input, Map, Operator
from headway.model.plan import Plan
from headway.model.quantities import Cost, Rate
from headway.model.query import Criticality, Output, Query, Source
from headway.model.schema import schema
from headway.model.taskset import FULL
from headway.model.vehicle import Node, Vehicle

PLANS = 40
LENGTH = 400 * MS


def random_plan(random: np.random.Generator) -> Plan | None:
    """Chains of maps from their own sources, some of which branch; none if they do not fit."""
    sources: list[Source] = []
    operators: list[Operator] = []
    outputs: list[Output] = []
    for number in range(int(random.integers(2, 6))):
        kind = Criticality.HARD if number < 2 and random.random() < 0.8 else Criticality.SOFT
        period = int(random.integers(8, 60)) * MS
        name = stream = f"s{number}"
        sources.append(Source(name=name, schema=schema(v="double"), rate=Rate(1, period)))
        budget = period * random.uniform(0.05, 0.35)
        steps = int(random.integers(1, 4))
        for step in range(steps):
            cost = max(1, int(budget / steps))
            column = Column("v", Sql("v"))
            operators.append(
                Map(name=f"{name}_{step}", inputs=(Input(ONLY_PORT, stream),), columns=(column,),
                    cost=Cost(cost))
            )  # fmt: skip
            stream = f"{name}_{step}"
        deadline = int(period * random.uniform(0.4, 1.5))
        outputs.append(
            Output(name=f"o{number}", stream=stream, deadline=deadline, criticality=kind)
        )
    query = Query(
        name="random", sources=tuple(sources), steps=tuple(operators), outputs=tuple(outputs)
    )
    node = Node(name="ecu", decision_cost=1_000, preemption_cost=2_000)
    sensors = tuple((source.name, "ecu") for source in sources)
    try:
        return compile_query(query, Vehicle(name="one", nodes=(node,), sensors=sensors))
    except HeadwayError:
        return None


def arrivals_of(plan: Plan, random: np.random.Generator) -> list[Arrival]:
    """Hard sources as often as they may; soft ones up to ten times as often, in bursts."""
    hard = {
        output.stream.split("_")[0]
        for output in plan.query.outputs
        if output.criticality is Criticality.HARD
    }
    found = []
    for source in plan.query.sources:
        assert source.rate is not None
        time = int(random.integers(0, source.rate.period))
        times = 1 if source.name in hard else int(random.integers(2, 11))
        while time < LENGTH:
            row = (time // 1000, 1.0)
            found += [Arrival(row[0] * 1000, source.name, row)] * times
            time += source.rate.period
    return sorted(found, key=lambda one: one.time)


def cases(plans: int = PLANS) -> Iterator[tuple[Plan, list[Arrival], list[str]]]:
    """Plans, their arrivals, and the hard outputs that can be promised."""
    made = seed = 0
    while made < plans:
        seed += 1
        random = np.random.default_rng([5, seed])
        plan = random_plan(random)
        if plan is None or plan.verdict is None:
            continue
        promised = [one.output for one in plan.verdict.promises if one.hard and one.kept]
        soft = any(output.criticality is Criticality.SOFT for output in plan.query.outputs)
        if promised and soft and all(one.kept for one in plan.verdict.promises if one.hard):
            made += 1
            yield plan, arrivals_of(plan, random), promised


def hard_misses(policy: str, plans: int = PLANS) -> int:
    found = 0
    for plan, arrivals, promised in cases(plans):
        try:
            engine = Engine(plan=plan, policy=policy, keep_trace=False)
        except HeadwayError:
            continue  # the hard tasks do not fit by densities: refused by name
        result = engine.run(arrivals)
        found += sum(o.misses for o in result.summary().outputs if o.output in promised)
        if policy.startswith("rop"):
            assert not any("hard" in one.reason for _, one in result.side.dropped)
    return found


@pytest.mark.parametrize("policy", ["rop-edf-1", "rop-edf-2", "cbs"])
def test_hard_outputs_that_can_be_promised_are_never_missed(policy: str) -> None:
    assert hard_misses(policy) == 0


@pytest.mark.parametrize("policy", ["op-edf", "s-edf"])
def test_without_reservations_they_are(policy: str) -> None:
    assert hard_misses(policy, plans=5) > 0


HELD_UP = """query: held_up
schemas:
  A: {v: double}
sources:
  radar: {schema: A, rate: 1 per 25 ms}
  map: {schema: A, rate: 1 per 400 ms}
  v2v: {schema: A, rate: 1 per 25 ms}
operators:
  distance: {map: {v: v}, from: radar, cost: 10 ms}
  route: {map: {v: v}, from: map, cost: 8 ms}
  others: {map: {v: v}, from: v2v, cost: 1 ms}
outputs:
  brake: {from: distance, deadline: 20 ms, criticality: hard}
  guide: {from: route, deadline: 400 ms, criticality: soft}
  show: {from: others, deadline: 15 ms, criticality: soft}
"""
"""`route` is under way when the radar's tuple comes, and V2V tuples are more urgent than both"""


@pytest.mark.parametrize("policy", ["rop-edf-1", "rop-edf-2"])
def test_a_room_that_forgets_operators_are_not_interrupted_is_caught(policy: str) -> None:
    """The paper's C_S = 1 − C_SUMH is for jobs that can be interrupted at any time."""
    plan = plan_of(HELD_UP)
    arrivals = [(0, "map"), (1, "radar"), *[(1.1, "v2v")] * 12]

    def all_of_it(plan: Plan) -> dict[str, int]:
        return dict.fromkeys(soft_room.soft_rooms(plan), FULL)

    assert misses(run(plan, policy, arrivals))["brake"] == 0
    with patch.object(path_tasks, "soft_rooms", all_of_it):
        assert misses(run(plan, policy, arrivals))["brake"] == 1
