"""What happened in one trial: who ran when, and every change of state."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Happening(StrEnum):
    RELEASED = "released"
    REJECTED = "rejected"
    OVERRUN = "overrun"
    REPLENISHED = "replenished"
    COMPLETED = "completed"
    MISSED = "missed"


class Run(NamedTuple):
    """A job on the processor; ``spare``: it had overrun and nothing was ready."""

    task: int
    number: int
    start: int
    end: int
    spare: bool


@dataclass(slots=True)
class Record:
    """Runs in order of time, each as long as the job was not interrupted, and happenings."""

    runs: list[Run] = field(default_factory=list)
    events: list[tuple[Happening, int, int, int]] = field(default_factory=list)
    """(what, time, task, job number)"""

    def ran(self, task: int, number: int, start: int, end: int, spare: bool) -> None:
        if self.runs:
            last = self.runs[-1]
            if (last.number, last.end, last.spare) == (number, start, spare):
                self.runs[-1] = last._replace(end=end)
                return
        self.runs.append(Run(task, number, start, end, spare))

    def add(self, what: Happening, time: int, task: int, number: int) -> None:
        self.events.append((what, time, task, number))
