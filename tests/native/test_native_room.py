"""Without a heap: memory is laid out once, to the byte; what does not fit is shed and counted."""

from __future__ import annotations

import random
from pathlib import Path

from tests.engine import batching
from tests.engine.random_runs import PATTERNS, Shape, random_arrivals, random_query, random_vehicle
from tests.engine.support import compiled
from tests.native.needed import needs_sanitizers
from tests.native.trace_runs import Case, told_by

from headway.engine.jobs import Arrival
from headway.errors import PlacementError
from headway.native.buffer_sizes import FIRST
from headway.native.toolchain import BuildMode


def burst(count: int) -> Case:
    """So many tuples at one instant, before a train of three maps."""
    source = batching.sensor("s", count, 10 * batching.MS, delay=5 * batching.MS, lateness=0)
    plan = batching.chains((source, 3, 10 * batching.US, 20 * batching.MS))
    rows = [(10_000 + number, number, float(number)) for number in range(count)]
    return Case(plan=plan, arrivals=[Arrival(11 * batching.MS, "s", row) for row in rows])


def overloaded(count: int) -> list[Case]:
    """Random plans with far more tuples than their containers have room for."""
    draw, shape, found = random.Random(11), Shape(shedders=False), list[Case]()
    while len(found) < count:
        query = random_query(draw, shape)
        try:
            plan = compiled(query, random_vehicle(draw, query, shape))
        except PlacementError:
            continue
        arrivals = random_arrivals(draw, query, draw.choice(PATTERNS), beyond=40)
        found.append(Case(plan=plan, arrivals=arrivals))
    return found


def of_kind(lines: list[str], kind: str) -> list[list[str]]:
    return [line.split("|") for line in lines if line.startswith(f"{kind}|")]


@needs_sanitizers
def test_what_does_not_fit_is_shed_and_counted(tmp_path: Path) -> None:
    fits, exceeds, *random_plans = told_by(
        [burst(FIRST), burst(10 * FIRST), *overloaded(10)], tmp_path, mode=BuildMode.SANITIZED
    )
    for lines, came in ((fits, FIRST), (exceeds, 10 * FIRST)):
        outputs, dropped = of_kind(lines, "output"), of_kind(lines, "drop")
        ((*_, no_room),) = of_kind(lines, "counts")
        assert len(outputs) + len(dropped) == came
        assert len(dropped) == int(no_room)
    assert not of_kind(fits, "drop")
    assert len(of_kind(exceeds, "output")) >= FIRST
    assert any(int(of_kind(lines, "counts")[0][-1]) for lines in random_plans)
    for lines in (fits, exceeds, *random_plans):
        assert of_kind(lines, "left") == [["left", "0"]]
        assert of_kind(lines, "counts")
