"""Compiled queries as task graphs, and schedules as placements."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.example_plans import example_plan

from headway.compiler import compile_query
from headway.errors import GraphError
from headway.files import parse_query, parse_vehicle
from headway.files.load_queries import load_query
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND
from headway.model.query import Query
from headway.model.static_network import Switching
from headway.schedule.static import (
    ALGORITHMS,
    Instance,
    Options,
    graph_of_plan,
    pinned,
    placement_of,
    schedule,
    violations,
)
from headway.schedule.static.timing import record

EXAMPLE = Path(__file__).parents[3] / "examples" / "collision_warning"


@cache
def query() -> Query:
    return load_query(EXAMPLE / "query.yaml").query


def plan() -> Plan:
    return example_plan("collision_warning")


def test_tasks_are_sources_and_operators_with_their_costs() -> None:
    graph, network = graph_of_plan(plan())
    placement = dict(plan().placement)
    assert set(graph.by_name) == set(placement)
    for source in plan().query.sources:
        task = graph.by_name[source.name]
        assert (task.work, task.processors) == (0, (placement[source.name],))
    for operator in plan().query.operators:
        assert operator.cost is not None
        times = graph.by_name[operator.name].times
        for node in plan().vehicle.nodes:
            assert times[node.name] == operator.cost.worst(node.speed)
    assert network.processor_names == tuple(node.name for node in plan().vehicle.nodes)
    media = [bus.name for bus in plan().vehicle.buses]
    media += [link.name for link in plan().vehicle.links]
    assert [link.name for link in network.links] == media


def test_a_message_alone_takes_as_long_as_the_plan_says() -> None:
    """With the plan's own placement and no contention, each crossing has the plan's delay."""
    graph, network = graph_of_plan(plan())
    instance = Instance(graph, network, Options(contention=False))
    placement = dict(plan().placement)
    where = [instance.processors.index(placement[task]) for task in instance.tasks]
    found = record(instance, instance.topological, where)
    assert not violations(graph, network, found)
    sent = {
        (message.sender, placement[message.receiver]): message.links[-1].finish
        - found.of_task[message.sender].finish
        for message in found.messages
    }
    assert sent == {(c.stream, c.receiver): c.delay for c in plan().crossings}


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_the_example_is_scheduled(name: str) -> None:
    graph, network = graph_of_plan(plan())
    result = schedule(graph, network, name)
    if result.schedule is None:
        assert result.failure is not None
        assert name in ("hsv-cc", "hvlb-cc-a", "hvlb-cc-b")
        return
    assert not violations(graph, network, result.schedule)
    assert result.schedule.makespan == result.makespan


def test_a_schedule_is_a_placement_to_compile_with() -> None:
    result = schedule(*graph_of_plan(plan()), "hvlb-cc-c")
    assert result.schedule is not None
    again = compile_query(query(), pinned(plan().vehicle, plan(), result.schedule))
    assert dict(again.placement) == placement_of(result.schedule)


def test_b_fails_on_the_collision_warning_application() -> None:
    """The fusion of surroundings (SDFO2) sits at depth 7 and feeds three operators, the union
    before it at depth 6 feeds two: 3/7² outweighs 2/6², for nearly all the work lies behind
    both."""
    failure = schedule(*graph_of_plan(plan()), "hvlb-cc-b").failure
    assert failure is not None
    assert (failure.task, failure.predecessor) == ("sdfo2", "union1")


def test_deadlines_of_outputs_are_those_of_their_tasks() -> None:
    graph, _ = graph_of_plan(plan())
    for output in plan().query.outputs:
        assert graph.by_name[output.stream].deadline == output.deadline


def test_a_plan_without_a_vehicle_has_no_schedule() -> None:
    with pytest.raises(GraphError, match="compiled without a vehicle; compile the query for a"):
        graph_of_plan(replace(plan(), verdict=None))


def test_period_deadlines_and_pins() -> None:
    """The period is that of the source that sends most often; a task is due with the sooner of its
    outputs."""
    text = """
query: q
sources:
  slow: {schema: {v: int}, rate: 1 per 100 ms}
  fast: {schema: {v: int}, rate: 2 per 80 ms, delay: 3 ms}
operators:
  a: {filter: v > 0, from: slow, cost: 1 ms}
  b: {filter: v > 0, from: fast, cost: 1 ms}
outputs:
  late: {from: a, deadline: 70 ms}
  soon: {from: a, deadline: 50 ms}
  far: {from: b, deadline: 300 ms}
"""
    vehicle = parse_vehicle(
        "vehicle: v\nnodes: {m: {}, n: {}}\n"
        "buses: {can: {kind: can, bit_rate: 500 kbit/s, nodes: [m, n]}}\n"
        "sensors: {slow: m, fast: n}\npins: {a: n}"
    ).vehicle
    graph, _ = graph_of_plan(compile_query(parse_query(text).query, vehicle))
    assert graph.period == 40 * MILLISECOND
    assert {task.name: task.deadline for task in graph.tasks} == {
        "slow": None,
        "fast": None,
        "a": 50 * MILLISECOND,
        "b": 300 * MILLISECOND,
    }
    assert {task.name: task.processors for task in graph.tasks} == {
        "slow": ("m",),
        "fast": ("n",),
        "a": ("n",),
        "b": (),
    }
    assert graph.by_name["fast"].release == 3 * MILLISECOND


def test_messages_and_the_network() -> None:
    """16 bytes on two buses and a link; nodes pass nothing on, and whoever does passes on whole
    messages."""
    text = """
query: q
sources: {s: {schema: {v: double}, rate: 1 per 100 ms}}
operators:
  a: {filter: v > 0, from: s, cost: 1 ms}
  b: {filter: v > 1, from: a, cost: 2 ms}
outputs: {o: {from: b, deadline: 70 ms}}
"""
    vehicle = parse_vehicle(
        "vehicle: v\nnodes: {m: {rate: 2}, n: {}}\n"
        "buses:\n  one: {kind: can, bit_rate: 500 kbit/s, nodes: [m]}\n"
        "  two: {kind: can, bit_rate: 1 Mbit/s, nodes: [n]}\n"
        "gateways: {g: {buses: [one, two], delay: 300 us}}\n"
        "links: {l: {ends: [m, n], speed: 2 Mbit/s}}\nsensors: {s: m}"
    ).vehicle
    graph, network = graph_of_plan(compile_query(parse_query(text).query, vehicle))
    assert [(e.sender, e.receiver, e.volume, dict(e.times)) for e in graph.edges] == [
        ("s", "a", 128, {"one": 540_000, "two": 270_000, "l": 64_000}),
        ("a", "b", 128, {"one": 540_000, "two": 270_000, "l": 64_000}),
    ]
    assert {task.name: dict(task.times) for task in graph.tasks} == {
        "s": {},
        "a": {"m": 500_000, "n": 1_000_000},
        "b": {"m": 1_000_000, "n": 2_000_000},
    }
    assert [(one.name, one.rate) for one in network.processors] == [("m", 2), ("n", 1)]
    assert [(one.name, one.delay) for one in network.switches] == [("g", 300_000)]
    assert [(one.name, one.ends, one.speed * 10**9) for one in network.links] == [
        ("one", ("m", "g"), 500_000),
        ("two", ("n", "g"), 1_000_000),
        ("l", ("m", "n"), 2_000_000),
    ]
    assert not network.processors_forward
    assert network.switching is Switching.STORE_AND_FORWARD
