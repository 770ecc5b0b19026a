"""The virtual-time kernel under a policy whose keys change: operator by operator, keys looked at
again in between."""

from __future__ import annotations

from heapq import heappop
from typing import Any

from headway.model.plan import Plan
from headway.runtime.kernel import Kernel
from headway.runtime.operators.base import Row
from headway.runtime.processor import Processor, Ready
from headway.runtime.reranking import CountedSlots, rank_of, rerank
from headway.runtime.trace import EventKind
from headway.runtime.units import Flight, Program, Unit
from headway.schedule.online.policy import Policy, RerankingPolicy


class RerankingKernel(Kernel):
    """Runs a program under a policy that ranks jobs again."""

    def __init__(self, plan: Plan, program: Program, policy: Policy, **others: Any) -> None:
        super().__init__(plan, program, policy, **others)
        assert isinstance(policy, RerankingPolicy)
        self._while_waiting = policy.while_waiting
        self._lanes = {}  # the short ways take keys for fixed
        for unit in program.units:
            if not unit.free:
                unit.whole = None

    def queue(
        self, unit: Unit, port: str, row: Row, key: Any, root: int, late: bool, given: Any,
        flight: Flight | None,
    ) -> None:  # fmt: skip
        released = Ready(key, 0, unit, port, row, root, late, given, flight)
        super().queue(unit, port, row, rank_of(released, self.now), root, late, given, flight)

    def _choose(self, processor: Processor) -> None:
        ready = processor.ready
        while ready and processor.free:
            if self._next_arrival <= self.now:
                self._waiting[processor.index] = None
                return
            self._waiting.pop(processor.index, None)
            if self._while_waiting:
                rerank(ready, self.now)
            job = heappop(ready)
            self.decisions += 1
            start = self.now + processor.decision_cost + processor.penalty
            processor.penalty = 0
            core = processor.free.pop()
            if job.slots is None:
                slots = CountedSlots(
                    self.slots(job.unit, job.port, job.row, job.root, job.late, job.given)
                )
                job = job._replace(slots=slots, slot=next(slots))
            else:
                self._instant(EventKind.RESUME, processor, core, job)
            self._step(processor, core, job, start)

    def _should_yield(self, processor: Processor, job: Ready) -> bool:
        if not self._preemptive or not processor.ready:
            return False
        if self._while_waiting:
            rerank(processor.ready, self.now)
        return bool(processor.ready[0].key < rank_of(job, self.now))

    def _preempt(self, processor: Processor, core: int, job: Ready) -> None:
        super()._preempt(processor, core, job._replace(key=rank_of(job, self.now)))
