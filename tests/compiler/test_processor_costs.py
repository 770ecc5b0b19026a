"""Costs by kinds of processors: where operators may run, and which cost counts there."""

from __future__ import annotations

import pytest
from tests.engine.support import run

import headway as hw
from headway.compiler import compile_query
from headway.compiler.read_plan import read_plan
from headway.engine.jobs import Arrival
from headway.errors import InputError, PlacementError
from headway.files import parse_vehicle
from headway.files.load_queries import parse_query
from headway.files.write_yaml import query_to_yaml, vehicle_to_yaml
from headway.model.codec import to_json
from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost

MS, US = MILLISECOND, MICROSECOND
QUERY = """
query: q
sources: {s: {schema: {v: int}, rate: 1 per 10 ms}}
operators:
  first: {map: {v: v}, from: s, cost: 100 us}
  seen: {map: {v: v + 1}, from: first, cost: {a57: 8 ms, gpu: 300 us}}
  last: {map: {v: v}, from: seen, cost: {gpu: 9 ms, base: 200 us}}
outputs: {out: {from: last, deadline: 30 ms}}
"""
VEHICLE = """
vehicle: car
nodes: {small: {kind: denver}, big: {kind: a57, rate: 2.0}, accelerator: {kind: gpu}}
buses: {net: {kind: ethernet, bit_rate: 100 Mbit/s, nodes: [small, big, accelerator]}}
sensors: {s: small}
"""


def planned(query: str = QUERY, vehicle: str = VEHICLE) -> Plan:
    return compile_query(parse_query(query).query, parse_vehicle(vehicle).vehicle)


def test_an_operator_runs_only_where_it_has_a_cost_and_costs_what_it_costs_there() -> None:
    plan = planned()
    placement, operators = dict(plan.placement), graph_of(plan.query).operators
    assert placement["seen"] in ("big", "accelerator")
    costs = {name: one.cost.base for name, one in operators.items() if one.cost is not None}
    assert costs["seen"] == (8 * MS if placement["seen"] == "big" else 300 * US)
    assert costs["last"] == (9 * MS if placement["last"] == "accelerator" else 200 * US)
    assert read_plan(to_json(plan), "plan.json") == plan


@pytest.mark.parametrize(
    ("node", "cost", "done"), [("big", 8 * MS, 4 * MS), ("accelerator", 300 * US, 300 * US)]
)
def test_the_kind_decides_and_the_rate_divides(node: str, cost: int, done: int) -> None:
    query = QUERY.replace("cost: 100 us", "cost: 0 ms").replace(", base: 200 us", ", base: 0 ms")
    plan = planned(query, f"{VEHICLE}pins: {{first: {node}, seen: {node}, last: small}}")
    seen = graph_of(plan.query).operators["seen"]
    assert seen.cost == Cost(cost, kinds=(("a57", 8 * MS), ("gpu", 300 * US)))
    runs = [end - start for _, start, end, *_ in run(plan, [Arrival(0, "s", (0, 1))]).trace.events]
    assert max(runs) == done


def test_a_promise_can_move_an_operator_to_the_faster_kind() -> None:
    plan = planned(QUERY.replace("deadline: 30 ms", "deadline: 3 ms"))
    assert plan.verdict is not None
    assert plan.verdict.safe
    assert dict(plan.placement)["seen"] == "accelerator"


def test_where_it_can_run_nowhere() -> None:
    with pytest.raises(PlacementError, match=r"seen can run on no node.*a57, gpu; denver"):
        planned(vehicle="vehicle: v\nnodes: {one: {kind: denver}}")
    pinned = r"seen has no cost on small, and it is pinned there.*a57, gpu; denver;"
    with pytest.raises(PlacementError, match=pinned):
        planned(vehicle=f"{VEHICLE}pins: {{seen: small}}")
    with pytest.raises(PlacementError, match="a node without a kind"):
        planned(vehicle="vehicle: v\nnodes: {one: {}}")


def test_in_files_and_in_python() -> None:
    query, vehicle = parse_query(QUERY).query, parse_vehicle(VEHICLE).vehicle
    assert parse_query(query_to_yaml(query)).query == query
    assert parse_vehicle(vehicle_to_yaml(vehicle)).vehicle == vehicle
    assert [node.core_kind for node in vehicle.nodes] == ["denver", "a57", "gpu"]
    q = hw.QueryBuilder("q")
    s = q.source("s", {"v": "int"}, rate="1 per 10 ms")
    step = s.map("m", {"v": "v"}, cost={"a57": "8 ms", "gpu": "300 us"})
    q.output("out", step, deadline="30 ms")
    (found,) = q.build().operators
    assert found.cost == Cost(8 * MS, kinds=(("a57", 8 * MS), ("gpu", 300 * US)))
    node = hw.VehicleBuilder("v").node("n", kind="gpu").build().nodes[0]
    assert node.core_kind == "gpu"


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        ("{bas: 1 ms}", "did you mean 'base'"),
        ("{wurst: 1 ms, best: 1 us}", "did you mean 'worst'"),
        ("{a57: fast}", "not a duration"),
        ("{a57: 1 ms, best: 1 us}", "unknown key 'a57'"),
    ],
)
def test_what_is_no_cost_by_kinds(cost: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_query(QUERY.replace("{a57: 8 ms, gpu: 300 us}", cost))
