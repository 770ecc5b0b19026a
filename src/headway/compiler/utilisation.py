"""Long-run rates and loads at worst-case input: of every stream, node, bus and link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from headway.compiler.compilation import Compilation
from headway.model.operators import Gather, Operator
from headway.model.quantities import SECOND, Cost, Rate, ceil_div
from headway.model.vehicle import Bus, Link, Node, transfer_time


def rates(compilation: Compilation) -> Compilation:
    """Tuples per second of each stream; nothing when the query is compiled without a vehicle."""
    if not compilation.timed:
        return compilation
    graph = compilation.graph
    found: dict[str, float] = {}
    for source in graph.sources.values():
        arrivals = source.arrivals
        found[source.name] = arrivals.sustained.per_second if arrivals else 0.0
    for name in graph.order:
        operator = graph.operators[name]
        inputs = sum(found[stream] for stream in operator.streams)
        if operator.clock is not None:
            inputs = SECOND / operator.clock.every if inputs else 0.0
        found[name] = inputs * operator.selectivity * operator.windows_per_tuple
        if operator.partner_limit is not None:
            port, most = operator.partner_limit
            pairs = sum(found[i.stream] for i in operator.inputs if i.port == port) * most
            found[name] = min(found[name], pairs)
    return replace(compilation, rates=found)


# ------------------------------------------------------------


Key = TypeVar("Key", int, str)

TOLERANCE = 1e-6
"""Relative excess over a capacity that is rounding and not overload."""


def fits(load: float, capacity: float) -> bool:
    """Whether a load stays within a capacity, up to rounding."""
    return load <= capacity * (1 + TOLERANCE) + 1e-12


def runs_of(operator: Operator, rates: Mapping[Key, float]) -> tuple[list[Key], Rate | None]:
    """How often a gathering operator runs at most: on tuples of which inputs, and by its timer.

    A run with all inputs takes a tuple of every one, so the input with the fewest tuples per second
    bounds them; runs by the timer are a timeout apart, and the only ones where the operator gathers
    for a time. Or every tuple runs alone, where that is less.
    """
    timer = Rate(1, max(operator.timeout or 0, 1))
    every = sum(rates.values())
    if operator.gathering is Gather.TIME:
        return ([], timer) if timer.per_second < every else (list(rates), None)
    rarest = min(rates, key=lambda key: rates[key])
    if rates[rarest] + timer.per_second < every:
        return [rarest], timer
    return list(rates), None


def executions(operator: Operator, input_rates: Sequence[float]) -> float:
    """Most executions per second in the long run; ``input_rates`` are tuples per second by port."""
    if operator.clock is not None:
        return SECOND / operator.clock.every if any(input_rates) else 0.0
    if operator.gathering is None or not input_rates:
        return sum(input_rates)
    inputs, timer = runs_of(operator, dict(enumerate(input_rates)))
    return sum(input_rates[i] for i in inputs) + (timer.per_second if timer else 0.0)


def operator_load(operator: Operator, input_rates: Sequence[float], node: Node) -> float:
    """Share of one core of the node; an operator without a cost takes the decisions only."""
    tuples = sum(input_rates)
    runs = executions(operator, input_rates)
    cost = operator.cost or Cost(0)
    cost = cost.on(node.core_kind) or cost
    if operator.clock is not None:
        return runs * (cost.worst(node.speed) + node.decision_cost) / SECOND
    each = tuples * cost.per_tuple(node.speed)
    if runs < tuples:
        gathered = runs * ceil_div(cost.base, node.speed)
        each = min(each, gathered + tuples * ceil_div(cost.per_item, node.speed))
    return (each + tuples * node.decision_cost) / SECOND


def stream_load(rate: float, size: int, medium: Bus | Link) -> float:
    """Share of a bus or link that a stream takes each time it enters: rate times transfer time."""
    return rate * transfer_time(size, medium) / SECOND
