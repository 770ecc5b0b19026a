"""The meaning of a query, tuple by tuple: the run in which nothing takes time, and which can stop
after any tuple and go on elsewhere.

This is the vehicle engine without costs (``Engine(charged=False)``), turned inside out: its owner
brings the arrivals one by one, in order, and takes the results. All state is plain data between
two arrivals, so Spark can run it over pieces of a recording or of a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from headway.compiler.node_queries import on_one_node
from headway.engine.jobs import NEVER, ReadyJob, TimedCall
from headway.engine.kernel import Kernel, Outlet, Sink
from headway.engine.kernel_state import kernel_state, restore_kernel
from headway.engine.operators.operator_base import Dropped
from headway.engine.program import assemble, tasks_for
from headway.engine.trace import Trace
from headway.model.plan import Plan
from headway.model.user_operator import Row, State
from headway.schedule.online.s_edf import StreamEdf


class StepResult(NamedTuple):
    """A tuple of an output: the output's place in the query, the row, whether it is marked late,
    and when it appeared (ns)."""

    output: int
    row: Row
    late: bool
    at: int


class Stepwise:
    """One vehicle. ``results`` and ``dropped`` collect until the owner takes them.

    ``watched``: streams whose marks somebody outside asks for, because joins or windows follow.
    """

    def __init__(self, plan: Plan, watched: Collection[str] = ()) -> None:
        plan = on_one_node(plan)
        policy = StreamEdf()
        tasks, order = tasks_for(plan, policy)
        self.results: list[StepResult] = []
        self.dropped: list[tuple[int, Dropped]] = []
        self._events: list[TimedCall] = []
        self._program = assemble(plan, policy, tasks, order, charged=False, leaving=watched)
        self._kernel = Kernel(
            plan,
            self._program,
            self,
            sinks={
                output.name: self._sink(place) for place, output in enumerate(plan.query.outputs)
            },
            on_drop=lambda dropped, now: self.dropped.append((now, dropped)),
            trace=Trace(kept=False),
            watched=False,  # the times are those of a recording or a stream, not of a vehicle
        )
        self.now = -NEVER  # recordings may begin before 1970
        self._blank = self.snapshot()

    def _sink(self, place: int) -> Sink:
        def keep(row: Row, completed: int) -> None:
            self.results.append(StepResult(place, row, self._kernel.late, completed))

        return keep

    # ---------------------------------------------------------------- time

    @property
    def now(self) -> int:
        """The time of the last arrival or timer (ns)."""
        return self._kernel.now

    @now.setter
    def now(self, time: int) -> None:
        self._kernel.now = time

    def take(self, time: int, source: str, row: Any) -> None:
        """A tuple arrives (ns); timers before it go first. One that should have come earlier
        arrives now."""
        self.run_until(time)
        kernel = self._kernel
        if time > kernel.now:
            kernel.now = time
        kernel.arrived += 1
        kernel.arrive(source, row)

    def arrive(self, source: str, row: Any) -> None:
        """A tuple arrives now; no timer runs."""
        self._kernel.arrive(source, row)

    def run_until(self, time: int) -> None:
        """Timers that are over before that time: nothing else comes before it."""
        events, kernel = self._events, self._kernel
        while events and events[0][0] < time:
            kernel.now, _, _, function, argument = heappop(events)
            function(argument)

    @property
    def next_timer(self) -> int:
        """When the next timer is over (ns); NEVER if none runs."""
        return self._events[0][0] if self._events else NEVER

    def finish(self) -> None:
        """The input has ended: all timers run out and all windows close."""
        self.run_until(NEVER)
        for unit, aggregate in self._program.windows.aggregates:
            self._kernel.emit_windows(unit, aggregate, aggregate.finish())
            self.run_until(NEVER)

    def take_results(self) -> list[StepResult]:
        taken, self.results = self.results, []
        return taken

    def take_dropped(self) -> list[tuple[int, Dropped]]:
        """What left its way, and when (ns)."""
        taken, self.dropped = self.dropped, []
        return taken

    # ---------------------------------------------------------------- for the kernel

    def at(self, time: int, kind: int, function: Callable[[Any], None], argument: Any) -> None:
        self._kernel.number += 1
        heappush(self._events, (time, kind, self._kernel.number, function, argument))

    def queue(self, job: ReadyJob) -> None:
        raise AssertionError("nothing costs anything here")

    def send(self, outlet: Outlet, row: Row, root: int, late: bool) -> None:
        raise AssertionError("there is one node only")

    # ---------------------------------------------------------------- state

    def snapshot(self) -> State:
        """All that the future depends on, as JSON-able data (between two arrivals)."""
        return kernel_state(self._kernel, self._events)

    def restore(self, state: State | None) -> None:
        """Takes up a state that :meth:`snapshot` gave; None: the beginning."""
        self._events = restore_kernel(self._kernel, self._blank if state is None else state)
        heapify(self._events)
        self.results, self.dropped = [], []
