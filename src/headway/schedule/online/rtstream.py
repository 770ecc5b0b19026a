"""RTSTREAM (Wei, Son and Stankovic 2006): periodic queries by earliest deadline, with admission of
data in overload.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headway.model.taskset import FULL
from headway.schedule.online.policy import KeyBase, KeyFunction, KeyRule, UnitFacts
from headway.schedule.online.reservation import Ledger, ReservationPolicy, ReservedJob, TaskFacts

if TYPE_CHECKING:  # a node is told its deadlines and computes none
    from headway.model.plan import Task


class DataAdmission(Ledger):
    """What is asked for next is predicted from what came last: each task's next job needs what its
    last one did. When all together need more than the processor, so much less is let in, from all
    tasks alike, hard or soft."""

    moves = True

    def __init__(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> None:
        super().__init__(tasks, overhead)
        self._predicted = [self._share(task, task.average) for task in self.tasks]
        self._let_in = [0] * len(self.tasks)
        """in millionths of a job: what has been let in beyond whole jobs"""

    @staticmethod
    def _share(task: TaskFacts, utilisation: int) -> int:
        """Of the processor: C/T, from C/D."""
        return utilisation * task.deadline // task.period

    def admit(self, job: ReservedJob) -> bool:
        task = job.task
        facts = self.tasks[task]
        job.due = job.release + facts.deadline
        asked = sum(self._predicted)
        room = FULL - self.overhead
        self._let_in[task] += FULL if asked <= room else FULL * room // asked
        self._predicted[task] = self._share(facts, job.utilisation)
        if self._let_in[task] < FULL:
            return False
        self._let_in[task] -= FULL
        return True


class RealTimeStreams(ReservationPolicy):
    """A query is a task with one deadline, the shortest of its outputs, and its instance runs its
    operators one after the other.

    Of the paper's system that is the order. Two parts are not here. Instances are released once
    in a period and take the tuples that came in it: here a tuple is a job of its own, and goes as
    soon as it comes. And data admission in overload: in task sets (`headway loadtest`) it turns
    away jobs, as :class:`DataAdmission` predicts them; in the engine nothing is turned away, for
    there a load shedder stands before the query and drops by value.
    """

    name = "rtstream"
    summary = "earliest deadline first over whole queries, one deadline each; sheds by prediction"
    paper = "ROP-EDF, table 6 (Wei et al. 2006, doi:10.1109/ISORC.2006.68)"
    guarded = False
    features = (True, False, False, False)

    def key(self, unit: UnitFacts) -> KeyFunction:
        deadline, rank = unit.query_deadline, unit.rank
        return lambda timestamp, root: (timestamp + deadline, rank)

    def key_rule(self, unit: UnitFacts) -> KeyRule:
        return KeyRule(KeyBase.TIMESTAMP, unit.query_deadline, unit.rank)

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> DataAdmission:
        return DataAdmission(tasks, overhead)


def query_deadlines(tasks: Sequence[Task], deadlines: Mapping[str, int]) -> dict[str, int]:
    """For each task the shortest deadline of the outputs of its query: of all tasks that are
    connected with it. ``deadlines`` are those of outputs, by name."""
    joined = {task.name: task.name for task in tasks}

    def query_of(name: str) -> str:
        while joined[name] != name:
            joined[name] = joined[joined[name]]
            name = joined[name]
        return name

    entered: dict[str, str] = {}
    for task in tasks:
        for follower in task.successors:
            joined[query_of(follower.task)] = query_of(task.name)
        for stream in task.entries:  # what reads one source is one query
            joined[query_of(task.name)] = query_of(entered.setdefault(stream, task.name))
    shortest: dict[str, int] = {}
    for task in tasks:
        query = query_of(task.name)
        for output in task.outputs:
            shortest[query] = min(shortest.get(query, deadlines[output]), deadlines[output])
    return {task.name: shortest.get(query_of(task.name), task.relative_deadline) for task in tasks}
