"""What the outputs of an undisturbed run are (the meaning of the query, by virtual time), when they
come in an undisturbed car, and on what of the car each of them rests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headway.engine.engine import Engine
from headway.engine.operators.operator_base import DropKind
from headway.model.graph import graph_of
from headway.model.operators import Aggregate
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Output
from headway.simulation.fault_plan import FaultSpec, draw
from headway.simulation.simulated_car import CarRun, CarSetting, SimulatedCar


@dataclass(frozen=True, kw_only=True)
class ExpectedOutput:
    """``rows`` -> how often. ``elements``: operators and sources before it; ``nodes``: where they
    are. ``exact``: which tuples there are does not hang on the order of arrival. ``values_change``:
    a tuple that is lost before it may change others (a window, an outer join). ``reach``: how far
    (ns) from a lost tuple's time the tuples that it changes may be. ``key_places``: columns
    that tell a tuple from all others."""

    name: str
    rows: Counter[str]
    elements: frozenset[str]
    nodes: frozenset[str]
    feeding: frozenset[str]
    """nodes that send to one of ``nodes``, besides them"""
    exact: bool
    values_change: bool
    reach: int
    key_places: tuple[int, ...] | None
    dropped: frozenset[str]
    """tuples that are late in an undisturbed run too, anywhere in the query"""
    deadline: int
    promised: bool
    took: Mapping[str, int]
    """a tuple -> from when it was sensed to when it came out in an undisturbed car, at most (ns)"""


def text_of(row: Sequence[Any]) -> str:
    """A tuple as it stands in an output's file, compared as text: NaN is NaN there."""
    return json.dumps(list(row))


def time_of(text: str) -> int:
    """The timestamp (us) of a tuple given as text."""
    return int(json.loads(text)[0])


def expected_outputs(setting: CarSetting) -> dict[str, ExpectedOutput]:
    """By the name of the output."""
    plan = setting.plan
    meant = Engine(plan=plan, charged=False, keep_trace=False).run(setting.arrivals)
    rows = {
        name: Counter(text_of(row) for row in record.rows) for name, record in meant.outputs.items()
    }
    promises = plan.verdict.promises if plan.verdict is not None else ()
    kept = {promise.output for promise in promises if promise.kept}
    dropped = frozenset(
        text_of(drop.row) for _, drop in meant.side.dropped if drop.kind is DropKind.LATE
    )
    undisturbed = _undisturbed(setting)
    return {
        output.name: replace(
            _expected(plan, output, rows[output.name], output.name in kept),
            dropped=dropped,
            took=_took(undisturbed.lines[output.name]),
        )
        for output in plan.query.outputs
    }


def _undisturbed(setting: CarSetting) -> CarRun:
    parts = setting.parts
    calm = draw(FaultSpec(rough=0.0), 0, [part.node for part in parts], (), 0)
    return SimulatedCar(setting, parts, calm).run()


def _took(lines: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in lines:
        text = text_of(tuple(line["row"].values()))
        took = line["completed"] - time_of(text) * MICROSECOND
        found[text] = max(took, found.get(text, took))
    return found


def _expected(plan: Plan, output: Output, rows: Counter[str], promised: bool) -> ExpectedOutput:
    graph, placement = graph_of(plan.query), dict(plan.placement)
    elements: list[str] = []
    pending = [output.stream]
    while pending:
        name = pending.pop()
        if name not in elements:
            elements.append(name)
            if name in graph.operators:
                pending += graph.operators[name].streams
    operators = [graph.operators[name] for name in elements if name in graph.operators]
    nodes = frozenset(placement[name] for name in elements)
    feeding = frozenset(c.sender for c in plan.crossings if c.receiver in nodes) - nodes
    reach = sum(2 * one.looks_back for one in operators)
    last = graph.operators.get(output.stream)
    places = None
    if isinstance(last, Aggregate):
        columns = [field.name for field in dict(plan.schemas)[output.stream].columns]
        places = (0, *(columns.index(name) for name in last.by if name in columns))
    return ExpectedOutput(
        name=output.name,
        rows=rows,
        elements=frozenset(elements),
        nodes=nodes,
        feeding=feeding,
        exact=not any(one.traits.order_matters for one in operators)
        and not any(graph.sources[n].shedder for n in elements if n in graph.sources),
        values_change=any(one.traits.keeps_state and one.traits.emits_on_time for one in operators),
        reach=reach,
        key_places=places,
        dropped=frozenset(),
        took={},
        deadline=output.deadline or 0,
        promised=promised,
    )
