"""A hard path that does more than it declares overruns, and does not take others with it."""

from __future__ import annotations

from tests.engine.reserving.small import instants, misses, plan_of, run, runs

from headway.engine.trace import EventKind

LIAR = """query: liar
schemas:
  A: {v: double}
sources:
  camera: {schema: A, rate: 1 per 20 ms}
  radar: {schema: A, rate: 1 per 20 ms}
operators:
  split:
    udo: "tests.engine.users:Twice"
    inputs: {input: camera}
    schema: A
    most_outputs: MOST
    selectivity: MOST
    cost: 1 ms
  draw: {map: {v: v}, from: split, cost: 4 ms}
  distance: {map: {v: v}, from: radar, cost: 5 ms}
outputs:
  picture: {from: draw, deadline: 10 ms, criticality: hard}
  brake: {from: distance, deadline: 12 ms, criticality: hard}
"""
BOTH = [(0.0, "camera"), (0.0, "radar")]


def test_two_results_where_one_was_declared() -> None:
    """The budget is 1 + 4 ms. The second result would need 4 more, and make `brake` late."""
    result = run(plan_of(LIAR.replace("MOST", "1")), "rop-edf", BOTH)
    assert runs(result) == [
        ("split", 0, 1), ("draw", 1, 5), ("distance", 5, 10), ("draw", 10, 14),
    ]  # fmt: skip
    assert instants(result, EventKind.OVERRUN) == [5]
    assert misses(result) == {"picture": 1, "brake": 0}
    assert misses(run(plan_of(LIAR.replace("MOST", "1")), "op-edf", BOTH))["brake"] == 1


def test_what_was_declared_is_within_the_budget() -> None:
    text = LIAR.replace("MOST", "2").replace("10 ms", "16 ms").replace("12 ms", "20 ms")
    result = run(plan_of(text), "rop-edf", BOTH)
    assert instants(result, EventKind.OVERRUN) == []
    assert misses(result) == {"picture": 0, "brake": 0}
