"""Independent random trains on one node, and tuples for them: what the study of cores runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway.compiler import compile_query
from headway.engine.jobs import Arrival
from headway.model.operators import Input, Map, Operator
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.model.vehicle import Node, Vehicle

VALUE = schema(v="double")


@dataclass(frozen=True, kw_only=True)
class Train:
    """``operators`` maps of the same cost behind a source, to an output of its own (ns)."""

    operators: int
    cost: int
    deadline: int
    rate: Rate
    """declared"""

    @property
    def work(self) -> int:
        """Of one tuple."""
        return self.operators * self.cost


def plan_of(trains: Sequence[Train], node: Node) -> Plan:
    """The trains as one query; train i reads source ``s<i>`` and feeds output ``out<i>``."""
    steps: list[Operator] = []
    sources, outputs = [], []
    for index, train in enumerate(trains):
        stream = f"s{index}"
        sources.append(Source(name=stream, schema=VALUE, rate=train.rate))
        for place in range(train.operators):
            inputs, stream = (Input("input", stream),), f"t{index}_{place}"
            steps.append(
                Map(name=stream, inputs=inputs, cost=Cost(train.cost), columns=(), keep=True)
            )
        outputs.append(Output(name=f"out{index}", stream=stream, deadline=train.deadline))
    query = Query(name="trains", sources=tuple(sources), steps=tuple(steps), outputs=tuple(outputs))
    sensors = tuple((source.name, node.name) for source in sources)
    return compile_query(query, Vehicle(name="one", nodes=(node,), sensors=sensors))


def arrivals_at_load(
    trains: Sequence[Train], load: float, duration: int, random: np.random.Generator
) -> list[Arrival]:
    """Tuples at random moments (exponential gaps) that together ask for ``load`` processors; to
    every train come as many."""
    found = []
    mean_gap = sum(train.work for train in trains) / load
    for index in range(len(trains)):
        time = float(random.exponential(mean_gap))
        while time < duration:
            at = int(time) // MICROSECOND
            found.append(Arrival(at * MICROSECOND, f"s{index}", (at, 0.0)))
            time += float(random.exponential(mean_gap))
    return sorted(found, key=lambda arrival: (arrival.time, arrival.source))
