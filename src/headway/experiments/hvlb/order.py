"""The queue that cannot fail against (B), and against the optimum's bound of the critical path.

Always the best priority (B) among the tasks whose predecessors are scheduled (``hvlb-cc-c``). Where
(B) does not fail the two queues are the same, so makespans are compared with those of (B) where it
works, and with HEFT and CPOP (under the same contention) everywhere.

    rows = run(grid())

Graphs as TGFF grows them, 10 to 50 tasks, every CCR and order of rates in turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from headway.experiments.hvlb.alpha import grid as alpha_grid
from headway.experiments.hvlb.lengths import Trial, graph_of
from headway.experiments.hvlb.random_graphs import figure_2
from headway.schedule.static import ALGORITHMS, ExactAlpha, Instance

GRAPHS = 1000
SEED = 20163
COMPARED = ("hvlb-cc-b", "hvlb-cc-c", "heft", "cpop")


@dataclass(frozen=True, kw_only=True)
class Row:
    """Makespans; None where the algorithm failed."""

    number: int
    tasks: int
    b: float | None
    c: float
    heft: float
    cpop: float


def grid(graphs: int = GRAPHS, seed: int = SEED) -> list[Trial]:
    return alpha_grid(graphs, seed)


def run_trial(trial: Trial) -> Row:
    instance = Instance(graph_of(trial), figure_2(trial.rates))
    found = [ALGORITHMS[name].run(instance, ExactAlpha()).makespan for name in COMPARED]
    b, *others = (None if makespan is None else float(makespan) for makespan in found)
    c, heft, cpop = (float(makespan or 0) for makespan in others)
    return Row(number=trial.number, tasks=trial.tasks, b=b, c=c, heft=heft, cpop=cpop)


def run(trials: Iterable[Trial]) -> list[Row]:
    return [run_trial(trial) for trial in trials]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Ratios are means of makespan / makespan of the queue that cannot fail."""

    graphs: int
    b_failed: int
    b_differs: int
    heft_ratio: float
    cpop_ratio: float
    heft_ratio_where_b_failed: float


def analyse(rows: Iterable[Row]) -> Comparison:
    found = list(rows)
    failed = [row for row in found if row.b is None]
    return Comparison(
        graphs=len(found),
        b_failed=len(failed),
        b_differs=sum(row.b is not None and row.b != row.c for row in found),
        heft_ratio=fmean(row.heft / row.c for row in found),
        cpop_ratio=fmean(row.cpop / row.c for row in found),
        heft_ratio_where_b_failed=fmean(row.heft / row.c for row in failed)
        if failed
        else float("nan"),
    )
