"""HVLB_CC experiment 4 (section 5.6, figure 10): how often a queue cannot be worked off.

1,000 random graphs, in-degree at most 2, out-degree at most 3, no other constraint; a failure is a
task that comes to the head of the queue before one of its predecessors. Published: HSV_CC 78 %, (B)
with 1/depth 29 %, (B) with 1/depth² 0 %. The paper does not say how many tasks these graphs have.

Two families, because the answer depends on how deep the graphs are:

- ``shallow``: 20 tasks, 4 to 8 entries, at most 4 deep, works 10 to 20. A queue by 1/depth² fails
  only where hrank(s)/hrank(p) > outd(p)/outd(s) · ((d+1)/d)², which at d = 1 is impossible with
  out-degrees up to 3, at d = 2 wants a successor with three quarters of its predecessor's rank, and
  at the last depths nothing is left that has successors. This family gives the published rates.
- ``tgff``: as TGFF grows them, 10 to 50 tasks; they are 5 to 10 deep, and there (B) fails too.

    rows = run(grid())
    analyse(rows)

At full size: ``python benchmarks/hvlb_experiments.py 4``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from headway.experiments.hvlb.random_graphs import RATE_ORDERS, figure_2, random_graph
from headway.experiments.hvlb.random_shape import Shape
from headway.model.taskgraph import TaskGraph
from headway.schedule.static import Instance
from headway.schedule.static.orders import by_priority, failure_of, priorities_a, priorities_b
from headway.schedule.static.ranks import Ranks

FAMILIES = ("shallow", "tgff")
GRAPHS = 1000
TASKS = (10, 20, 30, 40, 50)
SEED = 20161
PUBLISHED = {"hsv-cc": 0.78, "b-depth": 0.29, "b-depth2": 0.0}


@dataclass(frozen=True, kw_only=True)
class Trial:
    family: str
    number: int
    seed: int = SEED


@dataclass(frozen=True, kw_only=True)
class Row:
    """Which queues failed on a graph."""

    family: str
    number: int
    tasks: int
    depth: int
    hsv_cc: bool
    b_depth: bool
    b_depth2: bool


def grid(graphs: int = GRAPHS, seed: int = SEED) -> list[Trial]:
    return [
        Trial(family=family, number=number, seed=seed)
        for family in FAMILIES
        for number in range(graphs)
    ]


def graph_of(trial: Trial) -> TaskGraph:
    random = np.random.default_rng([trial.seed, FAMILIES.index(trial.family), trial.number])
    if trial.family == "shallow":
        shape = Shape(tasks=20, least_entries=4, most_entries=8, most_depth=4)
        return random_graph(shape, ccr=1, random=random, least_work=10)
    return random_graph(Shape(tasks=TASKS[trial.number % len(TASKS)]), ccr=1, random=random)


def run_trial(trial: Trial) -> Row:
    """Makes the queues only: whether one fails does not depend on α or on the processors."""
    rates = RATE_ORDERS[trial.number % len(RATE_ORDERS)]
    instance = Instance(graph_of(trial), figure_2(rates))
    ranks = Ranks(instance)
    queues = (priorities_a(ranks), priorities_b(ranks, depth_power=1), priorities_b(ranks))
    failed = [failure_of(instance, by_priority(queue)) is not None for queue in queues]
    return Row(
        family=trial.family,
        number=trial.number,
        tasks=len(instance.tasks),
        depth=max(ranks.depth),
        hsv_cc=failed[0],
        b_depth=failed[1],
        b_depth2=failed[2],
    )


def run(trials: Iterable[Trial]) -> list[Row]:
    return [run_trial(trial) for trial in trials]


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Scheduling failure rates (SFR, equation 26) of a group of graphs, as shares of 1."""

    family: str
    group: str
    graphs: int
    hsv_cc: float
    b_depth: float
    b_depth2: float


def analyse(rows: Iterable[Row]) -> list[Rates]:
    """For each family: all graphs, then by number of tasks, then by depth."""
    found = []
    by_family = sorted(rows, key=lambda row: FAMILIES.index(row.family))
    for family, group in groupby(by_family, key=lambda row: row.family):
        members = list(group)
        found.append(_rates(family, "all", members))
        for tasks in sorted({row.tasks for row in members}):
            chosen = [row for row in members if row.tasks == tasks]
            found.append(_rates(family, f"{tasks} tasks", chosen))
        for depth in sorted({row.depth for row in members}):
            chosen = [row for row in members if row.depth == depth]
            found.append(_rates(family, f"depth {depth}", chosen))
    return found


def _rates(family: str, group: str, rows: list[Row]) -> Rates:
    return Rates(
        family=family,
        group=group,
        graphs=len(rows),
        hsv_cc=sum(row.hsv_cc for row in rows) / len(rows),
        b_depth=sum(row.b_depth for row in rows) / len(rows),
        b_depth2=sum(row.b_depth2 for row in rows) / len(rows),
    )
