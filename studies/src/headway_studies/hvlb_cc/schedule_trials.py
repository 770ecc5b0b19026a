"""Trials of HVLB_CC experiments 1 to 3 (sections 5.3 to 5.5): SLR, speedup and load balance.

Random graphs with outd(predecessor) >= outd(successor) on the network of figure 2, 100 for each
number of tasks; the same graphs for every order of the execution rates and every CCR.

1. SLR and speedup: tasks 10 to 50, CCR 1, six orders of the rates (figure 7)
2. load balance, from the same runs (figure 8)
3. SLR: CCR 0.1 to 10, 20 tasks, rates (0.83, 1.0, 0.67) (figure 9)

A block of trials is a cell of a study. The paper sweeps α over a grid; here it is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from headway.model.quantities import exact
from headway.model.taskgraph import TaskGraph
from headway.schedule.static import ALGORITHMS, ExactAlpha, Instance
from headway.schedule.static.timing import critical_path_time, metrics_of
from headway_studies.hvlb_cc.random_graphs import RATE_ORDERS, Shape, figure_2, random_graph
from headway_studies.row_reading import blocks, flag, number, text, whole
from headway_studies.study import Cell, Row

NAMES = {
    "hsv-cc": "HSV_CC",
    "hvlb-cc-a": "HVLB_CC (A)",
    "hvlb-cc-b": "HVLB_CC (B)",
    "hvlb-cc-c": "(B) that cannot fail",
    "heft": "HEFT",
    "cpop": "CPOP",
}
COMPARED = ("hsv-cc", "hvlb-cc-a", "hvlb-cc-b")
"""the paper's"""
TASKS = (10, 20, 30, 40, 50)
RATIOS = (0.1, 0.5, 1.0, 5.0, 10.0)
GRAPHS = 100
EXPERIMENT_3_RATES = (0.83, 1.0, 0.67)
SEED = 20160


@dataclass(frozen=True, kw_only=True)
class ScheduleTrial:
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
    algorithms: tuple[str, ...] = COMPARED


def grid_1(
    graphs: int = GRAPHS, tasks: Sequence[int] = TASKS, seed: int = SEED
) -> list[ScheduleTrial]:
    """Experiments 1 and 2."""
    return [
        ScheduleTrial(tasks=count, ccr=1.0, rates=rates, number=number, seed=seed)
        for rates in RATE_ORDERS
        for count in tasks
        for number in range(graphs)
    ]


def grid_3(
    graphs: int = GRAPHS, tasks: int = 20, seed: int = SEED, most_depth: int | None = None
) -> list[ScheduleTrial]:
    """Experiment 3."""
    return [
        ScheduleTrial(
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


def graph_of(trial: ScheduleTrial) -> TaskGraph:
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


def run_trial(trial: ScheduleTrial) -> list[Row]:
    """A row for each algorithm; no measures where it failed. ``least_slr`` is that of any schedule
    at all (:func:`shortest_possible`), ``schedules`` are the distinct ones over α."""
    instance = Instance(graph_of(trial), figure_2(trial.rates))
    least_slr = float(shortest_possible(instance) / critical_path_time(instance))
    rows: list[Row] = []
    for name in trial.algorithms:
        result = ALGORITHMS[name].run(instance, ExactAlpha())
        measured = metrics_of(instance, result.schedule) if result.schedule else None
        rows.append(
            {
                "algorithm": name,
                "tasks": trial.tasks,
                "ccr": trial.ccr,
                "rates": rates_named(trial.rates),
                "number": trial.number,
                "failed": measured is None,
                "makespan": float(measured.makespan) if measured else None,
                "slr": float(measured.slr) if measured else None,
                "speedup": float(measured.speedup) if measured else None,
                "load_balance": float(measured.load_balance) if measured else None,
                "least_slr": least_slr,
                "schedules": len(result.intervals),
                "most_depth": trial.most_depth,
            }
        )
    return rows


def rates_named(rates: Sequence[float]) -> str:
    """Execution rates as one word: ``0.67 0.83 1``."""
    return " ".join(f"{rate:g}" for rate in rates)


def block_cells(trials: Iterable[ScheduleTrial], size: int) -> list[Cell]:
    """Trials that differ only in their number become blocks of at most ``size``."""
    groups: dict[ScheduleTrial, int] = {}
    for trial in trials:
        alike = replace(trial, number=0)
        groups[alike] = groups.get(alike, 0) + 1
    return [
        {
            "tasks": alike.tasks,
            "ccr": alike.ccr,
            "rates": rates_named(alike.rates),
            "seed": alike.seed,
            "most_depth": alike.most_depth,
            "first": first,
            "graphs": count,
        }
        for alike, total in groups.items()
        for first, count in blocks(total, size)
    ]


def run_block(cell: Cell) -> list[Row]:
    """Every compared algorithm on each graph of a block."""
    one, two, three = (float(rate) for rate in text(cell, "rates").split())
    first = whole(cell, "first")
    trials = [
        ScheduleTrial(
            tasks=whole(cell, "tasks"),
            ccr=number(cell, "ccr"),
            rates=(one, two, three),
            number=place,
            seed=whole(cell, "seed"),
            most_depth=None if cell["most_depth"] is None else whole(cell, "most_depth"),
        )
        for place in range(first, first + whole(cell, "graphs"))
    ]
    return [row for trial in trials for row in run_trial(trial)]


def measured(rows: Iterable[Row], metric: str) -> list[float]:
    """A metric of the schedules that were found."""
    return [number(row, metric) for row in rows if not flag(row, "failed")]
