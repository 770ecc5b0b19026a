"""Applications take outputs while the query runs: by a callback, or by iterating.

Every subscriber has a bounded queue, and a callback a thread of its own: one that is slow or fails
delays and breaks nothing else. What does not fit its queue is dropped and counted; what a callback
raises is counted, reported with the output's name, and the callback is called again with the next
tuple.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headway.errors import InputError, Problem

if TYPE_CHECKING:
    from headway.runtime.results import OutputTuple

LOG = logging.getLogger("headway.applications")
QUEUE = 1024
"""tuples that may wait for a subscriber"""

Callback = Callable[["OutputTuple"], None]


@dataclass(slots=True)
class Failure:
    """A callback raised: which output it was given, and what it raised."""

    output: str
    error: BaseException

    def __str__(self) -> str:
        kind = type(self.error).__name__
        return f"a subscriber of output {self.output!r} raised {kind}: {self.error}"


@dataclass(slots=True, eq=False)
class Subscription:
    """One subscriber. ``taken`` tuples were given to it, ``overflowed`` ones dropped because it
    was too slow; iterate over it, unless it has a callback."""

    output: str
    callback: Callback | None = None
    size: int = QUEUE
    on_failure: Callable[[Failure], None] | None = None
    taken: int = 0
    overflowed: int = 0
    failures: list[Failure] = field(default_factory=list)
    failed: int = 0
    _queue: queue.SimpleQueue[OutputTuple | None] = field(default_factory=queue.SimpleQueue)
    _closed: bool = False
    _thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        if self.callback is not None:
            name = f"subscriber of {self.output}"
            self._thread = threading.Thread(target=self._call, name=name, daemon=True)
            self._thread.start()

    def offer(self, given: OutputTuple) -> None:
        """Never waits: this is the engine's thread."""
        if self._closed:
            return
        if self._queue.qsize() >= self.size:
            if not self.overflowed:
                LOG.warning("a subscriber of output %r is too slow: tuples dropped", self.output)
            self.overflowed += 1
        else:
            self._queue.put(given)

    def __iter__(self) -> Iterator[OutputTuple]:
        while (given := self._queue.get()) is not None:
            self.taken += 1
            yield given

    def _call(self) -> None:
        assert self.callback is not None
        for given in self:
            try:
                self.callback(given)
            except Exception as error:  # noqa: BLE001 - a subscriber may raise anything
                self._report(Failure(self.output, error))

    def _report(self, failure: Failure) -> None:
        self.failed += 1
        if len(self.failures) < self.size:
            self.failures.append(failure)
        LOG.warning("%s", failure)
        if self.on_failure is not None:
            self.on_failure(failure)

    def close(self) -> None:
        """No more tuples; those that wait are still given."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)

    def join(self, timeout: float | None = None) -> bool:
        """Waits until the callback has had all its tuples; whether it has."""
        if self._thread is None:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()


class Subscriptions:
    """The subscribers of an engine's outputs."""

    def __init__(self, outputs: Iterable[str]) -> None:
        self._by_output: dict[str, list[Subscription]] = {name: [] for name in outputs}

    def subscribe(
        self,
        output: str,
        callback: Callback | None = None,
        *,
        size: int = QUEUE,
        on_failure: Callable[[Failure], None] | None = None,
    ) -> Subscription:
        """With a callback: called for every tuple, in order, in a thread of its own. Without:
        iterate over what this returns."""
        if output not in self._by_output:
            known = ", ".join(self._by_output)
            raise InputError(Problem(f"there is no output {output!r}", want=f"one of {known}"))
        subscription = Subscription(output, callback, size, on_failure)
        self._by_output[output] = [*self._by_output[output], subscription]
        return subscription

    def publish(self, output: str, given: OutputTuple) -> None:
        for subscription in self._by_output[output]:
            subscription.offer(given)

    def close(self) -> None:
        """The run has ended."""
        for subscription in self.all():
            subscription.close()

    def all(self) -> list[Subscription]:
        return [one for listed in self._by_output.values() for one in listed]
