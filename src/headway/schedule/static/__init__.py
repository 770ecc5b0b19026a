"""Static schedules of task graphs on networks (HVLB_CC): one algorithm a file, one timing core
(:mod:`~headway.schedule.static.timing`), and an independent validator
(:mod:`~headway.schedule.static.validate`).

    result = schedule(graph, network, "hvlb-cc-b")
    result.makespan, result.best, result.failure
"""

from __future__ import annotations

from headway.errors import InputError
from headway.extensions import ExtensionObjects
from headway.model.static_network import ProcessorNetwork
from headway.model.taskgraph import TaskGraph
from headway.schedule.static.algorithm import (
    Algorithm,
    AlphaChoice,
    AlphaInterval,
    ExactAlpha,
    FixedAlpha,
    GridAlpha,
    Options,
    QueueFailure,
    StaticResult,
)
from headway.schedule.static.from_plan import graph_of_plan, pinned, placement_of
from headway.schedule.static.hvlb_cc_ic import precision, schedule_holes
from headway.schedule.static.instance import Instance
from headway.schedule.static.timing import Metrics, metrics_of
from headway.schedule.static.validate import violations

ALGORITHMS: ExtensionObjects[Algorithm] = ExtensionObjects(
    "headway.static_algorithms",
    what="static algorithm",
    base="headway.schedule.static.algorithm:Algorithm",
    own={
        "hvlb-cc-b": "headway.schedule.static.hvlb_cc:HvlbCcB",
        "hvlb-cc-c": "headway.schedule.static.hvlb_cc:HvlbCcC",
        "hvlb-cc-a": "headway.schedule.static.hvlb_cc:HvlbCcA",
        "hvlb-cc-ic": "headway.schedule.static.hvlb_cc_ic:HvlbCcIc",
        "hsv-cc": "headway.schedule.static.hsv_cc:HsvCc",
        "heft": "headway.schedule.static.heft:Heft",
        "cpop": "headway.schedule.static.cpop:Cpop",
        "laxity": "headway.schedule.static.laxity:Laxity",
        "heft-varied": "headway.schedule.static.varied:Varied",
        "best": "headway.schedule.static.portfolio:Best",
    },
)
"""all algorithms but the exact search, by name"""


def algorithm_named(name: str) -> Algorithm:
    """An algorithm by its name; InputError lists the names there are."""
    if name not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        raise InputError(f"unknown algorithm {name!r}", want=f"one of {known}")
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
