"""HVLB_CC experiment 5 (section 5.7, figure 11): data precision against the input arrival rate.

The graph of figure 3 with the computation times of table 4, CCR 1. Tasks n2 and n5 are imprecise:
what is scheduled is their mandatory part, and at an arrival rate λ they ask for λ times as much.
Without imprecise computation nothing beyond the mandatory part is processed; with it, the schedule
hole behind the task is used. Published holes: n2 9, n5 5, n8 12; precision of 100 % up to λ 1.5
(n2) and 1.4 (n5).

    rows = run(grid())

At full size: ``python benchmarks/hvlb_experiments.py 5``. As in the worked example, the time on a
link is rounded down to whole units; ranks are not printed for table 4, so they are exact here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from headway.experiments.hvlb.random_graphs import figure_2
from headway.model.static_network import Schedule
from headway.model.taskgraph import Edge, GraphTask, TaskGraph
from headway.schedule.static import ALGORITHMS, ExactAlpha, Instance, Options
from headway.schedule.static.holes import precision, schedule_holes

TABLE_4 = {
    "n2": (26, 17, 20),
    "n1": (26, 17, 20),
    "n3": (14, 9, 11),
    "n4": (12, 8, 10),
    "n5": (17, 11, 13),
    "n6": (30, 20, 24),
    "n7": (9, 6, 7),
    "n8": (27, 18, 22),
    "n9": (27, 18, 22),
    "n10": (30, 20, 24),
}
"""n1 and n2 differ in nothing but their names. The published holes are those of a schedule that
takes n2 first, so it is listed first."""
FIGURE_3 = {
    "n1": ("n4", "n5"),
    "n2": ("n4", "n5"),
    "n3": ("n5", "n6"),
    "n4": ("n7", "n8"),
    "n5": ("n7", "n8"),
    "n6": ("n9",),
    "n7": ("n10",),
    "n8": ("n9",),
}
IMPRECISE = ("n2", "n5")
PERIOD = 250
RATES = tuple(Fraction(10 + step, 10) for step in range(11))
"""λ from 1 to 2"""


@dataclass(frozen=True, kw_only=True)
class Trial:
    algorithm: str
    arrival_rate: Fraction


@dataclass(frozen=True, kw_only=True)
class Row:
    """``precise`` is processed / requested time with the hole, ``plain`` without."""

    algorithm: str
    task: str
    arrival_rate: float
    makespan: float
    hole: float
    precise: float
    plain: float


def grid(
    algorithms: Sequence[str] = ("hvlb-cc-b", "hvlb-cc-ic"), rates: Sequence[Fraction] = RATES
) -> list[Trial]:
    return [Trial(algorithm=name, arrival_rate=rate) for name in algorithms for rate in rates]


def graph() -> TaskGraph:
    return TaskGraph(
        name="figure 3, table 4",
        tasks=tuple(
            GraphTask(
                name=name,
                times=dict(zip(("p1", "p2", "p3"), times, strict=True)),
                imprecise=name in IMPRECISE,
            )
            for name, times in TABLE_4.items()
        ),
        edges=tuple(
            Edge(sender=sender, receiver=receiver, ccr=1)
            for sender, receivers in FIGURE_3.items()
            for receiver in receivers
        ),
        period=PERIOD,
    )


def _scheduled(algorithm: str) -> tuple[Instance, Schedule | None]:
    instance = Instance(graph(), figure_2(), Options(whole_link_times=True))
    return instance, ALGORITHMS[algorithm].run(instance, ExactAlpha()).schedule


def holes(algorithm: str) -> dict[str, Fraction]:
    """The hole behind every task of its schedule."""
    instance, schedule = _scheduled(algorithm)
    return {} if schedule is None else dict(schedule_holes(instance, schedule))


def run_trial(trial: Trial) -> list[Row]:
    instance, schedule = _scheduled(trial.algorithm)
    if schedule is None:
        return []
    found = schedule_holes(instance, schedule)
    rows = []
    for task in IMPRECISE:
        slot = schedule.of_task[task]
        mandatory, none = slot.finish - slot.start, Fraction(0)
        rows.append(
            Row(
                algorithm=trial.algorithm,
                task=task,
                arrival_rate=float(trial.arrival_rate),
                makespan=float(schedule.makespan),
                hole=float(found[task]),
                precise=float(precision(found[task], mandatory, trial.arrival_rate)),
                plain=float(precision(none, mandatory, trial.arrival_rate)),
            )
        )
    return rows


def run(trials: Iterable[Trial]) -> list[Row]:
    return [row for trial in trials for row in run_trial(trial)]


def analyse(rows: Iterable[Row]) -> dict[tuple[str, str], float]:
    """(algorithm, task) -> the highest arrival rate with full precision."""
    found: dict[tuple[str, str], float] = {}
    for row in rows:
        if row.precise >= 1:
            key = row.algorithm, row.task
            found[key] = max(found.get(key, 0.0), row.arrival_rate)
    return found
