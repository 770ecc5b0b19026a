"""What a policy adds that reserves: admission at release, a budget, and what is left on completion.

The order of ready jobs is still :meth:`Policy.key`. For a run the policy opens a :class:`Ledger`,
which the kernel tells of every release and completion and asks what a used up budget means. Both
the task-set kernel (:mod:`headway.schedule.overload`) and the vehicle engine use it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import ClassVar

from headway.model.taskset import FULL
from headway.schedule.online.policy import KeyBase, KeyFunction, KeyRule, Policy, UnitFacts

UNLIMITED = 1 << 62
WAITING = -UNLIMITED
"""in place of a deadline: the job waits for another of its task"""


class JobState(IntEnum):
    """States of a job's task (ROP-EDF figure 4)."""

    DORMANT = 0
    READY = 1
    OVERRUN = 2


class Used(Enum):
    """What follows when a budget is used up and the job is not finished."""

    OVERRUN = 0
    """it waits until nothing is ready"""
    LATER = 1
    """it has a new budget and a later key (CBS)"""


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """What a ledger may know of a task. ``peak`` is ψ and ``average`` θ, in millionths."""

    name: str
    hard: bool
    period: int
    deadline: int
    average: int
    peak: int


class ReservedJob:
    """One release: J_ti. ``left`` is what it still has to run, ``budget`` what it still may."""

    __slots__ = (
        "budget", "deadline", "due", "held", "left", "number", "release", "state", "task",
        "utilisation",
    )  # fmt: skip

    def __init__(
        self, task: int, release: int, deadline: int, left: int, utilisation: int, number: int
    ) -> None:
        self.task = task
        self.release = release
        self.deadline = deadline
        self.left = left
        self.utilisation = utilisation
        self.number = number
        self.due = deadline
        """by what jobs are ordered: the deadline, or what a policy puts in its place"""
        self.budget = UNLIMITED
        self.held = 0
        """what it has reserved, in millionths"""
        self.state = JobState.DORMANT

    @property
    def window(self) -> int:
        """From release to deadline: D."""
        return self.deadline - self.release


class Ledger:
    """What is reserved during a run. This one reserves nothing and admits everybody."""

    overloaded = False
    """whether budgets are enforced now"""
    fair = False
    """whether :meth:`turn` orders releases with one instant and deadline"""
    counts = False
    """whether it wants to know of completions"""
    moves = False
    """whether it orders jobs by deadlines of its own"""

    def __init__(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> None:
        self.tasks = tuple(tasks)
        self.overhead = overhead
        """the paper's α"""

    def admit(self, job: ReservedJob) -> bool:
        """Reserves for a released job and sets its budget; False rejects it."""
        return True

    def budget(self, job: ReservedJob) -> int:
        """The processor time it may use while others are ready: Φ."""
        return UNLIMITED

    def alone(self, job: ReservedJob) -> bool:
        """Whether a job whose budget is used up goes on as long as no other is ready."""
        return job.utilisation < FULL - self.overhead

    def used(self, job: ReservedJob) -> Used:
        return Used.OVERRUN

    def on_complete(self, job: ReservedJob, now: int) -> ReservedJob | None:
        """Returns what the job held; gives a job of the same task that was waiting for it."""
        return None

    def returns_until(self, now: int) -> None:
        """Takes back reservations that end by ``now``."""

    def missed(self, job: ReservedJob, late: bool) -> None:
        """A job was rejected or has ended, late or not."""

    def turn(self, job: ReservedJob) -> float:
        """Among releases of one instant with one deadline the least goes first."""
        return 0.0


class SoftRule(Enum):
    """What soft jobs reserve where hard tasks are safe in overload (ROP-EDF section 4)."""

    WHOLE_JOBS = 1
    """policy 1: their own utilisation, so that they run in full or not at all"""
    SHARES = 2
    """policy 2: a share ω of what hard tasks leave, for each task"""


class ReservationPolicy(Policy):
    """Earliest deadline first among admitted jobs with budget left."""

    fuse: ClassVar[bool] = True
    preemptive: ClassVar[bool] = True
    guarded: ClassVar[bool] = True
    features: ClassVar[tuple[bool, bool, bool, bool]]
    """the paper's table 6: a hard guarantee below overload, in overload, tasks with several
    deadlines, requested utilisation over 100 %"""
    soft_rule: ClassVar[SoftRule | None] = None
    """what `headway compile --policy` tells soft tasks to expect; none where there is no guarantee
    to speak of"""
    end_to_end: ClassVar[bool] = False
    """whether `headway loadtest --end-to-end` runs it: a job is admitted on all nodes of its path
    for its own utilisation or on none, or everybody is where nothing is ``guarded``"""

    def key(self, unit: UnitFacts) -> KeyFunction:
        deadline = unit.deadline
        return lambda timestamp, root: timestamp + deadline

    def key_rule(self, unit: UnitFacts) -> KeyRule | None:
        return KeyRule(KeyBase.TIMESTAMP, unit.deadline)

    @abstractmethod
    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> Ledger:
        """The books of one run."""

    def open_for_tuples(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> Ledger:
        """The books of a node of the vehicle engine: tuples are jobs, and several of a task may be
        between release and deadline at once."""
        return self.open(tasks, overhead)
