"""Static scheduling: growth with the number of tasks, exact α against the grid, the optimum.

    python benchmarks/bench_static.py [--tasks 50 … 5000] [--limit 10] [--alpha 200] [--optimum 60]

SAGA's HEFT as a yardstick of speed is in ``oracle_saga.py``; kinds of graphs beside it in
``bench_workflows.py``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from time import monotonic, perf_counter

import numpy as np

from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork, Switch
from headway.schedule.static import ALGORITHMS, ExactAlpha, FixedAlpha, GridAlpha, Instance
from headway.schedule.static.optimal import Effort, Optimal
from headway.schedule.static.portfolio import Best
from headway_studies.beyond import exact_alpha, optimum_gap
from headway_studies.hvlb_cc.random_graphs import Shape, figure_2, random_graph
from headway_studies.hvlb_cc.schedule_trials import graph_of


def four_processors() -> ProcessorNetwork:
    """A switch, four processors on it, and two fast links besides: two routes or more a pair."""
    names = ("p1", "p2", "p3", "p4")
    return ProcessorNetwork(
        name="four",
        processors=tuple(
            Processor(name=name, rate=rate)
            for name, rate in zip(names, (0.67, 1.0, 0.83, 0.9), strict=True)
        ),
        switches=(Switch(name="switch"),),
        links=(
            *(
                NetworkLink(name=f"l{i}", ends=(name, "switch"))
                for i, name in enumerate(names, start=1)
            ),
            NetworkLink(name="f1", ends=("p1", "p2"), speed=3),
            NetworkLink(name="f2", ends=("p3", "p4"), speed=3),
        ),
    )


def best_of(action: Callable[[], object], times: int) -> float:
    """Seconds of the quickest of several runs."""
    found = []
    for _ in range(times):
        start = perf_counter()
        action()
        found.append(perf_counter() - start)
    return min(found)


def growth(sizes: list[int], limit: float) -> None:
    print("4 processors, 6 links, contention, up to 16 routes a pair; one pass is one of HVLB_CC's")
    print(f"{'':13} milliseconds {'':26} seconds (*: ended at {limit:g})")
    times = " ".join(f"{name:>9}" for name in ("prepare", "one pass", "heft", "cpop", "laxity"))
    print(f"{'tasks':>6} {'edges':>6} {times} {'exact α':>9} {'best':>9}")
    network, algorithm = four_processors(), ALGORITHMS["hvlb-cc-c"]
    for tasks in sizes:
        random = np.random.default_rng(tasks)
        graph = random_graph(Shape(tasks=tasks), ccr=1, random=random)
        prepare = best_of(lambda: Instance(graph, network), 3)  # noqa: B023
        instance = Instance(graph, network)
        alpha = FixedAlpha(Fraction(1))
        found = [prepare, best_of(lambda: algorithm.run(instance, alpha), 3)]  # noqa: B023
        found += [
            best_of(lambda: ALGORITHMS[name].run(instance, alpha), 3)  # noqa: B023
            for name in ("heft", "cpop", "laxity")
        ]
        cells = [f"{1000 * time:>9.1f}" for time in found]
        for whole in (algorithm, None):
            start, end = perf_counter(), monotonic() + limit

            def going_on(end: float = end) -> bool:
                return monotonic() < end

            chosen = whole or Best(going_on)
            result = chosen.run(instance, ExactAlpha(every=False, going_on=going_on))
            sign = " " if result.complete else "*"
            cells.append(f"{perf_counter() - start:>8.2f}{sign}")
        print(f"{tasks:>6} {len(graph.edges):>6} {' '.join(cells)}", flush=True)


def alpha(graphs: int) -> None:
    """Both ways on the same prepared instance, one after the other."""
    walks, sweeps, gains = [], [], []
    algorithm = ALGORITHMS[exact_alpha.ALGORITHM]
    for trial in exact_alpha.grid(graphs):
        instance = Instance(graph_of(trial), figure_2(trial.rates))
        begin = perf_counter()
        exact = algorithm.run(instance, ExactAlpha()).makespan
        middle = perf_counter()
        swept = algorithm.run(instance, GridAlpha()).makespan
        walks.append(middle - begin)
        sweeps.append(perf_counter() - middle)
        gains.append(1 - float(exact or 0) / float(swept or 1))
    steps = int(GridAlpha().last / GridAlpha().step) + 1
    print(f"\nexact α against {steps} points on {graphs} graphs of 10 to 50 tasks")
    better, worse = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    print(f"worse {worse}, better {better}, by up to {max(gains):.2%};", end=" ")
    print(f"{sum(sweeps) / sum(walks):.0f} times as fast in all,", end=" ")
    least = min(sweep / walk for sweep, walk in zip(sweeps, walks, strict=True))
    print(f"{least:.0f} times in the worst case")


def optimum(graphs: int, seconds: float) -> None:
    """How long the solver takes; the gaps of the heuristics are a study (``optimum``)."""
    effort, found = Effort(seconds=seconds, workers=4), []
    for trial in optimum_gap.grid(graphs):
        instance = Instance(graph_of(trial), figure_2(trial.rates))
        found.append(Optimal(effort).run(instance, ExactAlpha()).optimum)
    taken, proven = [one.seconds for one in found], sum(one.proven for one in found)
    print(f"\noptimum of {graphs} graphs of 10 tasks on 3 processors: {proven} proven,", end=" ")
    print(f"{sum(taken) / len(taken):.2f} s in the mean, {max(taken):.2f} s at most")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = [50, 100, 200, 500, 1000, 2000, 5000]
    parser.add_argument("--tasks", type=int, nargs="*", default=sizes)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for a search over α")
    parser.add_argument("--alpha", type=int, default=200, help="graphs for exact α; 0: none")
    parser.add_argument("--optimum", type=int, default=60, help="graphs for the optimum; 0: none")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit for each optimum")
    arguments = parser.parse_args()
    growth(arguments.tasks, arguments.limit)
    if arguments.alpha:
        alpha(arguments.alpha)
    if arguments.optimum:
        optimum(arguments.optimum, arguments.seconds)


if __name__ == "__main__":
    main()
