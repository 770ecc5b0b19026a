"""How far the list schedules are from the optimum: graphs of 10 tasks on 3 processors.

OR-Tools CP-SAT finds the shortest schedule and proves it, or says how much shorter one could be at
most. The gap of a heuristic is makespan / optimum - 1, over the graphs whose optimum is proven.

    rows = run(grid())
    analyse(rows)

Every CCR and order of rates in turn; graphs as TGFF grows them. At full size:
``python benchmarks/bench_static.py --optimum 300``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from headway.experiments.hvlb.lengths import RATIOS, Trial, graph_of
from headway.experiments.hvlb.random_graphs import RATE_ORDERS, figure_2
from headway.schedule.static import ALGORITHMS, ExactAlpha, Instance, violations
from headway.schedule.static.optimal import Effort, Optimal

GRAPHS = 300
SEED = 20164
HEURISTICS = ("hsv-cc", "hvlb-cc-a", "hvlb-cc-b", "hvlb-cc-c", "heft", "cpop")


@dataclass(frozen=True, kw_only=True)
class Row:
    """``makespans`` in the order of ``HEURISTICS``, None on a failure."""

    number: int
    ccr: float
    optimum: float
    bound: float
    proven: bool
    sound: bool
    """the validator finds nothing wrong"""
    seconds: float
    makespans: tuple[float | None, ...]


def grid(graphs: int = GRAPHS, tasks: int = 10, seed: int = SEED) -> list[Trial]:
    return [
        Trial(
            tasks=tasks,
            ccr=RATIOS[number % len(RATIOS)],
            rates=RATE_ORDERS[number % len(RATE_ORDERS)],
            number=number,
            seed=seed,
            falling=False,
        )
        for number in range(graphs)
    ]


def run_trial(trial: Trial, effort: Effort | None = None) -> Row:
    instance = Instance(graph_of(trial), figure_2(trial.rates))
    found = Optimal(effort).run(instance, ExactAlpha()).optimum
    makespans = [ALGORITHMS[name].run(instance, ExactAlpha()).makespan for name in HEURISTICS]
    return Row(
        number=trial.number,
        ccr=trial.ccr,
        optimum=float(found.makespan),
        bound=float(found.bound),
        proven=found.proven,
        sound=not violations(instance.graph, instance.network, found.schedule),
        seconds=found.seconds,
        makespans=tuple(None if length is None else float(length) for length in makespans),
    )


def run(trials: Iterable[Trial], effort: Effort | None = None) -> list[Row]:
    return [run_trial(trial, effort) for trial in trials]


@dataclass(frozen=True, kw_only=True)
class Gap:
    """``ccr`` None: all of them."""

    heuristic: str
    ccr: float | None
    graphs: int
    failures: int
    mean: float
    greatest: float
    optimal: float
    """share of its schedules that are optimal"""


def analyse(rows: Iterable[Row]) -> list[Gap]:
    """The gap of every heuristic, over all graphs and by CCR."""
    proven = [row for row in rows if row.proven]
    ratios: list[float | None] = [None, *sorted({row.ccr for row in proven})]
    found = []
    for place, name in enumerate(HEURISTICS):
        for ccr in ratios:
            chosen = [row for row in proven if ccr in (None, row.ccr)]
            gaps = [
                length / row.optimum - 1
                for row in chosen
                if (length := row.makespans[place]) is not None
            ]
            found.append(
                Gap(
                    heuristic=name,
                    ccr=ccr,
                    graphs=len(chosen),
                    failures=len(chosen) - len(gaps),
                    mean=fmean(gaps) if gaps else float("nan"),
                    greatest=max(gaps, default=float("nan")),
                    optimal=sum(gap < 1e-9 for gap in gaps) / len(gaps) if gaps else float("nan"),
                )
            )
    return found
