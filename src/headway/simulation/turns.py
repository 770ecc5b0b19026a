"""One process, one thread, one seed: simulated time, and tasks of which one runs at a time.

A task is what would be a thread: it runs until it waits (for a time, an event, a socket), then the
seed chooses which of those that could go on does. Time passes only when none can. Each task has a
stack of its own (a greenlet), so the code that runs in it need not know.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Protocol

from headway.errors import EnvironmentMissing

if TYPE_CHECKING:
    import threading

MOST_AT_ONCE = 200_000
"""turns and events at one instant; more mean that nobody waits for anything any more"""


class Halted(BaseException):
    """The process that this task belongs to is no more."""


class Stuck(Exception):
    """Simulated time does not pass, or passes and nothing comes to an end."""


class TaskOwner(Protocol):
    """Whose tasks do not run while it is ``paused``."""

    paused: bool
    held: list[SimulatedTask]


class SimulatedTask:
    """Ready, waiting, running or over."""

    def __init__(self, turns: Turns, name: str, owner: TaskOwner, run: Callable[[], None]) -> None:
        self.name, self.owner, self._run = name, owner, run
        self.over = False
        self.waiting = False
        self.wait_number = 0
        self.event: threading.Event | None = None
        self.joined: list[SimulatedTask] = []
        self.error: BaseException | None = None
        self.stack = turns.new_stack(self._body)
        self._turns = turns

    def _body(self) -> None:
        try:
            self._run()
        except Halted:
            pass
        except BaseException as error:  # noqa: BLE001 - a thread ends with any of them
            self.error = error
        self.over = True
        for other in self.joined:
            self._turns.wake(other)

    def kill(self) -> None:
        """Unwinds it, from outside any task; what it still tries on its machine is refused
        there."""
        while not self.over and self.stack:
            self.stack.throw(Halted())
        self.over, self.waiting, self.event = True, False, None


class Turns:
    """``now`` is simulated time in nanoseconds. ``random`` decides whatever is open."""

    def __init__(self, seed: str, *, keep_trace: bool = False) -> None:
        self.now = 0
        self.random = random.Random(seed)
        self.new_stack, self._hub = _stacks()
        self.current: SimulatedTask | None = None
        self._ready: list[SimulatedTask] = []
        self._waiting_for_events: dict[SimulatedTask, None] = {}
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._doomed: list[SimulatedTask] = []
        self._number = 0
        self._hash = hashlib.sha256(seed.encode())
        self.trace: list[tuple[int, str, str]] | None = [] if keep_trace else None
        """(time, where, what)"""

    # ---------------------------------------------------------------- what happened

    def note(self, where: str, what: str) -> None:
        """Something that a second run with this seed must repeat, byte for byte."""
        self._hash.update(f"{self.now} {where} {what}\n".encode())
        if self.trace is not None:
            self.trace.append((self.now, where, what))

    @property
    def trace_hash(self) -> str:
        return self._hash.hexdigest()

    # ---------------------------------------------------------------- for the world

    def at(self, time: int, call: Callable[[], None]) -> None:
        self._number += 1
        heappush(self._events, (max(time, self.now), self._number, call))

    def spawn(self, name: str, owner: TaskOwner, run: Callable[[], None]) -> SimulatedTask:
        task = SimulatedTask(self, name, owner, run)
        task.waiting = True
        self.wake(task)
        return task

    def wake(self, task: SimulatedTask) -> None:
        if not task.waiting or task.over:
            return
        task.waiting = False
        if task.event is not None:
            task.event = None
            self._waiting_for_events.pop(task, None)
        (task.owner.held if task.owner.paused else self._ready).append(task)

    def doom(self, tasks: list[SimulatedTask]) -> None:
        """Their process has ended."""
        self._doomed += tasks

    def resume(self, owner: TaskOwner) -> None:
        """It is no longer paused."""
        owner.paused = False
        self._ready += owner.held
        owner.held.clear()

    def run(self, done: Callable[[], bool], until: int) -> None:
        """Until all is done; Stuck when that is not so by ``until``."""
        instant, at_once = -1, 0
        while not done():
            if self._ready:
                ready = self._ready
                place = self.random.randrange(len(ready)) if len(ready) > 1 else 0
                task = ready.pop(place)
                if not task.over:
                    self.current = task
                    task.stack.switch()
                    self.current = None
            elif self._events:
                time, _, call = heappop(self._events)
                if time > until:
                    raise Stuck(f"not at an end after {time / 1e9:.1f} s")
                self.now = time
                call()
            else:
                raise Stuck("all wait, and nothing can happen any more")
            while self._doomed:
                doomed = self._doomed.pop()
                self._waiting_for_events.pop(doomed, None)
                doomed.kill()
            if self._waiting_for_events:
                for waiting in [
                    one for one in self._waiting_for_events if one.event and one.event.is_set()
                ]:
                    self.wake(waiting)
            at_once = at_once + 1 if self.now == instant else 0
            instant = self.now
            if at_once > MOST_AT_ONCE:
                raise Stuck("no time passes: somebody turns in circles")

    # ---------------------------------------------------------------- for the running task

    def wait(self, until: int | None, event: threading.Event | None = None) -> None:
        """Until then, or until woken, or until the event is set."""
        task = self.current
        assert task is not None
        task.waiting = True
        task.wait_number += 1
        if event is not None:
            task.event = event
            self._waiting_for_events[task] = None
        if until is not None:
            number = task.wait_number
            self.at(until, lambda: self._time_out(task, number))
        self._switch()

    def _switch(self) -> None:
        self._hub.switch()

    def _time_out(self, task: SimulatedTask, number: int) -> None:
        if task.wait_number == number:
            self.wake(task)


def _stacks() -> tuple[Callable[[Callable[[], None]], Any], Any]:
    """What makes a stack, and the one that this function is called on."""
    try:
        from greenlet import getcurrent, greenlet
    except ImportError:
        raise EnvironmentMissing(
            "Simulating nodes needs greenlet. Install it with: pip install 'headway[simulation]'"
        ) from None
    hub = getcurrent()
    return lambda run: greenlet(run, hub), hub
