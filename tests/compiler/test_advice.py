"""The pass ``advise``: what it says would help does help, when it is done."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.compiler.golden import EXAMPLE

from headway.compiler.passes import compile_query
from headway.files import load_query, load_vehicle, parse_query, parse_vehicle
from headway.model.plan import Plan, Promise
from headway.model.quantities import SECOND, Rate, parse_duration
from headway.model.query import Query
from headway.model.vehicle import Vehicle

STUDY = (
    load_query(EXAMPLE / "query.yaml").query,
    load_vehicle(EXAMPLE / "vehicle.yaml").vehicle,
)
TEXT = """
query: q
sources:
  s: {schema: {v: int}, rate: 10 per 100 ms}
  t: {schema: {v: int}, rate: 1 per 100 ms}
operators:
  a: {filter: v > 0, from: s, cost: 2 ms}
  b: {filter: v > 0, from: t, cost: 9 ms}
outputs:
  o: {from: a, deadline: 25 ms}
  p: {from: b, deadline: 25 ms}
"""
SMALL = (parse_query(TEXT).query, parse_vehicle("vehicle: v\nnodes: {ecu: {}}").vehicle)
BUS = (
    parse_query(
        """
query: q
sources: {s: {schema: {v: string(200)}, rate: 3 per 100 ms}}
operators:
  a: {filter: v IS NOT NULL, from: s, cost: 10 us}
  b: {filter: v IS NOT NULL, from: a, cost: 10 us}
outputs: {o: {from: b, deadline: 20 ms}}
"""
    ).query,
    parse_vehicle(
        """
vehicle: v
nodes: {n1: {}, n2: {}}
buses: {can: {kind: can, bit_rate: 250 kbit/s, nodes: [n1, n2]}}
sensors: {s: n1}
pins: {b: n2}
"""
    ).vehicle,
)


def broken(plan: Plan) -> list[Promise]:
    assert plan.verdict is not None
    return [promise for promise in plan.verdict.promises if not promise.kept]


def faster(vehicle: Vehicle, name: str, factor: float) -> Vehicle:
    everything = name.startswith("all nodes")
    nodes = [
        replace(n, rate=n.rate * factor) if everything or n.name == name else n
        for n in vehicle.nodes
    ]
    buses = [
        replace(b, bit_rate=int(b.bit_rate * factor)) if everything or b.name == name else b
        for b in vehicle.buses
    ]
    return replace(vehicle, nodes=tuple(nodes), buses=tuple(buses))


def follow(advice: str, output: str, query: Query, vehicle: Vehicle) -> Plan:
    """Compiles again with one piece of advice followed, from its words alone."""
    if match := re.fullmatch(r"(.+) ([\d.]+) times as fast", advice):
        vehicle = faster(vehicle, match[1], float(match[2]))
    elif match := re.fullmatch(r"at most ([\d.]+) tuples/s from (\w+)", advice):
        sources = []
        for source in query.sources:
            if source.name == match[2] and source.shedder is not None:
                at_most = round(float(match[1]) * source.shedder.per / SECOND)
                source = replace(source, shedder=replace(source.shedder, at_most=at_most))
            elif source.name == match[2] and source.rate is not None:
                period = round(source.rate.count * SECOND / float(match[1]))
                source = replace(source, rate=Rate(source.rate.count, period))
            sources.append(source)
        query = replace(query, sources=tuple(sources))
    elif match := re.fullmatch(r"a deadline of (.+)", advice):
        deadline = parse_duration(match[1])
        outputs = [replace(o, deadline=deadline) if o.name == output else o for o in query.outputs]
        query = replace(query, outputs=tuple(outputs))
    else:
        pytest.fail(f"advice that nobody can follow: {advice}")
    return compile_query(query, vehicle)


@pytest.mark.parametrize("case", [STUDY, SMALL, BUS], ids=["study", "small", "bus"])
def test_every_piece_of_advice_helps(case: tuple[Query, Vehicle]) -> None:
    query, vehicle = case
    unkept = broken(compile_query(query, vehicle))
    assert unkept
    for promise in unkept:
        for advice in promise.advice.split("; or "):
            after = follow(advice, promise.output, query, vehicle)
            assert promise.output not in {p.output for p in broken(after)}, advice


def test_the_words_for_the_study() -> None:
    one, two = broken(compile_query(*STUDY))
    assert (one.output, one.blame, one.advice) == (
        "output1",
        "node3",
        "all nodes, buses and links 3 times as fast; or a deadline of 226 ms",
    )
    assert (two.output, two.blame, two.advice) == (
        "output2",
        "node3",
        "node3 2 times as fast; or at most 20 tuples/s from v2v; or a deadline of 444 ms",
    )


def test_a_slow_bus_is_blamed() -> None:
    (promise,) = broken(compile_query(*BUS))
    assert promise.blame == "can"
    assert promise.advice.startswith("can 3 times as fast")


def test_kept_promises_need_no_advice() -> None:
    plan = compile_query(STUDY[0], load_vehicle(EXAMPLE / "vehicle_modern.yaml").vehicle)
    assert plan.verdict is not None
    assert plan.verdict.safe
    assert {(p.blame, p.advice) for p in plan.verdict.promises} == {("", "")}


def test_without_a_bound_the_busiest_part_is_blamed() -> None:
    text = TEXT.replace("cost: 9 ms}", "cost: 9 ms, most_outputs: 50}").replace(
        "p: {from: b,", "p: {from: c,"
    )
    text = text.replace("\noutputs:", "\n  c: {filter: v > 1, from: b, cost: 3 ms}\noutputs:")
    promise = next(
        p for p in broken(compile_query(parse_query(text).query, SMALL[1])) if p.output == "p"
    )
    assert promise.bound is None
    assert promise.blame == "ecu"
    assert promise.advice == "ecu 10 times as fast"
