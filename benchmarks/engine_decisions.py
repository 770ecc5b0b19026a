"""What a scheduling decision costs: real time from a tuple's arrival into the queue, and from the
end of one train to the start of the next.

N tuples arrive at one instant over up to 100 trains, with deadlines in no order; then the node
works off its queue of N. The trains are filters that pass nothing, stamped at entry and exit, so
that only the engine's own work is between two stamps: taking in the arrival and giving it its place
in the heap; taking the most urgent job off the heap, moving time, and the call. The stamps
themselves, and the check of the row's form and lateness, which is no scheduling, are measured alone
and taken off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from statistics import median
from time import perf_counter_ns
from typing import Any

from engine_chain import COLUMNS, plan_of

from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.kernel import Kernel
from headway.model.expression import Sql
from headway.model.operators import Filter, Input
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Cost, Rate
from headway.model.query import Output, Query, Source

QUEUED = (10, 100, 1_000, 10_000)
TRAINS = 100
SAMPLES = 40_000
REPEATS = 3


@dataclass(frozen=True)
class Decision:
    """Medians, in nanoseconds of real time."""

    queue: float
    choose: float

    @property
    def whole(self) -> float:
        return self.queue + self.choose


def trains_plan(trains: int) -> Plan:
    names = range(trains)
    return plan_of(
        Query(
            name="trains",
            sources=tuple(
                Source(name=f"s{i}", schema=COLUMNS, rate=Rate(1, SECOND), lateness=SECOND)
                for i in names
            ),
            steps=tuple(
                Filter(
                    name=f"f{i}",
                    inputs=(Input("input", f"s{i}"),),
                    cost=Cost(MICROSECOND),
                    where=Sql("v < 0"),
                )
                for i in names
            ),
            outputs=tuple(
                Output(name=f"out{i}", stream=f"f{i}", deadline=(i % 17 + 1) * 100 * MILLISECOND)
                for i in names
            ),
        )
    )


class Stamps:
    """When a function was entered and left."""

    def __init__(self) -> None:
        self.entered: list[int] = []
        self.left: list[int] = []

    def around(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        entered, left = self.entered.append, self.left.append

        def run(argument: Any) -> Any:
            entered(perf_counter_ns())
            result = function(argument)
            left(perf_counter_ns())
            return result

        return run

    def between(self, burst: int) -> float:
        """Median from leaving to entering again, inside a burst."""
        pairs = enumerate(zip(self.left, self.entered[1:], strict=False))
        return median(entered - left for i, (left, entered) in pairs if _inside(i, burst))


def measure(queued: int) -> Decision:
    """The least of some medians over many decisions, so many trains being queued at the start."""
    return min((_medians(queued) for _ in range(REPEATS)), key=lambda decision: decision.whole)


def _medians(queued: int) -> Decision:
    trains = min(queued, TRAINS)
    engine = Engine(plan=trains_plan(trains), keep_trace=False, keep_outputs=False)
    stamps = Stamps()
    for unit in engine._program.units:
        assert unit.whole is not None
        plain = unit.whole.run
        unit.whole.run = stamps.around(plain)
    draw = Random(queued)
    rounds = max(2, SAMPLES // queued)
    found = [
        Arrival(
            number * SECOND,
            f"s{draw.randrange(trains)}",
            (number * 1_000_000 - draw.randrange(100_000), 1.0, 1),
        )
        for number in range(1, rounds + 1)
        for _ in range(queued)
    ]
    asked: list[int] = []
    result = engine.run(_asked_for(found, asked))
    assert result.kernel.decisions == len(found) == len(stamps.entered)

    nothing = Stamps()
    call = nothing.around(plain)
    only_checked: list[int] = []
    assert isinstance(result.kernel, Kernel)
    ingest = next(iter(result.kernel.ingests.values()))
    for arrival in _asked_for(found, only_checked):
        row = arrival.row
        if ingest.fits(row):
            ingest.mark(row[0])
    for arrival in found:
        call(arrival.row)
    return Decision(
        _steps(asked, queued) - _steps(only_checked, queued),
        stamps.between(queued) - nothing.between(queued),
    )


def _asked_for(arrivals: list[Arrival], asked: list[int]) -> Iterator[Arrival]:
    """The arrivals, with a stamp when each is asked for."""
    stamp = asked.append
    for arrival in arrivals:
        stamp(perf_counter_ns())
        yield arrival


def _steps(asked: list[int], burst: int) -> float:
    pairs = enumerate(pairwise(asked))
    return median(after - before for i, (before, after) in pairs if _inside(i, burst))


def _inside(place: int, burst: int) -> bool:
    """The first and last of a burst are next to something else than a decision."""
    return 0 < place % burst < burst - 1
