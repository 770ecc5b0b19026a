"""Exact α against the paper's grid, and the never-failing queue against (B).

For 200 random graphs (10 to 50 tasks, every CCR and order of rates in turn): the least makespan and
the time of a sweep over 2,001 values of α, 0 to 20, and of the exact walk over α >= 0.

    rows = run(grid())

The grid looks at α up to 20 only, with the period of :func:`random_graph`; the exact walk has no
such limits, so that it may win by finer steps and by α beyond the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter

from headway.experiments.hvlb.lengths import RATIOS, TASKS, graph_of
from headway.experiments.hvlb.lengths import Trial as LengthTrial
from headway.experiments.hvlb.random_graphs import RATE_ORDERS, figure_2
from headway.schedule.static import ALGORITHMS, ExactAlpha, GridAlpha, Instance, StaticResult

GRAPHS = 200
SEED = 20162


@dataclass(frozen=True, kw_only=True)
class Row:
    number: int
    tasks: int
    exact_makespan: float
    grid_makespan: float
    exact_seconds: float
    grid_seconds: float
    schedules: int
    """distinct schedules over α >= 0"""
    schedules_on_grid: int


def grid(graphs: int = GRAPHS, seed: int = SEED) -> list[LengthTrial]:
    return [
        LengthTrial(
            tasks=TASKS[number % len(TASKS)],
            ccr=RATIOS[number // len(TASKS) % len(RATIOS)],
            rates=RATE_ORDERS[number % len(RATE_ORDERS)],
            number=number,
            seed=seed,
            falling=False,
        )
        for number in range(graphs)
    ]


def run_trial(trial: LengthTrial, clock: Callable[[], float] = perf_counter) -> Row:
    """Both ways on the same prepared instance, one after the other."""
    instance = Instance(graph_of(trial), figure_2(trial.rates))
    algorithm = ALGORITHMS["hvlb-cc-c"]

    def timed(alpha: ExactAlpha | GridAlpha) -> tuple[StaticResult, float]:
        start = clock()
        result = algorithm.run(instance, alpha)
        return result, clock() - start

    exact, exact_seconds = timed(ExactAlpha())
    swept, grid_seconds = timed(GridAlpha())
    return Row(
        number=trial.number,
        tasks=trial.tasks,
        exact_makespan=float(exact.makespan or 0),
        grid_makespan=float(swept.makespan or 0),
        exact_seconds=exact_seconds,
        grid_seconds=grid_seconds,
        schedules=len(exact.intervals),
        schedules_on_grid=len(swept.intervals),
    )


def run(trials: Iterable[LengthTrial]) -> list[Row]:
    return [run_trial(trial) for trial in trials]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    graphs: int
    worse: int
    better: int
    largest_gain: float
    speed_ratio: float
    """time of all sweeps / time of all walks"""
    least_speed_ratio: float


def analyse(rows: Iterable[Row]) -> Comparison:
    found = list(rows)
    sweeps = sum(row.grid_seconds for row in found)
    return Comparison(
        graphs=len(found),
        worse=sum(row.exact_makespan > row.grid_makespan for row in found),
        better=sum(row.exact_makespan < row.grid_makespan for row in found),
        largest_gain=max(1 - row.exact_makespan / row.grid_makespan for row in found),
        speed_ratio=sweeps / sum(row.exact_seconds for row in found),
        least_speed_ratio=min(row.grid_seconds / row.exact_seconds for row in found),
    )
