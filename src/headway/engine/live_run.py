"""A run in wall-clock time, watched: its numbers, twice a second, in its output folder.

The run's own thread only lays down when each tuple of an output was sensed and completed, and
counts those that left their way. All else a thread of its own does, which reads counters off the
kernel that may be a tuple apart from each other at that moment.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path

from headway.engine.clock import Behind
from headway.engine.declared_loads import DeclaredLoads
from headway.engine.live_state import (
    EVERY_S,
    LiveMedium,
    LiveNode,
    LiveOperator,
    LiveState,
    LiveWriter,
    RecentEvents,
    RecentLatencies,
    live_outputs,
    waiting_by_operator,
)
from headway.engine.operator_counts import counts_of_kernel
from headway.engine.operators.operator_base import Dropped
from headway.engine.wall_time import WallTime
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND


class LiveRun(LiveWriter):
    def __init__(self, plan: Plan, folder: Path, *, every: float = EVERY_S) -> None:
        super().__init__(plan, folder, every)
        self.events = RecentEvents()
        self._latencies = {output.name: RecentLatencies() for output in plan.query.outputs}
        self._taps: dict[str, deque[tuple[int, int]]] = {name: deque() for name in self._latencies}
        self._deadlines = {output.name: output.deadline or 0 for output in plan.query.outputs}
        self._dropped: Counter[tuple[str, str]] = Counter()
        self._time: WallTime | None = None
        self._began = time.monotonic_ns()
        self._loads = DeclaredLoads(plan)

    # ---------------------------------------------------------------- the run's own thread

    def begins(self, run: WallTime) -> None:
        """A vehicle's engine starts."""
        self._time = run
        self.event("run", "an engine starts")

    def tap(self, output: str) -> Callable[[tuple[int, int]], None]:
        """To be called with the sensing time (us) and the completion (ns) of each tuple."""
        return self._taps[output].append

    def dropped(self, one: Dropped) -> None:
        self._dropped[one.where, one.kind] += 1

    def behind(self, behind: Behind) -> None:
        self.event("run", str(behind))

    def event(self, where: str, what: str) -> None:
        self.events.add(time.monotonic_ns() - self._began, where, what)

    # ---------------------------------------------------------------- its watcher

    def state(self) -> LiveState:
        self._drain()
        passed = time.monotonic_ns() - self._began
        time_now = self._time
        outputs = live_outputs(self.plan, self._latencies)
        if time_now is None:
            return LiveState(
                query=self.plan.query.name, vehicle=self.plan.vehicle.name, engine="wall clock",
                running=True, passed=passed, outputs=outputs, events=self.events.all(),
            )  # fmt: skip
        kernel = time_now.kernel
        counts = counts_of_kernel(kernel, self._dropped, running=True)
        waiting = waiting_by_operator(time_now.waiting_heads())
        placement = dict(self.plan.placement)
        nodes, media = self._loads.look(kernel.program, counts, passed)
        by_node = Counter[str]()
        for head, number in waiting.items():
            by_node[placement[head]] += number
        return LiveState(
            query=self.plan.query.name,
            vehicle=self.plan.vehicle.name,
            engine="wall clock",
            running=True,
            passed=passed,
            outputs=outputs,
            operators=tuple(
                LiveOperator(
                    operator=one.operator,
                    node=placement[one.operator],
                    taken=one.consumed,
                    given=one.produced,
                    late=one.late,
                    shed=one.shed + one.rejected,
                    failed=one.failed,
                    waiting=waiting.get(one.operator, 0),
                )
                for one in counts
            ),
            nodes=tuple(
                LiveNode(node=name, state="running", load=load, waiting=by_node[name])
                for name, load in nodes.items()
            ),
            media=tuple(LiveMedium(medium=name, load=load) for name, load in media.items()),
            events=self.events.all(),
            counts={
                "decisions": kernel.decisions,
                "preemptions": kernel.preemptions,
                "timeouts": kernel.timeouts,
                "refused": kernel.refused,
                "late arrivals": time_now.keeping_up.late_arrivals,
            },
        )

    def _drain(self) -> None:
        for name, tap in self._taps.items():
            note, deadline = self._latencies[name].note, self._deadlines[name]
            while tap:
                sensed, completed = tap.popleft()
                latency = completed - sensed * MICROSECOND
                note(latency, missed=latency > deadline)
