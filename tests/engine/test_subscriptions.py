"""Applications take outputs while the query runs; what they do harms nobody else."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from tests.engine.nodes.study import study_arrivals, study_plan
from tests.waiting import PATIENCE_S

from headway.engine.clock import ManualClock
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import OutputTuple
from headway.engine.wall_engine import CallbackFailure, Subscriptions, WallEngine
from headway.errors import InputError


def engine() -> WallEngine:
    return WallEngine(plan=study_plan(), clock=ManualClock())


def test_by_callback_and_by_iterating() -> None:
    running = engine()
    called: list[OutputTuple] = []
    by_callback = running.applications.subscribe("pairs", called.append)
    by_iterating = running.applications.subscribe("pairs")
    result = running.run(study_arrivals(50))
    assert by_callback.join(PATIENCE_S)
    assert called == list(by_iterating) == list(result.outputs["pairs"])
    assert by_callback.taken == len(called) > 0


def test_a_slow_subscriber_loses_its_own_tuples_only() -> None:
    running = engine()
    release = threading.Event()
    seen: list[OutputTuple] = []

    def slow(given: OutputTuple) -> None:
        release.wait()
        seen.append(given)

    slow_one = running.applications.subscribe("pairs", slow, size=4)
    quick = running.applications.subscribe("pairs")
    result = running.run(study_arrivals(100))  # ends although nobody has let the slow one go on
    release.set()
    assert slow_one.join(PATIENCE_S)
    expected = len(result.outputs["pairs"])
    assert len(list(quick)) == expected
    assert len(seen) + slow_one.overflowed == expected
    assert 4 <= len(seen) <= 5


def test_a_failing_callback_is_reported_by_its_output_and_called_again() -> None:
    running = engine()
    failures: list[CallbackFailure] = []
    calls = []

    def failing(given: OutputTuple) -> None:
        calls.append(given)
        raise ZeroDivisionError("no more")

    failing_one = running.applications.subscribe("both", failing, on_failure=failures.append)
    result = running.run(study_arrivals(50))
    assert failing_one.join(PATIENCE_S)
    count = len(result.outputs["both"])
    assert failing_one.failed == len(failures) == len(calls) == count > 0
    message = "a subscriber of output 'both' raised ZeroDivisionError: no more"
    assert str(failures[0]) == message


def test_an_output_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"no output 'x'; one of a, b"):
        Subscriptions(["a", "b"]).subscribe("x")
    with pytest.raises(InputError, match="no output 'x'"):
        Engine(plan=study_plan()).stream([], "x")


def test_virtual_time_as_an_iterator() -> None:
    arrivals = study_arrivals(400)
    expected = list(Engine(plan=study_plan()).run(arrivals).outputs["pairs"])
    assert list(Engine(plan=study_plan()).stream(arrivals, "pairs")) == expected
    assert len(expected) > 256, "more than a run may be ahead"


def test_a_reader_may_leave_early() -> None:
    taken = []
    for given in Engine(plan=study_plan()).stream(study_arrivals(2000), "pairs"):
        taken.append(given)
        if len(taken) == 3:
            break
    assert len(taken) == 3


def test_an_error_of_the_run_reaches_its_reader() -> None:
    def broken() -> Iterator[Arrival]:
        yield study_arrivals(1)[0]
        raise RuntimeError("the recording is broken")

    with pytest.raises(RuntimeError, match="recording is broken"):
        list(Engine(plan=study_plan()).stream(broken(), "pairs"))
