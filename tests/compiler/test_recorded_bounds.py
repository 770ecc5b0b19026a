"""Bounds of random plans against recorded ones: no looser than they once were, and no lower than
what was once seen to happen.

A mistake that makes bounds looser breaks no promise, and one that lowers some of them is met by few
of the runs that :mod:`tests.engine.test_latency_bounds` draws. Here each plan has the longest
latency that many runs within its declared rates came to, so compiling it is enough. After an
analysis has become sharper, or other plans are drawn, record anew (some minutes) and read the
difference:

    HEADWAY_RENEW_SNAPSHOTS=1 python -m pytest tests/compiler/test_recorded_bounds.py
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from tests.engine.bounds import observe
from tests.engine.random_runs import (
    PATTERNS,
    Shape,
    random_arrivals,
    random_query,
    random_vehicle,
    scaled,
)
from tests.engine.support import compiled, run

from headway.errors import HeadwayError
from headway.model.plan import Plan

SHAPES = {
    "everything": Shape(most_operators=5),
    "windows": Shape(kinds=("join", "gather", "aggregate", "map"), most_operators=4, most_nodes=2),
    "joins": Shape(kinds=("join", "join", "map"), most_operators=4, most_nodes=2),
    "clocks": Shape(kinds=("sample", "sample", "map", "join", "aggregate"), most_operators=4),
    "one node": Shape(kinds=("gather", "twice", "union", "map"), most_operators=4, most_nodes=1),
    "cores": Shape(kinds=("gather", "twice", "map", "aggregate"), most_operators=4, cores=2),
}
PLANS = 12
"""of each shape"""
RECORDED = Path(__file__).parent / "snapshots" / "bounds.json"
RENEW = "HEADWAY_RENEW_SNAPSHOTS"

Recorded = dict[str, dict[str, list[int | None]]]
"""seed -> output -> the longest that was seen, the bound"""


def plan_of(seed: int, shape: Shape) -> Plan | None:
    """With a bound for each output; None if no scale of its costs gives that."""
    draw = random.Random(seed)
    query = random_query(draw, shape)
    vehicle = random_vehicle(draw, query, shape)
    for factor in (1.0, 0.3, 0.1):
        try:
            plan = compiled(scaled(query, factor), vehicle)
        except HeadwayError:
            continue
        assert plan.verdict is not None
        if all(promise.bound is not None for promise in plan.verdict.promises):
            return plan
    return None


def bounds(plan: Plan) -> dict[str, int | None]:
    assert plan.verdict is not None
    return {promise.output: promise.bound for promise in plan.verdict.promises}


def recorded_anew(shape: Shape) -> Recorded:
    found: Recorded = {}
    seed = 0
    while len(found) < PLANS:
        seed += 1
        plan = plan_of(seed, shape)
        if plan is None:
            continue
        seen: dict[str, int] = {}
        for number, pattern in enumerate(PATTERNS * 12):
            given = random_arrivals(random.Random(1000 * seed + number), plan.query, pattern)
            result = run(plan, given, keep_trace=False)
            if result.summary().beyond == 0:
                for one in observe(plan, result, given):
                    seen[one.output] = max(seen.get(one.output, 0), one.latency)
        found[str(seed)] = {name: [seen.get(name), one] for name, one in bounds(plan).items()}
    return found


@pytest.fixture(scope="module")
def recorded() -> dict[str, Recorded]:
    if os.environ.get(RENEW):
        found = {name: recorded_anew(shape) for name, shape in SHAPES.items()}
        lines = json.dumps(found).replace('}, "', '},\n"')
        RECORDED.write_text(lines + "\n", encoding="utf-8")
    known: dict[str, Recorded] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return known


@pytest.mark.parametrize("shape", SHAPES)
def test_bounds_are_between_what_was_seen_and_what_they_were(
    shape: str, recorded: dict[str, Recorded]
) -> None:
    assert len(recorded[shape]) == PLANS
    for seed, outputs in recorded[shape].items():
        plan = plan_of(int(seed), SHAPES[shape])
        assert plan is not None
        found = bounds(plan)
        assert set(found) == set(outputs)
        for name, (seen, most) in outputs.items():
            bound = found[name]
            assert bound is not None
            assert most is not None
            assert (seen or 0) <= bound <= most, f"{shape}, seed {seed}, {name}"
