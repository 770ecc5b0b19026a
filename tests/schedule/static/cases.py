"""Task graphs and networks for the tests: the paper's example, and random ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork, Switch
from headway.model.taskgraph import Edge, GraphTask, TaskGraph
from headway.schedule.static.algorithm import Options

GOLDEN = Path(__file__).parents[2] / "golden" / "hvlb_fig5.json"
FACTS: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))


def paper_graph(period: int | None = None, times: dict[str, Any] | None = None) -> TaskGraph:
    """Figure 3 with table 1 (or other times of its tasks)."""
    return TaskGraph(
        name="figure 3",
        tasks=tuple(
            GraphTask(name=name, times=row)
            for name, row in (times or FACTS["computation_times"]).items()
        ),
        edges=tuple(
            Edge(sender=one, receiver=other, ccr=FACTS["reading"]["ccr"])
            for one, other in FACTS["edges"]
        ),
        period=period,
    )


def paper_network() -> ProcessorNetwork:
    """Figure 2."""
    return ProcessorNetwork(
        name="figure 2",
        processors=tuple(Processor(name=name) for name in ("p1", "p2", "p3")),
        switches=(Switch(name="switch"),),
        links=tuple(
            NetworkLink(name=name, ends=tuple(link["ends"]), speed=link["speed"])
            for name, link in FACTS["links"].items()
        ),
        given_routes={
            (pair.split("-")[0], pair.split("-")[1]): tuple(tuple(route) for route in routes)
            for pair, routes in FACTS["routes"].items()
        },
    )


def paper_options() -> Options:
    """The reading that gives every published number."""
    return Options(whole_link_times=True, ranks=FACTS["table2_rank"])


TOPCUOGLU_TIMES = (
    (14, 16, 9),
    (13, 19, 18),
    (11, 13, 19),
    (13, 8, 17),
    (12, 13, 10),
    (13, 16, 9),
    (7, 15, 11),
    (5, 11, 14),
    (18, 12, 20),
    (21, 7, 16),
)
TOPCUOGLU_VOLUMES = {
    (1, 2): 18,
    (1, 3): 12,
    (1, 4): 9,
    (1, 5): 11,
    (1, 6): 14,
    (2, 8): 19,
    (2, 9): 16,
    (3, 7): 23,
    (4, 8): 27,
    (4, 9): 23,
    (5, 9): 13,
    (6, 8): 15,
    (7, 10): 17,
    (8, 10): 11,
    (9, 10): 13,
}


def topcuoglu() -> tuple[TaskGraph, ProcessorNetwork]:
    """The graph of figure 2 of the HEFT paper, on three processors all joined at speed 1."""
    names = ("p1", "p2", "p3")
    graph = TaskGraph(
        tasks=tuple(
            GraphTask(name=f"t{number}", times=dict(zip(names, row, strict=True)))
            for number, row in enumerate(TOPCUOGLU_TIMES, start=1)
        ),
        edges=tuple(
            Edge(sender=f"t{one}", receiver=f"t{other}", volume=volume)
            for (one, other), volume in TOPCUOGLU_VOLUMES.items()
        ),
    )
    pairs = (("p1", "p2"), ("p1", "p3"), ("p2", "p3"))
    network = ProcessorNetwork(
        processors=tuple(Processor(name=name) for name in names),
        links=tuple(NetworkLink(name="-".join(pair), ends=pair) for pair in pairs),
    )
    return graph, network
