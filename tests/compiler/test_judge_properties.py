"""Bounds grow with what is asked for. Only what the formulas guarantee is asserted.

Deadlines of tasks in a chain depend on the costs behind them, so a higher cost there may change the
order of execution and lower somebody else's bound; tasks that are chains of their own with one
operator each are free of that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiler.build import VALUE
from tests.exploring import examples

from headway.compiler.passes import compile_query
from headway.errors import PlacementError
from headway.model.operators import Input, Map
from headway.model.quantities import Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.vehicle import Node, Vehicle


@dataclass(frozen=True)
class Job:
    count: int
    period: int
    jitter: int
    delay: int
    cost: int
    deadline: int


jobs = st.builds(
    Job,
    count=st.integers(1, 3),
    period=st.integers(50, 400),
    jitter=st.integers(0, 100),
    delay=st.integers(0, 50),
    cost=st.integers(1, 40),
    deadline=st.integers(1, 600),
)
job_lists = st.lists(jobs, min_size=1, max_size=5)


def query_of(job_list: list[Job]) -> Query:
    """An operator and an output for each."""
    return Query(
        name="q",
        sources=tuple(
            Source(
                name=f"s{i}",
                schema=VALUE,
                rate=Rate(job.count, job.period, job.jitter),
                delay=job.delay,
            )
            for i, job in enumerate(job_list)
        ),
        steps=tuple(
            Map(
                name=f"m{i}",
                inputs=(Input("input", f"s{i}"),),
                cost=Cost(job.cost),
                columns=(),
                keep=True,
            )
            for i, job in enumerate(job_list)
        ),
        outputs=tuple(
            Output(name=f"o{i}", stream=f"m{i}", deadline=job.deadline)
            for i, job in enumerate(job_list)
        ),
    )


def ecu(rate: float) -> Vehicle:
    return Vehicle(name="v", nodes=(Node(name="ecu", rate=rate, capacity=1.0),))


def bounds(job_list: list[Job], rate: float = 1.0) -> list[float]:
    """The bound of each job's output on one ECU; infinite where there is none."""
    vehicle = ecu(rate)
    if load(job_list, vehicle) >= 0.99:  # from 1 on there is no plan, and no bound
        return [float("inf")] * len(job_list)
    plan = compile_query(query_of(job_list), vehicle)
    assert plan.verdict is not None
    return [
        float("inf") if promise.bound is None else promise.bound
        for promise in plan.verdict.promises
    ]


def load(job_list: list[Job], vehicle: Vehicle) -> float:
    """What the jobs need of the ECU. A cost is charged in whole nanoseconds, rounded up, so the few
    nanoseconds of these jobs need more than half as much at rate 2 (1 ns stays 1 ns): dividing the
    load at rate 1 by the rate would let sets through that the compiler rightly refuses."""
    (node,) = vehicle.nodes
    return sum(job.count * Cost(job.cost).worst(node.speed) / job.period for job in job_list)


def not_lower(before: list[float], after: list[float]) -> bool:
    return all(b <= a for b, a in zip(before, after, strict=True))


properties = examples(100)


@properties
@given(job_lists, st.data())
def test_asking_for_more_never_lowers_a_bound(job_list: list[Job], data: st.DataObject) -> None:
    which = data.draw(st.integers(0, len(job_list) - 1))
    job = job_list[which]
    more = data.draw(
        st.sampled_from(
            [
                replace(job, cost=job.cost + 7),
                replace(job, count=job.count + 1),
                replace(job, period=job.period - 20),
                replace(job, jitter=job.jitter + 60),
                replace(job, delay=job.delay + 30),
            ]
        )
    )
    after = [more if i == which else other for i, other in enumerate(job_list)]
    assert not_lower(bounds(job_list), bounds(after))


@properties
@given(job_list=job_lists)
def test_a_faster_node_never_raises_a_bound(job_list: list[Job]) -> None:
    """A set that does not fit at rate 1 may well fit at rate 2, or not there either."""
    assert not_lower(bounds(job_list, rate=2.0), bounds(job_list))


def test_costs_that_are_rounded_up_may_be_too_much_for_a_faster_node() -> None:
    """196 % of a node of rate 1, but not the half of that at rate 2: 3 ns take 2 ns there."""
    job_list = [
        Job(count=1, period=50, jitter=0, delay=0, cost=cost, deadline=600)
        for cost in (3, 1, 15, 39, 40)
    ]
    assert load(job_list, ecu(1.0)) == pytest.approx(1.96)
    assert load(job_list, ecu(2.0)) == pytest.approx(1.02)
    with pytest.raises(PlacementError, match=r"needs 1\.02 of 1\.00 on ecu"):
        compile_query(query_of(job_list), ecu(2.0))


@properties
@given(job_lists, jobs)
def test_another_task_never_lowers_a_bound(job_list: list[Job], another: Job) -> None:
    assert not_lower(bounds(job_list), bounds([*job_list, another])[: len(job_list)])


@properties
@given(job_list=job_lists)
def test_a_bound_covers_arrival_and_own_cost(job_list: list[Job]) -> None:
    for job, bound in zip(job_list, bounds(job_list), strict=True):
        assert bound >= job.delay + job.cost * job.count
