"""Long-run loads at worst-case rates: an operator's on a node, a stream's on a bus or link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from headway.model.arrival import Rate
from headway.model.cost import Cost, ceil_div
from headway.model.operators import Fusion, Gather, Operator, UserDefined
from headway.model.time import SECOND
from headway.model.vehicle import Bus, Link, Node
from headway.model.wire import transfer_time

Key = TypeVar("Key", int, str)

TOLERANCE = 1e-6
"""Relative excess over a capacity that is rounding and not overload."""


def fits(load: float, capacity: float) -> bool:
    """Whether a load stays within a capacity, up to rounding."""
    return load <= capacity * (1 + TOLERANCE) + 1e-12


def gathers(operator: Operator) -> bool:
    """Whether one execution takes all the tuples that have come (a timeout, but not a join's)."""
    return operator.timeout is not None and isinstance(operator, UserDefined | Fusion)


def runs_of(operator: Operator, rates: Mapping[Key, float]) -> tuple[list[Key], Rate | None]:
    """How often a gathering operator runs at most: on tuples of which inputs, and by its timer.

    A run with all inputs takes a tuple of every one, so the input with the fewest tuples per second
    bounds them; runs by the timer are a timeout apart, and the only ones where the operator gathers
    for a time. Or every tuple runs alone, where that is less.
    """
    timer = Rate(1, max(operator.timeout or 0, 1))
    every = sum(rates.values())
    if isinstance(operator, UserDefined | Fusion) and operator.gather is Gather.TIME:
        return ([], timer) if timer.per_second < every else (list(rates), None)
    rarest = min(rates, key=lambda key: rates[key])
    if rates[rarest] + timer.per_second < every:
        return [rarest], timer
    return list(rates), None


def executions(operator: Operator, input_rates: Sequence[float]) -> float:
    """Most executions per second in the long run; ``input_rates`` are tuples per second by port."""
    if not gathers(operator) or not input_rates:
        return sum(input_rates)
    inputs, timer = runs_of(operator, dict(enumerate(input_rates)))
    return sum(input_rates[i] for i in inputs) + (timer.per_second if timer else 0.0)


def operator_load(operator: Operator, input_rates: Sequence[float], node: Node) -> float:
    """Share of one core of the node; an operator without a cost takes the decisions only."""
    tuples = sum(input_rates)
    runs = executions(operator, input_rates)
    cost = operator.cost or Cost(0)
    each = tuples * cost.per_tuple(node.speed)
    if runs < tuples:
        gathered = runs * ceil_div(cost.base, node.speed)
        each = min(each, gathered + tuples * ceil_div(cost.per_item, node.speed))
    return (each + tuples * node.decision_cost) / SECOND


def stream_load(rate: float, size: int, medium: Bus | Link) -> float:
    """Share of a bus or link that a stream takes each time it enters: rate times transfer time."""
    return rate * transfer_time(size, medium) / SECOND
