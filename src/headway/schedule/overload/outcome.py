"""What a trial of a task set gave, by task."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """Counts of the jobs whose deadline lies within the trial."""

    name: str
    hard: bool
    jobs: int
    rejected: int
    late: int
    """admitted but not finished in time"""

    @property
    def misses(self) -> int:
        return self.rejected + self.late

    @property
    def miss_ratio(self) -> float:
        """DMR (equation 4)"""
        return self.misses / self.jobs if self.jobs else 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a trial gave."""

    tasks: tuple[TaskOutcome, ...]
    busy: int
    """time that the processor worked (ns)"""

    @property
    def hard_misses(self) -> int:
        return sum(task.misses for task in self.tasks if task.hard)
