"""The pass ``blame``: which place a broken promise names."""

from __future__ import annotations

from dataclasses import replace

from tests.compiler.build import compiled_until

from headway.compiler.latency.blame import blame, places_on_way
from headway.files import parse_query, parse_vehicle

QUERY = """
query: q
sources:
  s: {schema: {v: int}, rate: 1 per 100 ms}
  t: {schema: {v: int}, rate: 1 per 100 ms}
operators:
  f: {filter: v > 0, from: s, cost: 1 ms}
  g: {filter: v > 0, from: f, cost: 3 ms}
  h: {filter: v > 0, from: t, cost: 90 ms}
outputs: {o: {from: g, deadline: 1 s}, p: {from: h, deadline: 1 s}}
"""
VEHICLE = """
vehicle: v
nodes: {n1: {}, n2: {}, n3: {}}
buses: {can: {kind: can, bit_rate: 500 kbit/s, nodes: [n1, n2, n3]}}
sensors: {s: n1, t: n3}
pins: {f: n1, g: n2, h: n3}
"""


def test_without_a_bound_the_busiest_place_that_it_touches() -> None:
    """The reason names no place; the busiest node of all has nothing to do with the output."""
    compilation = compiled_until(blame, parse_query(QUERY).query, parse_vehicle(VEHICLE).vehicle)
    verdict = compilation.verdict
    assert verdict is not None
    assert places_on_way(compilation, "o") == {"n1", "can", "n2"}
    loads = {load.name: load.utilisation for load in verdict.loads}
    assert loads["n3"] > loads["n2"] > loads["n1"]
    first, second = verdict.promises
    lost = replace(first, bound=None, steps=(), reason="bounds push each other up")
    broken = replace(compilation, verdict=replace(verdict, promises=(lost, second)))
    after = blame(broken).verdict
    assert after is not None
    assert [promise.blame for promise in after.promises] == ["n2", second.blame]
    named = replace(broken, verdict=replace(verdict, promises=(
        replace(lost, reason="n1 has several cores"), replace(lost, reason="n3 is asked for more"),
    )))  # fmt: skip
    after = blame(named).verdict
    assert after is not None
    assert [promise.blame for promise in after.promises] == ["n1", "n2"]
