"""The short ways of the kernel (whole trains at once, free units, windows looked at only when due)
give what the long ways give, to the nanosecond."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from unittest.mock import patch

import pytest
from tests.runtime.random_runs import PATTERNS, Shape, random_arrivals, random_query, random_vehicle
from tests.runtime.support import compiled

from headway.errors import PlacementError
from headway.model.plan import Plan
from headway.runtime.core import Core
from headway.runtime.engine import Engine, RunResult
from headway.runtime.kernel import Arrival

POLICIES = ("s-edf", "s-edf", "s-edf-primitive", "fifo+")
EACH = 15


def cases(seed: int, shape: Shape) -> Iterator[tuple[Plan, str, Sequence[Arrival]]]:
    draw = random.Random(seed)
    found = 0
    while found < EACH:
        query = random_query(draw, shape)
        try:
            plan = compiled(query, random_vehicle(draw, query, shape))
        except PlacementError:
            continue
        found += 1
        yield plan, draw.choice(POLICIES), random_arrivals(draw, query, draw.choice(PATTERNS))


def seen(result: RunResult) -> object:
    outputs = {name: (one.rows, one.completed) for name, one in result.outputs.items()}
    kernel = result.kernel
    dropped = sorted((one.where, one.kind, one.row) for _, one in result.side.dropped)
    return outputs, dropped, kernel.decisions, kernel.preemptions, kernel.timeouts, kernel.now


@pytest.mark.parametrize("charged", [True, False])
@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_whole_trains_at_once(seed: int, cores: int, charged: bool) -> None:
    for plan, policy, arrivals in cases(seed, Shape(cores=cores)):
        short = Engine(plan=plan, policy=policy, charged=charged)
        long = Engine(plan=plan, policy=policy, charged=charged)
        for unit in long._program.units:
            unit.whole = None
        assert seen(short.run(arrivals)) == seen(long.run(arrivals))


@pytest.mark.parametrize("charged", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_windows_looked_at_when_due(seed: int, charged: bool) -> None:
    shape = Shape(kinds=("filter", "map", "join", "aggregate", "aggregate", "gather"))
    for plan, policy, arrivals in cases(100 + seed, shape):
        short = Engine(plan=plan, policy=policy, charged=charged).run(arrivals)
        with patch.object(Core, "windows_due", lambda self: bool(self.program.windows.aggregates)):
            long = Engine(plan=plan, policy=policy, charged=charged).run(arrivals)
        assert seen(short) == seen(long)
