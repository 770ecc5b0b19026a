"""The vehicle engine in wall-clock time, in one process: replayed recordings or live input.

All nodes of the plan run here; what would cross a bus is handed over at once. For a process per
node see :mod:`headway.runtime.distributed`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from headway.errors import InputError, Problem
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.runtime.application import Subscriptions
from headway.runtime.clock import Clock, MonotonicClock, Pace
from headway.runtime.engine import RunResult
from headway.runtime.happenings import Arrival
from headway.runtime.keeping_up import Behind, KeepingUp
from headway.runtime.operators.base import Row
from headway.runtime.program import build_program
from headway.runtime.results import OutputRecord, OutputTuple, SideOutput, records_of
from headway.runtime.trace import Trace
from headway.runtime.wall import WallKernel
from headway.runtime.wall_jobs import apart
from headway.runtime.wires import Sink
from headway.schedule.online import Policy, policy_named


@dataclass(kw_only=True)
class WallEngine:
    """One vehicle, one run. ``speed`` replays faster or slower than recorded; ``epoch`` is the
    engine's time (ns) when it starts: that of the first arrival, or of the world if all is live.

    ``live`` sources are fed with :meth:`feed` from any thread until they are closed. An arrival
    taken in later than ``tolerance``, or a queue longer than ``backlog``, is a warning in the log,
    an event in the trace, a count in :attr:`keeping_up` and a call of ``on_behind``.
    """

    plan: Plan
    policy: str | Policy = "s-edf"
    clock: Clock = field(default_factory=MonotonicClock)
    speed: float = 1.0
    epoch: int | None = None
    live: frozenset[str] = frozenset()
    tolerance: int = 10 * MILLISECOND
    backlog: int = 1000
    on_behind: Callable[[Behind], None] | None = None
    keep_trace: bool = True
    keep_outputs: bool = True

    def __post_init__(self) -> None:
        known = [source.name for source in self.plan.query.sources]
        if unknown := sorted(self.live.difference(known)):
            raise InputError(
                Problem("no such source", at=unknown[0], want=f"one of {', '.join(known)}")
            )
        chosen = policy_named(self.policy) if isinstance(self.policy, str) else self.policy
        self._policy = chosen
        self._program = build_program(self.plan, chosen, apart=apart(self.plan))
        self._kernel: WallKernel | None = None
        self._started = threading.Event()
        self.keeping_up = KeepingUp(
            tolerance=self.tolerance, backlog=self.backlog, on_behind=self.on_behind
        )
        self.applications = Subscriptions(output.name for output in self.plan.query.outputs)

    def run(self, arrivals: Iterable[Arrival] = ()) -> RunResult:
        """Replays the arrivals at their pace; returns when they and the live sources have ended
        and nothing is left to do."""
        rest = iter(arrivals)
        first = next(rest, None)
        if first is not None:
            rest = chain((first,), rest)
        epoch = self.epoch
        if epoch is None:
            epoch = time.time_ns() if first is None else first.time
        outputs = records_of(self.plan.query)
        side = SideOutput()
        trace = Trace(kept=self.keep_trace)
        kernel = WallKernel(
            self.plan,
            self._program,
            self._policy,
            pace=Pace(self.clock, epoch, self.clock.now(), self.speed),
            sinks={name: self._sink(record) for name, record in outputs.items()},
            on_drop=side.take,
            trace=trace,
            keeping_up=self.keeping_up,
            live=self.live,
        )
        self._kernel = kernel
        self._started.set()
        try:
            kernel.run(rest)
        finally:
            self.applications.close()
        return RunResult(outputs, side, trace, kernel)

    def _sink(self, record: OutputRecord) -> Sink:
        name, deadline, publish = record.name, record.relative_deadline, self.applications.publish

        def take(row: Row, completed: int) -> None:
            if self.keep_outputs:
                record.rows.append(row)
                record.completed.append(completed)
            publish(name, OutputTuple(row, completed, row[0] * MICROSECOND + deadline))

        return take

    def feed(self, source: str, row: Any) -> None:
        """A tuple of a live source, now; waits until the engine has started."""
        self._running(source).feed(source, row)

    def close(self, source: str | None = None) -> None:
        """Nothing more comes from the source, or from any live one."""
        for name in sorted(self.live) if source is None else [source]:
            self._running(name).close(name)

    def _running(self, source: str) -> WallKernel:
        if source not in self.live:
            raise InputError(Problem(f"{source!r} is not a live source", want="name it in live="))
        self._started.wait()
        assert self._kernel is not None
        return self._kernel
