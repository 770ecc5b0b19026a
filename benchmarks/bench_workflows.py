"""Schedules of eleven kinds of task graphs, beside SAGA's HEFT and CPOP in the same run.

    python benchmarks/bench_workflows.py [--tasks 100 400] [--limit 10] [--saga PYTHON]

The instances of ``workflow_graphs.py`` are written in the formats of WfCommons and STG and read as
``headway schedule`` reads them. Six unlike processors; first each pair has a link of its own
without contention, which is all that SAGA knows, then all hang on a switch and links carry one
message at a time. ``--saga`` names the Python of an environment with anrg-saga (see
``oracle_saga.py``); SAGA gets the same numbers, in a process of its own. Lengths are in shares of
Headway's HEFT; ``*``: the time was up.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

from workflow_graphs import write_graphs

from headway.files.load_graphs import load_graph
from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork, Switch
from headway.model.taskgraph import TaskGraph
from headway.schedule.static import ALGORITHMS, ExactAlpha, Instance, Options, violations
from headway.schedule.static.portfolio import Best

RATES = (0.6, 0.8, 1.0, 1.1, 1.3, 1.7)
SPEEDS = (2, 5, 3, 8, 4, 6)
"""of the links to the switch, MB/s; a pair's own link is as fast as the slower of its ends"""
NAMES = ("heft", "cpop", "hvlb-cc-c", "best")


def pairs() -> Iterator[tuple[int, int, int]]:
    for one in range(len(RATES)):
        for other in range(one + 1, len(RATES)):
            yield one, other, min(SPEEDS[one], SPEEDS[other])


def meshed() -> ProcessorNetwork:
    return ProcessorNetwork(
        name="meshed",
        processors=tuple(Processor(name=f"p{n}", rate=rate) for n, rate in enumerate(RATES)),
        links=tuple(
            NetworkLink(name=f"l{a}{b}", ends=(f"p{a}", f"p{b}"), speed=speed)
            for a, b, speed in pairs()
        ),
        given_routes={(f"p{a}", f"p{b}"): ((f"l{a}{b}",),) for a, b, _ in pairs()},
    )


def starred() -> ProcessorNetwork:
    return ProcessorNetwork(
        name="starred",
        processors=tuple(Processor(name=f"p{n}", rate=rate) for n, rate in enumerate(RATES)),
        switches=(Switch(name="switch"),),
        links=tuple(
            NetworkLink(name=f"l{n}", ends=(f"p{n}", "switch"), speed=speed)
            for n, speed in enumerate(SPEEDS)
        ),
    )


@dataclass
class Line:
    """What came of one graph on one network: lengths and seconds by algorithm."""

    graph: str
    network: str
    tasks: int
    edges: int
    lengths: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    member: str = ""


def measured(graph: TaskGraph, network: ProcessorNetwork, limit: float) -> Line:
    contention = network.name == "starred"
    line = Line(graph.name, network.name, len(graph.tasks), len(graph.edges))
    for name in NAMES:
        start, end = perf_counter(), monotonic() + limit
        instance = Instance(graph, network, Options(contention=contention))

        def going_on(end: float = end) -> bool:
            return monotonic() < end

        algorithm = Best(going_on) if name == "best" else ALGORITHMS[name]
        result = algorithm.run(instance, ExactAlpha(every=False, going_on=going_on))
        line.seconds[name] = perf_counter() - start
        assert result.schedule is not None
        wrong = violations(graph, network, result.schedule)
        assert not wrong, wrong[:3]
        line.lengths[name] = float(result.schedule.makespan)
        if not result.complete:
            line.ended.append(name)
        line.member = getattr(result, "member", "")
    return line


def saga_case(graph: TaskGraph) -> dict[str, Any]:
    """The form of ``oracle_saga.py``."""
    number = {task.name: index for index, task in enumerate(graph.tasks)}
    return {
        "costs": [float(task.work or 0) for task in graph.tasks],
        "edges": [
            [number[e.sender], number[e.receiver], float(e.volume or 0)] for e in graph.edges
        ],
        "rates": list(RATES),
        "speeds": [list(pair) for pair in pairs()],
    }


def by_saga(python: Path, cases: list[dict[str, Any]]) -> list[dict[str, list[float]]]:
    """(length, seconds) by algorithm for every case."""
    oracle = Path(__file__).parent / "oracle_saga.py"
    done = subprocess.run(
        [str(python), str(oracle), "--solve"],
        input=json.dumps(cases),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: list[dict[str, list[float]]] = json.loads(done.stdout)
    return found


def shown(lines: list[Line], network: str) -> None:
    chosen = [line for line in lines if line.network == network]
    names = [name for name in (*NAMES, "saga-heft", "saga-cpop") if name in chosen[0].lengths]
    print(f"\n{network}: length over heft's (seconds)")
    print(f"{'':20} {'tasks':>6} {'edges':>6} " + " ".join(f"{name:>15}" for name in names))
    for line in chosen:
        cells = [
            f"{line.lengths[name] / line.lengths['heft']:.3f}"
            f"{'*' if name in line.ended else ' '}({line.seconds[name]:.2f})"
            for name in names
        ]
        row = " ".join(f"{cell:>15}" for cell in cells)
        print(f"{line.graph:20} {line.tasks:6} {line.edges:6} {row}  {line.member}", flush=True)
    mean = [sum(x.lengths[n] / x.lengths["heft"] for x in chosen) / len(chosen) for n in names]
    print(f"{'mean':34} " + " ".join(f"{share:>15.3f}" for share in mean))
    worse = sum(line.lengths["best"] > line.lengths["heft"] for line in chosen)
    print(f"best is longer than heft on {worse} of {len(chosen)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, nargs="*", default=[100, 400])
    parser.add_argument("--limit", type=float, default=10.0, help="seconds an algorithm may take")
    parser.add_argument("--saga", type=Path, help="the Python of an environment with anrg-saga")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        graphs = [load_graph(path).graph for path in write_graphs(Path(folder), given.tasks)]
    lines = [measured(graph, meshed(), given.limit) for graph in graphs]
    if given.saga:
        answers = by_saga(given.saga, [saga_case(graph) for graph in graphs])
        for line, answer in zip(lines, answers, strict=True):
            for name, (length, seconds) in answer.items():
                line.lengths[name], line.seconds[name] = length, seconds
    shown(lines, "meshed")
    lines += [measured(graph, starred(), given.limit) for graph in graphs]
    shown(lines, "starred")
    if given.json:
        given.json.write_text(json.dumps([vars(line) for line in lines], indent=1))


if __name__ == "__main__":
    main()
