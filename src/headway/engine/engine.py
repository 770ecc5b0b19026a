"""The vehicle engine: runs a plan in virtual time under a policy, over given arrivals, as an
iterator over one output, or over a recording vehicle by vehicle."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from headway.compiler.latency.verdict import batch_budget
from headway.engine.chain_watch import ChainWatch
from headway.engine.execution_times import ExecutionTimes, vary
from headway.engine.jobs import Arrival
from headway.engine.kernel import Sink
from headway.engine.operators.implementations import build_stateful
from headway.engine.operators.operator_base import Dropped
from headway.engine.path_tasks import PathTasks
from headway.engine.program import FREE, BuildOperator, RunProgram, build_program
from headway.engine.reranking import Reranking
from headway.engine.reservations import Reservations
from headway.engine.results import (
    OutputRecord,
    OutputTuple,
    RunResult,
    SideOutput,
    VehicleRun,
    records_of,
)
from headway.engine.trace import Trace
from headway.engine.virtual_time import VirtualTime
from headway.errors import InputError
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.user_operator import Row
from headway.schedule.online import (
    ENGINE_POLICIES,
    Policy,
    ReservationPolicy,
    engine_policy_named,
)
from headway.schedule.online.policy import RerankingPolicy
from headway.schedule.overload.plan_paths import check_nodes, task_sets_of
from headway.sources.recordings import Contents, read_recording

AHEAD = 256
"""tuples that a run may be ahead of its reader"""

OutputCallback = Callable[[str, Row, int], None]
DropCallback = Callable[[Dropped, int], None]


@dataclass(kw_only=True)
class Engine:
    """One vehicle. ``charged`` off runs the query as if operators took no time: its meaning.

    ``partitioned`` gives each unit a core of its node for good; otherwise all cores of a node share
    one queue (global). ``batching`` lets waiting tuples of a train run as one for as long as every
    promise of the plan is still kept. A fresh engine is needed for each run: operators keep state.
    ``fast_path`` off takes no short cuts: the same run, operator by operator and event by event.
    ``times`` says what executions take; without it always the worst case that is declared.
    ``build`` makes the operators that keep state.
    """

    plan: Plan
    policy: str | Policy = "s-edf"
    charged: bool = True
    partitioned: bool = False
    batching: bool = False
    fast_path: bool = True
    times: ExecutionTimes | None = None
    build: BuildOperator = build_stateful
    keep_trace: bool = True
    keep_outputs: bool = True
    on_output: OutputCallback | None = None
    on_drop: DropCallback | None = None
    """takes the tuples that left their way; the result then holds none of them (a long run)"""
    _program: RunProgram = field(init=False)

    def __post_init__(self) -> None:
        chosen = engine_policy_named(self.policy) if isinstance(self.policy, str) else self.policy
        self._policy = chosen
        self._program = build_program(self.plan, chosen, charged=self.charged, build=self.build)
        if self.times is not None and self.charged:
            operators = self._program.graph.operators
            vary(self._program.units, self.times, lambda name: operators[name].cost or FREE)
        self._reserves: ReservationPolicy | None = None
        if isinstance(chosen, ReservationPolicy) and chosen.guarded and self.charged:
            self._reserves = chosen
            check_nodes(task_sets_of(self.plan))

    def run(self, arrivals: Iterable[Arrival]) -> RunResult:
        """Runs all arrivals, given in order of time, to the end."""
        outputs = records_of(self.plan.query)
        side = SideOutput()
        trace = Trace(kept=self.keep_trace)
        plain = self.keep_outputs and self.on_output is None and not self.keep_trace
        time = VirtualTime(
            self.plan,
            self._program,
            self._policy,
            sinks={name: self._sink(record) for name, record in outputs.items()},
            on_drop=self.on_drop or side.take,
            trace=trace,
            partitioned=self.partitioned,
            bulk={name: record.extend for name, record in outputs.items()} if plain else {},
            batch_budget=self._batch_budget(),
            quick=self.fast_path,
        )
        if chains := ChainWatch(self.plan):
            time.watched(chains)
        if self._reserves is not None:
            paths = PathTasks(self.plan, self._program).tables()
            Reservations(paths, time, self._reserves)
        elif isinstance(self._policy, RerankingPolicy):
            Reranking(time, self._policy)
        time.run(arrivals)
        return RunResult(outputs, side, trace, time.kernel, chains=chains.measured())

    def _batch_budget(self) -> int:
        if not self.batching:
            return 0
        if not self._policy.batches:
            able = " or ".join(name for name, one in ENGINE_POLICIES.items() if one.batches)
            raise InputError(
                f"batches need the policy {able}",
                got=self._policy.name,
                want="use that policy or no batches",
            )
        if not self.fast_path:
            raise InputError(
                "batches are a part of the fast path", want="leave it on, or no batches"
            )
        return batch_budget(self.plan)

    def stream(self, arrivals: Iterable[Arrival], output: str) -> Iterator[OutputTuple]:
        """The tuples of one output in order, as the run goes on."""
        deadlines = {one.name: one.deadline or 0 for one in self.plan.query.outputs}
        if output not in deadlines:
            known = ", ".join(deadlines)
            raise InputError(f"there is no output {output!r}", want=f"one of {known}")
        handover = Handover(output, deadlines[output])
        follow = self.on_output

        def take(name: str, row: Row, completed: int) -> None:
            if follow is not None:
                follow(name, row, completed)
            handover.take(name, row, completed)

        self.on_output = take
        return handover.read(lambda: self.run(arrivals))

    def _sink(self, record: OutputRecord) -> Sink:
        follow, name = self.on_output, record.name
        add_row, add_time = record.rows.append, record.completed.append

        def keep(row: Row, completed: int) -> None:
            add_row(row)
            add_time(completed)

        def tell(row: Row, completed: int) -> None:
            if self.keep_outputs:
                keep(row, completed)
            if follow is not None:
                follow(name, row, completed)

        return keep if follow is None and self.keep_outputs else tell


# -------------------------------------------------------------------- one output, tuple by tuple


class _Enough(BaseException):
    """The reader has gone; no handler of ordinary errors may catch this."""


class Handover:
    """Between the thread of a run and the reader of one of its outputs. Virtual time stands still
    while the reader is slow, so nothing is lost and the order is that of the run."""

    def __init__(self, output: str, deadline: int) -> None:
        self._output, self._deadline = output, deadline
        self._queue: queue.Queue[OutputTuple | BaseException | None] = queue.Queue(AHEAD)
        self._gone = threading.Event()

    def take(self, output: str, row: Row, completed: int) -> None:
        """For the engine's ``on_output``."""
        if output == self._output:
            self._put(OutputTuple(row, completed, row[0] * MICROSECOND + self._deadline))

    def _put(self, given: OutputTuple | BaseException | None) -> None:
        while not self._gone.is_set():
            try:
                self._queue.put(given, timeout=0.1)
                return
            except queue.Full:
                pass
        raise _Enough

    def read(self, run: Callable[[], object]) -> Iterator[OutputTuple]:
        """Runs, and yields what comes; an error of the run is raised here."""

        def work() -> None:
            try:
                try:
                    run()
                except Exception as error:  # noqa: BLE001 - handed over to the reader
                    self._put(error)
                self._put(None)
            except _Enough:
                pass

        thread = threading.Thread(target=work, name=f"run for {self._output}", daemon=True)
        thread.start()
        try:
            while (given := self._queue.get()) is not None:
                if isinstance(given, BaseException):
                    raise given
                yield given
        finally:
            self._gone.set()
            thread.join()


# -------------------------------------------------------------------- recordings


class Runs(Protocol):
    """An engine, in virtual or wall-clock time."""

    def run(self, arrivals: Iterable[Arrival]) -> RunResult: ...


def replay(
    plan: Plan,
    folder: Path,
    contents: Contents,
    make_engine: Callable[[], Runs],
    on_tuple: Callable[[], None] = lambda: None,
) -> Iterator[VehicleRun]:
    """``make_engine`` gives a fresh engine for each vehicle; ``on_tuple`` is called for each tuple
    that arrives."""
    for vehicle in contents.vehicles:
        yield VehicleRun(vehicle, make_engine().run(_arrivals(plan, folder, vehicle, on_tuple)))


def _arrivals(
    plan: Plan, folder: Path, vehicle: str | None, on_tuple: Callable[[], None]
) -> Iterator[Arrival]:
    for arrived_at, source, row, _ in read_recording(folder, plan.query.sources, vehicle):
        on_tuple()
        yield Arrival(arrived_at * MICROSECOND, source, row)
