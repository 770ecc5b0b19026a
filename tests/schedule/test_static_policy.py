"""The policy ``static`` keeps the order that a static schedule gave the plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.compiler.build import one_node, query_of

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.trace import EventKind
from headway.model.quantities import MILLISECOND

STREAMS = [
    ("s", "o1"),
    ("o1", "o2"),
    ("o1", "o3"),
    ("o1", "o4"),
    ("o2", "a"),
    ("o3", "b"),
    ("o4", "c"),
]
DEADLINES = {"a": 10 * MILLISECOND, "b": 20 * MILLISECOND, "c": 30 * MILLISECOND}


@pytest.mark.parametrize(
    ("given", "ran"),
    [
        ((), ["o1", "o2", "o3", "o4"]),
        (("o1", "o4", "o2", "o3"), ["o1", "o4", "o2", "o3"]),
        (("o1", "o3", "o4", "o2"), ["o1", "o3", "o4", "o2"]),
    ],
)
def test_operators_run_in_the_order_of_the_schedule(given: tuple[str, ...], ran: list[str]) -> None:
    query = query_of(STREAMS, DEADLINES, costs=MILLISECOND)
    plan = replace(compile_query(query, one_node(query)), static_order=given)
    result = Engine(plan=plan, policy="static").run(
        [Arrival(0, "s", (0, 1.0)), Arrival(0, "s", (0, 2.0))]
    )
    names = {unit.name: unit.operators[0] for unit in result.kernel.program.units}
    runs = [names[event[5]] for event in result.trace.events if event[0] == EventKind.RUN]
    assert runs == ran * 2
