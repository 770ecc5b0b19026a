"""HEFT against SAGA's, task by task; ``benchmarks/oracle_saga.py`` made the fixture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork
from headway.model.taskgraph import Edge, GraphTask, TaskGraph
from headway.schedule.static import ExactAlpha, Instance, Options, violations
from headway.schedule.static.heft import Heft
from headway.schedule.static.insertion import Mean

FIXTURE = Path(__file__).parents[2] / "fixtures" / "saga_heft.json"
CASES = json.loads(FIXTURE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{len(case['costs'])} tasks")
def test_equal_to_saga_without_contention(case: dict[str, Any]) -> None:
    graph = TaskGraph(
        tasks=tuple(GraphTask(name=f"t{n}", work=cost) for n, cost in enumerate(case["costs"])),
        edges=tuple(
            Edge(sender=f"t{one}", receiver=f"t{other}", volume=size)
            for one, other, size in case["edges"]
        ),
    )
    network = ProcessorNetwork(
        processors=tuple(Processor(name=f"p{n}", rate=r) for n, r in enumerate(case["rates"])),
        links=tuple(
            NetworkLink(name=f"l{one}{other}", ends=(f"p{one}", f"p{other}"), speed=speed)
            for one, other, speed in case["speeds"]
        ),
        given_routes={
            (f"p{one}", f"p{other}"): ((f"l{one}{other}",),) for one, other, _ in case["speeds"]
        },
    )
    instance = Instance(graph, network, Options(contention=False))
    found = Heft(Mean.TIME_WITH_SELF).run(instance, ExactAlpha()).schedule
    assert found is not None
    assert not violations(graph, network, found)
    for name, (processor, start, finish) in case["tasks"].items():
        slot = found.of_task[name]
        assert slot.processor == processor
        assert (float(slot.start), float(slot.finish)) == pytest.approx((start, finish), abs=1e-6)
    assert float(found.makespan) == pytest.approx(case["makespan"], abs=1e-6)
