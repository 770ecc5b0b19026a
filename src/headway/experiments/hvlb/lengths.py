"""HVLB_CC experiments 1 to 3 (sections 5.3 to 5.5): SLR, speedup and load balance.

Random graphs with outd(predecessor) >= outd(successor) on the network of figure 2, 100 for each
number of tasks; the same graphs for every order of the execution rates and every CCR.

1. SLR and speedup: tasks 10 to 50, CCR 1, six orders of the rates (figure 7)
2. load balance, from the same runs (figure 8)
3. SLR: CCR 0.1 to 10, 20 tasks, rates (0.83, 1.0, 0.67) (figure 9)

    rows = run(grid_1())          # or run_trial(trial), one by one, anywhere
    analyse(rows, "slr")

At full size: ``python benchmarks/hvlb_experiments.py 1 2 3``. The paper sweeps α over a grid; here
it is exact unless the trial asks for the grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from statistics import fmean

import numpy as np

from headway.experiments.hvlb.random_graphs import RATE_ORDERS, figure_2, random_graph
from headway.experiments.hvlb.random_shape import Shape
from headway.model.quantities import exact
from headway.model.taskgraph import TaskGraph
from headway.schedule.static import ALGORITHMS, ExactAlpha, GridAlpha, Instance
from headway.schedule.static.metrics import critical_path_time, metrics_of

COMPARED = ("hsv-cc", "hvlb-cc-a", "hvlb-cc-b", "hvlb-cc-c")
TASKS = (10, 20, 30, 40, 50)
RATIOS = (0.1, 0.5, 1.0, 5.0, 10.0)
GRAPHS = 100
EXPERIMENT_3_RATES = (0.83, 1.0, 0.67)
SEED = 20160


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One graph on one network; every algorithm is run on it."""

    tasks: int
    ccr: float
    rates: tuple[float, float, float]
    number: int
    """which of the graphs of that many tasks"""
    seed: int = SEED
    falling: bool = True
    most_depth: int | None = None
    """of a graph; TGFF has no such bound"""
    grid: bool = False
    algorithms: tuple[str, ...] = COMPARED


@dataclass(frozen=True, kw_only=True)
class Row:
    """What an algorithm made of a trial; NaN where it failed."""

    algorithm: str
    tasks: int
    ccr: float
    rates: tuple[float, float, float]
    number: int
    failed: bool
    makespan: float
    slr: float
    speedup: float
    load_balance: float
    least_slr: float
    """of any schedule at all: see :func:`shortest_possible`"""
    schedules: int
    """distinct schedules over α"""


def grid_1(graphs: int = GRAPHS, tasks: Sequence[int] = TASKS, seed: int = SEED) -> list[Trial]:
    """Experiments 1 and 2."""
    return [
        Trial(tasks=count, ccr=1.0, rates=rates, number=number, seed=seed)
        for rates in RATE_ORDERS
        for count in tasks
        for number in range(graphs)
    ]


def grid_3(
    graphs: int = GRAPHS, tasks: int = 20, seed: int = SEED, most_depth: int | None = None
) -> list[Trial]:
    """Experiment 3."""
    return [
        Trial(
            tasks=tasks,
            ccr=ccr,
            rates=EXPERIMENT_3_RATES,
            number=number,
            seed=seed,
            most_depth=most_depth,
        )
        for ccr in RATIOS
        for number in range(graphs)
    ]


def graph_of(trial: Trial) -> TaskGraph:
    """The trial's graph; it depends on the number of tasks, its number, the seed and the CCR."""
    return random_graph(
        Shape(tasks=trial.tasks, falling=trial.falling, most_depth=trial.most_depth),
        ccr=trial.ccr,
        random=np.random.default_rng([trial.seed, trial.tasks, trial.number]),
    )


def shortest_possible(instance: Instance) -> Fraction:
    """No schedule is shorter: all work shared evenly by rate, nothing waits, nothing is sent."""
    works = [exact(task.work) for task in instance.graph.tasks if task.work is not None]
    rates = sum((exact(one.rate) for one in instance.network.processors), Fraction(0))
    return max(critical_path_time(instance), sum(works, Fraction(0)) / rates)


def run_trial(trial: Trial) -> list[Row]:
    """A row for each algorithm."""
    instance = Instance(graph_of(trial), figure_2(trial.rates))
    least_slr = float(shortest_possible(instance) / critical_path_time(instance))
    alpha = GridAlpha() if trial.grid else ExactAlpha()
    rows = []
    for name in trial.algorithms:
        result = ALGORITHMS[name].run(instance, alpha)
        measured = metrics_of(instance, result.schedule) if result.schedule else None
        rows.append(
            Row(
                algorithm=name,
                tasks=trial.tasks,
                ccr=trial.ccr,
                rates=trial.rates,
                number=trial.number,
                failed=measured is None,
                makespan=float(measured.makespan) if measured else np.nan,
                slr=float(measured.slr) if measured else np.nan,
                speedup=float(measured.speedup) if measured else np.nan,
                load_balance=float(measured.load_balance) if measured else np.nan,
                least_slr=least_slr,
                schedules=len(result.intervals),
            )
        )
    return rows


def run(trials: Iterable[Trial]) -> list[Row]:
    """All rows of all trials, in order."""
    return [row for trial in trials for row in run_trial(trial)]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A metric over the graphs of one cell, for one algorithm."""

    tasks: int
    ccr: float
    rates: tuple[float, float, float]
    algorithm: str
    mean: float
    lowest: float
    highest: float
    failures: int


def analyse(rows: Iterable[Row], metric: str) -> list[Summary]:
    """Mean, least and greatest value of ``slr``, ``speedup`` or ``load_balance`` in each cell."""

    def cell(row: Row) -> tuple[int, float, tuple[float, float, float], str]:
        return row.tasks, row.ccr, row.rates, row.algorithm

    found = []
    for (tasks, ccr, rates, algorithm), group in groupby(sorted(rows, key=cell), key=cell):
        members = list(group)
        values = [float(getattr(row, metric)) for row in members if not row.failed]
        found.append(
            Summary(
                tasks=tasks,
                ccr=ccr,
                rates=rates,
                algorithm=algorithm,
                mean=fmean(values) if values else float("nan"),
                lowest=min(values, default=float("nan")),
                highest=max(values, default=float("nan")),
                failures=sum(row.failed for row in members),
            )
        )
    return found
