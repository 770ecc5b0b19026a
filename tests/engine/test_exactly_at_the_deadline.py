"""A result completed exactly at its deadline is in time; a nanosecond later it is a miss."""

from __future__ import annotations

import pytest
from tests.compiler.build import one_node, query_of
from tests.engine.support import compiled, run

from headway.engine.jobs import Arrival
from headway.engine.results import OutputSummary, RunResult, weighted_miss_ratio
from headway.engine.trace import EventKind
from headway.model.plan import Promise
from headway.model.quantities import MILLISECOND

MS = MILLISECOND


def outcome(deadline: int, fast_path: bool, keep_trace: bool) -> tuple[RunResult, Promise]:
    """Three tuples, each done 3 ms after it was sensed."""
    query = query_of([("s", "a"), ("a", "out")], {"out": deadline}, costs={"a": 3 * MS})
    plan = compiled(query, one_node(query))
    given = [Arrival(100 * n * MS, "s", (100_000 * n, 1.0)) for n in range(3)]
    assert plan.verdict is not None
    (promise,) = plan.verdict.promises
    return run(plan, given, fast_path=fast_path, keep_trace=keep_trace), promise


@pytest.mark.parametrize("fast_path", [False, True])
@pytest.mark.parametrize(("spare", "misses"), [(1, 0), (0, 0), (-1, 3)])
def test_what_counts_as_a_miss(spare: int, misses: int, fast_path: bool) -> None:
    result, promise = outcome(3 * MS + spare, fast_path, keep_trace=True)
    (output,) = result.summary().outputs
    assert (output.tuples, output.misses) == (3, misses)
    assert output.miss_ratio == misses / 3
    assert output.latency_max == 3 * MS
    noted = [event for event in result.trace.events if event[0] == EventKind.MISS]
    assert len(noted) == misses
    assert promise.bound == 3 * MS
    assert promise.kept is (misses == 0)
    unwatched, _ = outcome(3 * MS + spare, fast_path, keep_trace=False)
    assert unwatched.summary().outputs[0].misses == misses


@pytest.mark.parametrize("fast_path", [False, True])
def test_every_event_of_a_late_tuple_by_value(fast_path: bool) -> None:
    result, _ = outcome(3 * MS - 1, fast_path, keep_trace=True)
    end = 3 * MS
    assert result.trace.events[:3] == [
        (EventKind.RUN, 0, end, "ecu", "ecu", "T1", 1, 0, 1),
        (EventKind.OUTPUT, end, end, "ecu", "", "out", 0, 0, 0),
        (EventKind.MISS, end, end, "ecu", "", "out", 0, 0, 0),
    ]


def output(tuples: int, misses: int, weight: float) -> OutputSummary:
    return OutputSummary(
        output="o",
        tuples=tuples,
        misses=misses,
        deadline=MS,
        hard=False,
        weight=weight,
        latency_median=0,
        latency_99=0,
        latency_max=0,
    )


def test_the_value_of_a_miss_ratio() -> None:
    assert output(12, 3, 1.0).miss_ratio == 0.25
    assert output(0, 0, 1.0).miss_ratio == 0.0
    # (2 * 1/4 + 6 * 1/2) / (2 + 6); an output without a tuple does not count
    found = weighted_miss_ratio([output(12, 3, 2.0), output(2, 1, 6.0), output(0, 0, 100.0)])
    assert found == 0.4375
    assert weighted_miss_ratio([output(0, 0, 1.0)]) == 0.0
