"""A query that failed is started again, later each time; what went well for long has healed."""

from __future__ import annotations

from typing import Any

import pytest

from headway.errors import HeadwayError
from headway.spark.session.restarts import (
    GOOD_BATCHES,
    LONGEST_WAIT_S,
    MOST_RESTARTS,
    Restarts,
)
from headway.spark.session.spark_failures import passes
from headway.spark.streams.stream_run import StreamRun

LOST = "SparkException: ExecutorLostFailure (executor 1 exited)"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def waited(restarts: Restarts, clock: Clock, batches: int = 0) -> float | None:
    """Fails, waits and is started; how long that took, or None where it is given up."""
    if not restarts.failed(LOST):
        return None
    began = clock.now
    while not restarts.is_due:
        assert restarts.failed("asked again meanwhile"), "it waits"
        clock.now += 0.5
    restarts.started(batches)
    return clock.now - began


def test_what_may_pass_is_tried_again() -> None:
    assert passes("java.io.OptionalDataException")
    assert passes("SparkException: Python worker failed to connect back.")
    assert not passes("No space left on device")
    assert not Restarts(Clock()).failed("No space left on device")


def test_later_each_time_and_not_for_ever() -> None:
    clock = Clock()
    restarts = Restarts(clock)
    waits = [waited(restarts, clock) for _ in range(MOST_RESTARTS + 1)]
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, None]
    assert restarts.total == MOST_RESTARTS
    restarts.in_a_row = 50
    assert restarts.wait_s == LONGEST_WAIT_S


def test_good_batches_heal() -> None:
    clock = Clock()
    restarts = Restarts(clock)
    batches = 7
    for _ in range(3 * MOST_RESTARTS):
        assert waited(restarts, clock, batches) == 1.0
        batches += GOOD_BATCHES - 1
        restarts.note(batches)
        assert restarts.in_a_row == 1, "not yet"
        batches += 1
        restarts.note(batches)
        assert restarts.in_a_row == 0
    assert restarts.total == 3 * MOST_RESTARTS


# -------------------------------------------------------------------- in a run


class Failed:
    """A streaming query that ended by an error."""

    isActive = False  # noqa: N815 - Spark's name

    def __init__(self, error: str) -> None:
        self._error = error

    def exception(self) -> Exception:
        return RuntimeError(self._error)


class Group:
    """One that fails whenever it is started."""

    def __init__(self, error: str) -> None:
        self.query, self.batches, self.starts = Failed(error), 3, 0

    def start(self, spark: object) -> None:
        self.starts += 1


def watched(group: Group, restarts: Restarts) -> bool:
    run: Any = StreamRun.__new__(StreamRun)
    run._spark = None
    still: bool = run._still_runs(group, restarts)
    return still


def test_a_run_waits_before_it_starts_a_query_again_and_gives_up_at_last() -> None:
    clock, group = Clock(), Group(LOST)
    restarts = Restarts(clock)
    for number in range(MOST_RESTARTS):
        assert watched(group, restarts)
        assert group.starts == number, "it waits"
        clock.now += 2.0**number
        assert watched(group, restarts)
        assert group.starts == number + 1
    with pytest.raises(HeadwayError, match="ExecutorLostFailure"):
        watched(group, restarts)
    assert restarts.total == MOST_RESTARTS


def test_a_run_does_not_repeat_what_cannot_work() -> None:
    group = Group("No space left on device")
    with pytest.raises(HeadwayError, match="is full"):
        watched(group, Restarts(Clock()))
    assert group.starts == 0
