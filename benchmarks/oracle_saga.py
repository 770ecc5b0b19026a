"""SAGA's HEFT on random related-machine instances: makes tests/fixtures/saga_heft.json.

SAGA (anrg-saga) is kept out of Headway's environment; run this in one of its own:

    python3 -m venv build/saga-venv && build/saga-venv/bin/pip install anrg-saga
    build/saga-venv/bin/python benchmarks/oracle_saga.py            # the fixture
    build/saga-venv/bin/python benchmarks/oracle_saga.py --time     # how long 50 tasks on 4 take
    build/saga-venv/bin/python benchmarks/oracle_saga.py --solve    # for bench_workflows.py

No two rates are equal, and hardly ever two finish times: SAGA keeps its nodes in a set and breaks
ties by its order. Its mean communication time counts every node with itself, at no time; Headway's
HEFT follows it with ``Mean.TIME_WITH_SELF``."""

from __future__ import annotations

import json
import logging
import random
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

logging.disable(logging.WARNING)  # SAGA tells of every source and sink it adds

FIXTURE = Path(__file__).parents[1] / "tests" / "fixtures" / "saga_heft.json"


def instance(generator: random.Random, tasks: int, processors: int) -> dict[str, Any]:
    """Costs, sizes and speeds with three digits, edges from lower to higher numbers."""

    def number(low: float, high: float) -> float:
        return round(generator.uniform(low, high), 3)

    edges = []
    for receiver in range(1, tasks):
        senders = generator.sample(range(receiver), min(receiver, generator.randint(0, 3)))
        edges += [[sender, receiver, number(1, 40)] for sender in sorted(senders)]
    return {
        "costs": [number(5, 30) for _ in range(tasks)],
        "edges": edges,
        "rates": [rate / 1000 for rate in generator.sample(range(500, 2000), processors)],
        "speeds": [
            [one, other, number(0.5, 4)]
            for one in range(processors)
            for other in range(one + 1, processors)
        ],
    }


def solve(case: dict[str, Any], algorithm: str = "heft") -> Any:
    """SAGA's schedule of an instance, and how long it took."""
    from saga import Network, TaskGraph
    from saga.schedulers import CpopScheduler, HeftScheduler

    scheduler = {"heft": HeftScheduler, "cpop": CpopScheduler}[algorithm]()

    network = Network.create(
        nodes=[(f"p{number}", rate) for number, rate in enumerate(case["rates"])],
        edges=[(f"p{one}", f"p{other}", speed) for one, other, speed in case["speeds"]],
    )
    graph = TaskGraph.create(
        tasks=[(f"t{number}", cost) for number, cost in enumerate(case["costs"])],
        dependencies=[(f"t{one}", f"t{other}", size) for one, other, size in case["edges"]],
    )
    start = perf_counter()
    found = scheduler.schedule(network, graph)
    return found, perf_counter() - start


def main() -> None:
    if "--time" in sys.argv:
        times = [solve(instance(random.Random(seed), 50, 4))[1] for seed in range(20)]
        print(f"HEFT of 50 tasks on 4 processors: least {min(times) * 1e3:.2f} ms")
        return
    if "--solve" in sys.argv:
        answers = []
        for case in json.load(sys.stdin):
            pairs = {f"saga-{name}": solve(case, name) for name in ("heft", "cpop")}
            answers.append({name: [one.makespan, time] for name, (one, time) in pairs.items()})
        json.dump(answers, sys.stdout)
        return
    generator = random.Random(2017)
    cases = []
    for number in range(60):
        case = instance(generator, 2 + number % 30, 2 + number % 4)
        found, _ = solve(case)
        tasks = {
            task.name: [task.node, task.start, task.end]
            for _, slots in found.items()
            for task in slots
            if task.name in {f"t{index}" for index in range(len(case["costs"]))}
        }
        cases.append({**case, "makespan": found.makespan, "tasks": dict(sorted(tasks.items()))})
    FIXTURE.write_text(json.dumps(cases, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{len(cases)} instances in {FIXTURE}")


if __name__ == "__main__":
    main()
