"""Task sets for overload: what hard and soft tasks release, by when, and how much they ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from headway.errors import Problem, TaskSetError
from headway.model.quantities import MILLISECOND, format_duration

if TYPE_CHECKING:  # a node that reserves processor time needs no numbers drawn
    import numpy as np

# ------------------------------------------------------------
# How much of a processor jobs ask for: a constant, a range with a distribution, or a recording.
#
# Utilisations are whole millionths (``FULL`` is a processor), so that capacities add up exactly.

FULL = 1_000_000
"""a utilisation of 1: the whole processor"""
SPREAD = 6
"""a gaussian range is so many standard deviations wide"""


class Distribution(StrEnum):
    GAUSSIAN = "gaussian"
    UNIFORM = "uniform"


@dataclass(frozen=True)
class Constant:
    """Every job asks for the same."""

    value: int

    @property
    def average(self) -> int:
        return self.value

    @property
    def peak(self) -> int:
        return self.value

    def draw(self, count: int, random: np.random.Generator) -> list[int]:
        return [self.value] * count

    def scaled(self, factor: Fraction) -> Constant:
        return Constant(int(self.value * factor))


@dataclass(frozen=True)
class Range:
    """Between two ends: uniform, or gaussian around the mean and cut off at the ends."""

    low: int
    high: int
    mean: int
    distribution: Distribution = Distribution.GAUSSIAN

    @property
    def average(self) -> int:
        return self.mean

    @property
    def peak(self) -> int:
        return self.high

    def draw(self, count: int, random: np.random.Generator) -> list[int]:
        if self.distribution is Distribution.UNIFORM:
            return [int(one) for one in random.integers(self.low, self.high + 1, count)]
        drawn = random.normal(self.mean, (self.high - self.low) / SPREAD, count)
        return [int(one) for one in drawn.round().clip(self.low, self.high)]

    def scaled(self, factor: Fraction) -> Range:
        low, high, mean = (int(one * factor) for one in (self.low, self.high, self.mean))
        return replace(self, low=low, high=high, mean=mean)


@dataclass(frozen=True)
class Recorded:
    """Measured values, one a job, over and over."""

    values: tuple[int, ...]

    @property
    def average(self) -> int:
        return sum(self.values) // len(self.values)

    @property
    def peak(self) -> int:
        return max(self.values)

    def draw(self, count: int, random: np.random.Generator) -> list[int]:
        times = -(-count // len(self.values))
        return list(self.values * times)[:count]

    def scaled(self, factor: Fraction) -> Recorded:
        return Recorded(tuple(int(one * factor) for one in self.values))


Utilisation = Constant | Range | Recorded


def percent(share: int) -> str:
    """``110 %``, ``12.5 %``"""
    return f"{share * 100 / FULL:.4f}".rstrip("0").rstrip(".") + " %"


# ------------------------------------------------------------
# Task sets for overload: what hard and soft tasks release, by when, and what it costs.
#
# A *task* is an operator path (ROP-EDF section 2.3). Its jobs come every ``period``, or at least
# a ``gap`` apart; each asks for a utilisation U = C/D, the share of a processor from its release
# to its deadline. Utilisations are whole millionths (``FULL`` is a processor) and times
# nanoseconds, so that capacities add up exactly.


class TaskKind(StrEnum):
    HARD = "hard"
    SOFT = "soft"


@dataclass(frozen=True, kw_only=True)
class OverloadTask:
    """An operator path OP_ti: ``average`` is the paper's θ, ``peak`` its ψ, ``deadline`` its D."""

    name: str
    kind: TaskKind
    period: int
    """between releases; the least time between them if ``sporadic``"""
    deadline: int
    utilisation: Utilisation
    sporadic: bool = False
    mean_gap: int | None = None
    """of a sporadic task: the average time between releases; none: it comes as often as it may"""

    @property
    def hard(self) -> bool:
        return self.kind is TaskKind.HARD

    @property
    def average(self) -> int:
        return self.utilisation.average

    @property
    def peak(self) -> int:
        return self.utilisation.peak

    @property
    def requested(self) -> int:
        """ψ of a hard task, θ of a soft one."""
        return self.peak if self.hard else self.average


