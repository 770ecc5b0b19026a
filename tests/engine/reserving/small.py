"""Small queries on one ECU whose runs can be worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.engine.trace import EventKind
from headway.files import parse_query
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND
from headway.model.vehicle import Node, Vehicle

MS = MILLISECOND


def plan_of(text: str) -> Plan:
    query = parse_query(text).query
    sensors = tuple((source.name, "ecu") for source in query.sources)
    return compile_query(query, Vehicle(name="one", nodes=(Node(name="ecu"),), sensors=sensors))


def arrivals(given: Iterable[tuple[float, str]]) -> list[Arrival]:
    """Of (ms, source); a tuple is sensed when it arrives."""
    return [
        Arrival(int(time * MS), source, (int(time * MS) // 1000, 1.0))
        for time, source in sorted(given)
    ]


def run(plan: Plan, policy: str, given: Iterable[tuple[float, str]]) -> RunResult:
    return Engine(plan=plan, policy=policy).run(arrivals(given))


def misses(result: RunResult) -> dict[str, int]:
    return {output.output: output.misses for output in result.summary().outputs}


def runs(result: RunResult) -> list[tuple[str, float, float]]:
    """(operator, start, end) in ms."""
    units = {unit.name: unit for unit in result.kernel.program.units}
    found = []
    for kind, start, end, _, _, what, _, first, ran in result.trace.events:
        if kind == EventKind.RUN:
            for index in range(first, first + ran):
                until = end if index == first + ran - 1 else start + units[what].costs[index]
                found.append((units[what].operators[index], start / MS, until / MS))
                start = until
    return found


def instants(result: RunResult, kind: EventKind) -> list[float]:
    return [event[1] / MS for event in result.trace.events if event[0] == kind]


TWO_STEPS = """query: two_steps
schemas:
  A: {v: double}
sources:
  radar: {schema: A, rate: 1 per 20 ms}
  v2v: {schema: A, rate: 1 per 20 ms}
operators:
  distance: {map: {v: v}, from: radar, cost: 10 ms}
  first: {map: {v: v}, from: v2v, cost: 4 ms}
  second: {map: {v: v}, from: first, cost: 4 ms}
outputs:
  brake: {from: distance, deadline: 20 ms, criticality: hard}
  show: {from: second, deadline: 15 ms, criticality: soft}
"""

CROSSING = """query: crossing
schemas:
  A: {v: double}
sources:
  radar: {schema: A, rate: 1 per 20 ms}
  v2v: {schema: A, rate: 500 per 1 s}
operators:
  distance: {map: {v: v}, from: radar, cost: 5 ms}
  others: {map: {v: v}, from: v2v, cost: 1 ms}
outputs:
  brake: {from: distance, deadline: 20 ms, criticality: hard}
  show: {from: others, deadline: 15 ms, criticality: soft}
"""


def crossing(every: float, length: int = 1000, radar_every: int = 20) -> list[tuple[float, str]]:
    """V2V tuples come ``every`` so many ms: 1 is 125 % with the radar, 0.5 is 225 %."""
    radar = [(float(t), "radar") for t in range(0, length, radar_every)]
    return radar + [(n * every, "v2v") for n in range(int(length / every))]
