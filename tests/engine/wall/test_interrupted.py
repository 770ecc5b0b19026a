"""A run that is interrupted ends at the border of an operator and tells what it did not finish."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

from tests.engine.wall.taking_time import CLOCK
from tests.engine.wall.test_items import FIVE, plan_of
from tests.engine.wall.test_items import at as items_at
from tests.engine.wall.test_wall import at, two_trains

from headway.engine.clock import ManualClock
from headway.engine.jobs import Arrival, Lost
from headway.engine.wall_engine import WallEngine
from headway.errors import HeadwayError


def test_from_another_thread_while_it_waits_for_live_tuples() -> None:
    engine = WallEngine(plan=two_trains(), clock=ManualClock(), live=frozenset({"a", "b"}))
    seen = threading.Event()
    engine.applications.subscribe("soon", lambda _: seen.set())

    def interrupt() -> None:
        engine.feed("b", (0, 1.0))
        seen.wait()
        engine.interrupt()

    other = threading.Thread(target=interrupt)
    other.start()
    result = engine.run()
    other.join()
    assert result.lost == Lost(0, 0, 0, 0)
    assert len(result.outputs["soon"]) == 1


def test_in_the_middle_of_a_train() -> None:
    """What comes while `first` runs is taken in before it stops; `second` does not run."""
    engine = WallEngine(plan=two_trains(), clock=CLOCK)

    def arrivals() -> Iterator[Arrival]:
        yield at(0, "a")
        yield at(3, "b")
        engine.interrupt()  # when the one after `b` is asked for, at 10
        yield at(4, "b")
        yield at(50, "b")

    result = engine.run(arrivals())
    assert result.lost == Lost(waiting=3, gathered=0, groups=0, fed=0)
    assert [len(record) for record in result.outputs.values()] == [0, 0]
    assert result.summary().arrived == 3


def test_what_was_gathered_counts_by_tuples() -> None:
    engine = WallEngine(plan=plan_of(), clock=CLOCK)

    def arrivals() -> Iterator[Arrival]:
        yield from FIVE
        yield items_at(6.2, "many")
        engine.interrupt()
        yield items_at(60, "many")

    lost = engine.run(arrivals()).lost
    assert lost == Lost(waiting=5, gathered=1, groups=0, fed=0)


class SignallingClock(ManualClock):
    """Sends its own process a signal when somebody begins to wait."""

    def wait(self, until: int, wake: threading.Event) -> None:
        signal.raise_signal(signal.SIGUSR1)
        raise HeadwayError("it went on waiting")


def test_the_handler_of_a_signal_while_it_waits() -> None:
    engine = WallEngine(plan=two_trains(), clock=SignallingClock(), live=frozenset({"a", "b"}))
    before = signal.signal(signal.SIGUSR1, lambda *_: engine.interrupt())
    try:
        assert engine.run().lost == Lost(0, 0, 0, 0)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_before_it_has_begun() -> None:
    engine = WallEngine(plan=two_trains(), clock=CLOCK)
    engine.interrupt()
    result = engine.run([at(0, "a")])
    assert result.summary().arrived == 0
    assert result.lost is not None