@dataclass(frozen=True, kw_only=True)
class TaskSet:
    """Tasks of one processor; ``overhead`` is the paper's α."""

    name: str
    tasks: tuple[OverloadTask, ...]
    overhead: int = 0

    @property
    def hard_capacity(self) -> int:
        """C_SUMH = Σ ψ(hard)"""
        return sum(task.peak for task in self.tasks if task.hard)

    @property
    def requested(self) -> int:
        """The total requested utilisation: Σ ψ(hard) + Σ θ(soft)."""
        return sum(task.requested for task in self.tasks)

    def at_load(self, load: int) -> TaskSet:
        """The same set with its soft tasks scaled so that ``load`` is requested in total."""
        hard, soft = self.hard_capacity, self.requested - self.hard_capacity
        if load < hard or (soft == 0 and load != hard):
            raise TaskSetError(
                f"the load cannot be {percent(load)}",
                at="tasks",
                got=f"{percent(hard)} of hard and {percent(soft)} of soft tasks",
                want="only soft tasks are scaled: ask for more than the hard ones need",
            )
        factor = Fraction(load - hard, soft) if soft else Fraction(1)
        return replace(
            self,
            tasks=tuple(
                task if task.hard else replace(task, utilisation=task.utilisation.scaled(factor))
                for task in self.tasks
            ),
        )


def check_task_set(task_set: TaskSet) -> None:
    """TaskSetError lists all that does not hold together."""
    problems = list(_problems(task_set))
    if problems:
        raise TaskSetError(problems)


def check_hard_load(task_set: TaskSet) -> None:
    """What admission asks first: hard tasks together need no more than 1 − α (theorem 1)."""
    capacity, wanted = FULL - task_set.overhead, task_set.hard_capacity
    if wanted > capacity:
        hard = [task for task in task_set.tasks if task.hard]
        named = ", ".join(f"{task.name} {percent(task.peak)}" for task in hard)
        raise TaskSetError(
            f"the hard tasks need {percent(wanted)} of a processor that has "
            f"{percent(capacity)} (1 − α)",
            at=f"tasks.{max(hard, key=lambda task: task.peak).name}",
            got=named,
            want="lower a peak utilisation or make a task soft",
        )


def _problems(task_set: TaskSet) -> Iterator[Problem]:
    if not task_set.tasks:
        yield Problem("there is no task", at="tasks", want="write at least one")
    if not 0 <= task_set.overhead < FULL:
        yield Problem("not a share of a processor", at="overhead", want="at least 0, below 1")
    for task in task_set.tasks:
        yield from _task_problems(task)


def _task_problems(task: OverloadTask) -> Iterator[Problem]:
    at = f"tasks.{task.name}"
    interval = "gap" if task.sporadic else "period"
    for key, time in ((interval, task.period), ("deadline", task.deadline)):
        if time <= 0:
            got = f"{time / MILLISECOND:g} ms"
            yield Problem(f"the {key} is not above 0", at=f"{at}.{key}", got=got)
    if task.mean_gap is not None and task.mean_gap < task.period:
        want = f"at least the gap, {format_duration(task.period)}"
        yield Problem("the mean gap is below the gap", at=f"{at}.mean_gap", want=want)
    use = task.utilisation
    if isinstance(use, Range) and not use.low <= use.mean <= use.high:
        yield Problem("the mean is outside its range", at=f"{at}.utilisation")
    if isinstance(use, Recorded) and not use.values:
        yield Problem("the list is empty", at=f"{at}.utilisation", want="write one value a job")
        return
    lowest = min(use.values) if isinstance(use, Recorded) else getattr(use, "low", use.average)
    if lowest <= 0:
        yield Problem("a utilisation is not above 0", at=f"{at}.utilisation", got=percent(lowest))
    if task.hard and task.peak > FULL:
        want = "a hard task can never ask for more than one processor"
        got = percent(task.peak)
        yield Problem("the utilisation is above 1", at=f"{at}.utilisation", got=got, want=want)
    if task.hard and 0 < task.period < task.deadline:
        yield Problem(
            f"the deadline is past the {interval}",
            at=f"{at}.deadline",
            got=f"{format_duration(task.deadline)} after {format_duration(task.period)}",
            want="the guarantee of hard tasks (theorem 1) needs deadlines within it",
        )
