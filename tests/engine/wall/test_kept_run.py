"""A run that is taken up from what was kept of it is the one that was kept, number for number."""

from __future__ import annotations

import json

from tests.engine.nodes.study import EPOCH, study_plan

from headway.engine.clock import KeepingUp, ManualClock, PacedClock
from headway.engine.jobs import Arrival
from headway.engine.operators.operator_base import DropKind, Dropped
from headway.engine.program import assemble, static_order
from headway.engine.trace import Trace
from headway.engine.waiting_room import waiting_room
from headway.engine.wall_time import WallTime, apart
from headway.engine.watermarks import JOIN_TOLD_EVERY
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, SECOND
from headway.model.user_operator import State
from headway.schedule.online import policy_named


class KeptRun:
    """A run in wall-clock time that a test takes from tuple to tuple; no job runs by itself."""

    def __init__(self, plan: Plan, state: State | None = None) -> None:
        policy = policy_named("s-edf")
        tasks = plan.scheduled(trains=policy.fuse)
        program = assemble(plan, policy, tasks, static_order(plan, tasks), apart=apart(plan))
        self.dropped: list[Dropped] = []
        self.run = WallTime(
            plan,
            program,
            policy,
            pace=PacedClock(ManualClock(), 0, 0, 1.0),
            sinks={output.name: lambda row, completed: None for output in plan.query.outputs},
            on_drop=lambda one, now: self.dropped.append(one),
            trace=Trace(kept=False),
            keeping_up=KeepingUp(tolerance=SECOND),
            room=waiting_room(plan, tasks),
        )
        if state is not None:
            self.run.restore(state)

    def snapshot(self) -> State:
        """As it stands in a file."""
        kept: State = json.loads(json.dumps(self.run.snapshot()))
        return kept

    def comes(self, arrival: Arrival) -> None:
        self.run.take(arrival.source, arrival.row, arrival.time)

    @property
    def under_way(self) -> list[list[tuple[int, int]]]:
        units = self.run.kernel.program.units
        return [sorted(flight[:2] for flight in unit.flights or ()) for unit in units]


def test_what_was_under_way_keeps_its_number() -> None:
    """Two tuples of one timestamp wait, and two more of it come after the run was taken up: the
    four stand in one heap, which nothing but their numbers can order."""
    first = KeptRun(study_plan())
    moment = EPOCH, 7, 1.0
    for _ in range(2):
        first.comes(Arrival(EPOCH * MICROSECOND, "radar", moment))
    second = KeptRun(study_plan(), first.snapshot())
    assert second.under_way == first.under_way
    for run in (first, second):
        for _ in range(2):
            run.comes(Arrival(EPOCH * MICROSECOND, "radar", moment))
    assert second.under_way == first.under_way
    numbers = [number for unit in second.under_way for _, number in unit]
    assert len(numbers) == 4
    assert len(set(numbers)) == 4
    waiting = [job.number for job in second.run._ready]
    assert sorted(waiting) == sorted(job.number for job in first.run._ready)
    assert second.run.kernel.number == first.run.kernel.number


def test_a_join_is_told_the_time_when_it_would_have_been() -> None:
    """It is told at every 64th move of time, and drops from then on what is older."""
    first = KeptRun(study_plan())
    first.run.lost.add("radar")
    first.run.kernel.ingests["own"].mark(EPOCH + 1_000_000)
    for _ in range(JOIN_TOLD_EVERY - 1):
        first.run.kernel.watermarks.look()
    second = KeptRun(study_plan(), first.snapshot())
    for run in (first, second):
        run.run.kernel.watermarks.look()
        join = run.run.kernel.program.stateful["paired"]
        join.accept("radar", (EPOCH, 7, 1.0, 2.0), 0)
        (dropped,) = join.take_side()
        assert dropped.kind is DropKind.LATE
