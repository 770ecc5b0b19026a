"""Reservations in the vehicle engine: ROP-EDF with admission policy 1 over operator trains.

On every node the hard operator paths have their capacity C_SUMH for good (from declared costs and
rates, :mod:`headway.schedule.overload.from_plan`). A tuple before a train that only soft outputs
need is a soft job: it asks for U = cost / (time to its deadline), is admitted when so much is left
and shed otherwise. Costs are the declared worst case, so no admitted job can exceed its budget and
none overruns; a reservation is held until the job's deadline. What hard paths may bring is bounded
by the declared rates, which load shedders enforce."""

from __future__ import annotations

from typing import Any

from headway.model.graph import Graph, graph_of
from headway.model.plan import Plan
from headway.model.query import Criticality
from headway.model.taskset import FULL
from headway.runtime.kernel import Kernel
from headway.runtime.operators.base import DropKind, Dropped, Row
from headway.runtime.units import Flight, Program, Unit
from headway.schedule.online.policy import Policy
from headway.schedule.online.reservation import Job, Ledger, ReservationPolicy, TaskFacts
from headway.schedule.overload.from_plan import task_sets_of
from headway.schedule.overload.plan_paths import check_nodes


class ReservingKernel(Kernel):
    """The kernel with admission at release."""

    def __init__(self, plan: Plan, program: Program, policy: Policy, **others: Any) -> None:
        super().__init__(plan, program, policy, **others)
        assert isinstance(policy, ReservationPolicy)
        self._reserving = Reserving(plan, program, policy)
        self._lanes = {}  # every job has to be admitted, so none takes the short way

    def queue(
        self, unit: Unit, port: str, row: Row, key: Any, root: int, late: bool, given: Any,
        flight: Flight | None,
    ) -> None:  # fmt: skip
        if self._reserving.admit(unit, key, self.now):
            super().queue(unit, port, row, key, root, late, given, flight)
            return
        reason = "no processor time is left to reserve"
        self.take_side([Dropped(unit.operators[0], DropKind.SHED, row, reason, port)])
        if flight is not None:
            flight.landed = True


class Reserving:
    """The ledgers of all nodes; TaskSetError when the hard paths of one do not fit."""

    def __init__(self, plan: Plan, program: Program, policy: ReservationPolicy) -> None:
        graph = graph_of(plan.query)
        hard_of: dict[str, int] = {}
        sets = task_sets_of(plan)
        check_nodes(sets)
        for task_set in sets:
            hard_of[task_set.name] = task_set.hard_capacity
        self._place: dict[int, tuple[Ledger, int]] = {}
        """soft unit -> the ledger of its node and its number there"""
        for node in plan.vehicle.nodes:
            soft = [
                unit
                for unit in program.units
                if unit.node == node.name and not unit.free and is_soft(unit, graph)
            ]
            hard = hard_of.get(node.name, 0)
            facts = [TaskFacts("hard paths", True, 1, 1, hard, hard)]
            facts += [TaskFacts(unit.name, False, 1, 1, 0, 0) for unit in soft]
            ledger = policy.open(facts)
            for number, unit in enumerate(soft, start=1):
                self._place[unit.index] = (ledger, number)
        self.rejected = 0
        self._number = 0

    def admit(self, unit: Unit, deadline: int, now: int) -> bool:
        """Whether a job of this unit may queue; ``deadline`` is absolute (ns)."""
        place = self._place.get(unit.index)
        if place is None:
            return True
        ledger, task = place
        time = deadline - now
        use = -(-unit.cost * FULL // time) if time > 0 else FULL + 1
        self._number += 1
        job = Job(task, now, deadline, unit.cost, use, self._number)
        ledger.returns_until(now)
        if not ledger.admit(job):
            self.rejected += 1
            return False
        ledger.on_complete(job, now)  # is held until the deadline all the same
        return True


def is_soft(unit: Unit, graph: Graph) -> bool:
    """Whether no hard output needs this unit."""
    reached, pending = set(unit.operators), list(unit.operators)
    while pending:
        name = pending.pop()
        new = set(graph.consumers[name]) - reached
        reached |= new
        pending += new
    outputs = [graph.outputs[o] for name in reached for o in graph.outputs_of[name]]
    return all(output.criticality is Criticality.SOFT for output in outputs)
