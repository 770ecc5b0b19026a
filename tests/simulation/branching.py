"""A query whose streams part and meet again: two of them leave one node, windows send many tuples
at one moment to another, and what comes of them goes back to where it began, so that a node whose
own streams have long ended may still wait for one."""

from __future__ import annotations

from headway.compiler import compile_query
from headway.engine.jobs import Arrival
from headway.files import parse_query, parse_vehicle
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND

QUERY = """
query: branching
schemas:
  Radar: {id: int, distance: double}
  Own: {speed: double}
  Sign: {most: double}
sources:
  radar: {schema: Radar, rate: 1 per 3 ms}
  own: {schema: Own, rate: 1 per 3 ms}
  sign: {schema: Sign, rate: 1 per 3 ms}
operators:
  nearest: {aggregate: {closest: min(distance)}, by: [id], from: radar, window: 80 ms, cost: 10 us}
  limits: {filter: most > 0, from: sign, cost: 10 us}
  moving: {filter: speed > 0, from: own, cost: 10 us}
  met:
    join: {n: nearest, m: moving}
    within: 5 ms
    select: {id: n.id, gap: n.closest - m.speed}
    cost: 10 us
    most_outputs: 8
  counted: {aggregate: {n: count(*), least: min(gap)}, from: met, window: 160 ms, cost: 10 us}
  posted:
    join: {l: limits, m: moving}
    within: 5 ms
    select: {over: m.speed - l.most}
    cost: 10 us
    most_outputs: 8
  signs: {aggregate: {n: count(*)}, from: posted, window: 60 ms, cost: 10 us}
  warned: {filter: n > 0, from: counted, cost: 10 us}
outputs:
  gaps: {from: met, deadline: 2 s, criticality: soft}
  signs: {from: signs, deadline: 2 s, criticality: soft}
  warnings: {from: warned, deadline: 2 s, criticality: soft}
"""
VEHICLE = """
vehicle: three
nodes: {front: {}, rear: {}, centre: {}}
buses:
  backbone: {kind: ethernet, bit_rate: 100 Mbit/s, nodes: [front, rear, centre]}
sensors: {radar: front, sign: front, own: rear}
pins:
  nearest: front
  limits: front
  moving: rear
  met: centre
  counted: centre
  posted: centre
  signs: centre
  warned: front
"""


def branching_plan() -> Plan:
    return compile_query(parse_query(QUERY).query, parse_vehicle(VEHICLE).vehicle)


def branching_arrivals(tuples: int, every: int, own: int) -> list[Arrival]:
    """``tuples`` of radar and sign, ``own`` of own; ``every`` microseconds one of each."""
    begin = 1_700_000_000_000_000
    found = []
    for n in range(max(tuples, own)):
        at = begin + n * every
        if n < tuples:
            found.append(Arrival(at * MICROSECOND, "radar", (at, n, float(n * 7 % 100))))
            sign = at + 500
            found.append(Arrival(sign * MICROSECOND, "sign", (sign, float(1 + n % 3))))
        if n < own:
            moved = at + 1_000
            found.append(Arrival(moved * MICROSECOND, "own", (moved, float(1 + n % 5))))
    return found
