"""Long-run loads at worst-case rates: an operator's on a node, a stream's on a bus or link."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.cost import Cost, ceil_div
from headway.model.operators import Fusion, Gather, Operator, UserDefined
from headway.model.time import SECOND
from headway.model.vehicle import Bus, Link, Node
from headway.model.wire import transfer_time

TOLERANCE = 1e-6
"""Relative excess over a capacity that is rounding and not overload."""


def fits(load: float, capacity: float) -> bool:
    """Whether a load stays within a capacity, up to rounding."""
    return load <= capacity * (1 + TOLERANCE) + 1e-12


def executions(operator: Operator, input_rates: Sequence[float]) -> float:
    """Most executions per second in the long run; ``input_rates`` are tuples per second by port.

    An operator without a timeout runs once a tuple. One that gathers all inputs runs when it has
    them, at most as often as the slowest comes, or when its timeout is over; one that gathers for a
    time runs at most once in that time.
    """
    every_tuple = sum(input_rates)
    if operator.timeout is None or not isinstance(operator, UserDefined | Fusion):
        return every_tuple
    expiries = SECOND / max(operator.timeout, 1)
    if operator.gather is Gather.TIME:
        return min(every_tuple, expiries)
    return min(every_tuple, min(input_rates, default=0.0) + expiries)


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
