"""The vehicle engine: runs a plan in virtual time under a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from headway.compiler.latency.verdict import batch_budget
from headway.errors import InputError, Problem
from headway.model.plan import Plan
from headway.runtime.core import Core
from headway.runtime.iterating import Handover
from headway.runtime.kernel import Arrival, Kernel
from headway.runtime.operators.base import DropKind, Dropped, Row
from headway.runtime.program import build_program
from headway.runtime.reranking_kernel import RerankingKernel
from headway.runtime.reserving.kernel import ReservingKernel
from headway.runtime.results import OutputRecord, OutputTuple, SideOutput, Summary, records_of
from headway.runtime.trace import Trace
from headway.runtime.units import Program
from headway.runtime.wires import Sink
from headway.schedule.online import ENGINE_POLICIES, Policy, engine_policy_named
from headway.schedule.online.policy import RerankingPolicy
from headway.schedule.overload.plan_paths import check_nodes, task_sets_of

OutputCallback = Callable[[str, Row, int], None]
DropCallback = Callable[[Dropped, int], None]


@dataclass(slots=True)
class RunResult:
    """Outputs by name, dropped tuples, the trace and the counts of a finished run."""

    outputs: dict[str, OutputRecord]
    side: SideOutput
    trace: Trace
    kernel: Core

    def summary(self) -> Summary:
        kernel = self.kernel
        return Summary(
            outputs=tuple(record.summary() for record in self.outputs.values()),
            arrived=kernel.arrived,
            shed=self.side.count(DropKind.SHED),
            late=self.side.count(DropKind.LATE),
            rejected=self.side.count(DropKind.REJECTED),
            failed=self.side.count(DropKind.FAILED),
            refused=kernel.refused,
            decisions=kernel.decisions,
            preemptions=kernel.preemptions,
            timeouts=kernel.timeouts,
            end=kernel.now,
        )


@dataclass(kw_only=True)
class Engine:
    """One vehicle. ``charged`` off runs the query as if operators took no time: its meaning.

    ``partitioned`` gives each unit a core of its node for good; otherwise all cores of a node share
    one queue (global). ``batching`` lets waiting tuples of a train run as one for as long as every
    promise of the plan is still kept. A fresh engine is needed for each run: operators keep state.
    """

    plan: Plan
    policy: str | Policy = "s-edf"
    charged: bool = True
    partitioned: bool = False
    batching: bool = False
    keep_trace: bool = True
    keep_outputs: bool = True
    on_output: OutputCallback | None = None
    on_drop: DropCallback | None = None
    """takes the tuples that left their way; the result then holds none of them (a long run)"""
    _program: Program = field(init=False)

    def __post_init__(self) -> None:
        chosen = engine_policy_named(self.policy) if isinstance(self.policy, str) else self.policy
        self._policy = chosen
        self._program = build_program(self.plan, chosen, charged=self.charged)
        self._reserves = chosen.guarded and self.charged
        if self._reserves:
            check_nodes(task_sets_of(self.plan))

    def run(self, arrivals: Iterable[Arrival]) -> RunResult:
        """Runs all arrivals, given in order of time, to the end."""
        outputs = records_of(self.plan.query)
        side = SideOutput()
        trace = Trace(kept=self.keep_trace)
        plain = self.keep_outputs and self.on_output is None and not self.keep_trace
        kernel = self._kernel_kind()(
            self.plan,
            self._program,
            self._policy,
            sinks={name: self._sink(record) for name, record in outputs.items()},
            on_drop=self.on_drop or side.take,
            trace=trace,
            partitioned=self.partitioned,
            bulk={name: record.extend for name, record in outputs.items()} if plain else {},
            batch_budget=self._batch_budget(),
        )
        kernel.run(arrivals)
        return RunResult(outputs, side, trace, kernel)

    def _kernel_kind(self) -> type[Kernel]:
        if self._reserves:
            return ReservingKernel
        return RerankingKernel if isinstance(self._policy, RerankingPolicy) else Kernel

    def _batch_budget(self) -> int:
        if not self.batching:
            return 0
        if not self._policy.batches:
            able = " or ".join(name for name, one in ENGINE_POLICIES.items() if one.batches)
            raise InputError(
                Problem(
                    f"batches need the policy {able}",
                    got=self._policy.name,
                    want="use that policy or no batches",
                )
            )
        return batch_budget(self.plan)

    def stream(self, arrivals: Iterable[Arrival], output: str) -> Iterator[OutputTuple]:
        """The tuples of one output in order, as the run goes on."""
        deadlines = {one.name: one.deadline or 0 for one in self.plan.query.outputs}
        if output not in deadlines:
            known = ", ".join(deadlines)
            raise InputError(Problem(f"there is no output {output!r}", want=f"one of {known}"))
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
