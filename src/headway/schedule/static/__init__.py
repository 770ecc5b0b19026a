"""Static schedules of task graphs on networks (HVLB_CC): one algorithm a file, one timing core
(:mod:`~headway.schedule.static.timing`), and an independent validator
(:mod:`~headway.schedule.static.validate`).

    result = schedule(graph, network, "hvlb-cc-b")
    result.makespan, result.best, result.failure
"""

from __future__ import annotations

from headway.errors import InputError, Problem
from headway.model.static_network import ProcessorNetwork
from headway.model.taskgraph import TaskGraph
from headway.schedule.static.algorithm import Algorithm
from headway.schedule.static.cpop import Cpop
from headway.schedule.static.from_plan import graph_of_plan, pinned, placement_of
from headway.schedule.static.heft import Heft
from headway.schedule.static.holes import precision, schedule_holes
from headway.schedule.static.hsv_cc import HsvCc
from headway.schedule.static.hvlb_cc_a import HvlbCcA
from headway.schedule.static.hvlb_cc_b import HvlbCcB
from headway.schedule.static.hvlb_cc_c import HvlbCcC
from headway.schedule.static.hvlb_cc_ic import HvlbCcIc
from headway.schedule.static.instance import Instance
from headway.schedule.static.metrics import Metrics, metrics_of
from headway.schedule.static.options import (
    AlphaChoice,
    ExactAlpha,
    FixedAlpha,
    GridAlpha,
    Options,
)
from headway.schedule.static.result import AlphaInterval, QueueFailure, StaticResult
from headway.schedule.static.validate import violations

ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (HvlbCcB(), HvlbCcC(), HvlbCcA(), HvlbCcIc(), HsvCc(), Heft(), Cpop())
}


def algorithm_named(name: str) -> Algorithm:
    """An algorithm by its name; InputError lists the names there are."""
    if name not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        raise InputError(Problem(f"unknown algorithm {name!r}", want=f"one of {known}"))
    return ALGORITHMS[name]


def schedule(
    graph: TaskGraph,
    network: ProcessorNetwork,
    algorithm: str = "hvlb-cc-c",
    options: Options | None = None,
    alpha: AlphaChoice | None = None,
) -> StaticResult:
    """Schedules a graph on a network; without ``alpha`` over all α >= 0, exactly."""
    chosen = algorithm_named(algorithm)
    return chosen.run(Instance(graph, network, options), alpha or ExactAlpha())


__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "AlphaChoice",
    "AlphaInterval",
    "ExactAlpha",
    "FixedAlpha",
    "GridAlpha",
    "Instance",
    "Metrics",
    "Options",
    "QueueFailure",
    "StaticResult",
    "algorithm_named",
    "graph_of_plan",
    "metrics_of",
    "pinned",
    "placement_of",
    "precision",
    "schedule",
    "schedule_holes",
    "violations",
]
