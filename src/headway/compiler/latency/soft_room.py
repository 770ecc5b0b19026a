"""How much of each node reservations of soft jobs may hold so that hard promises are still kept.

Theorem 1 of the ROP-EDF paper is about jobs that can be interrupted at any time. Operators cannot:
one that is under way holds up what is more urgent. So the room for soft jobs is found with the
demand bounds of the verdict. Soft jobs that are released and due within an interval bring at most
their reserved share of it, whatever their number (:class:`Analysis`); the largest shares are
searched with which every hard output that can be promised still is.
"""

from __future__ import annotations

from collections.abc import Callable

from headway.compiler.latency.latency_analysis import Analysis
from headway.compiler.latency.verdict import broken, compilation_of
from headway.compiler.utilisation import operator_load, rates
from headway.model.graph import Graph
from headway.model.plan import Plan, Task
from headway.model.query import Criticality
from headway.model.taskset import FULL

FINEST = FULL // 500
"""shares are found to 0.2 %"""


def needed_by_hard(stream: str, graph: Graph) -> bool:
    """Whether a hard output comes of this stream."""
    reached, pending = {stream}, [stream]
    while pending:
        name = pending.pop()
        if any(graph.outputs[o].criticality is Criticality.HARD for o in graph.outputs_of[name]):
            return True
        new = set(graph.consumers[name]) - reached
        reached |= new
        pending += new
    return False


def is_soft(task: Task, graph: Graph) -> bool:
    """Whether no hard output needs this task."""
    return not any(needed_by_hard(name, graph) for name in task.operators)


def soft_rooms(plan: Plan) -> dict[str, int]:
    """Node -> the share (millionths) for soft jobs; nodes without soft tasks are not in it.

    All nodes get the same part of what hard tasks leave, then each as much more as goes. Where no
    hard output can be promised at all, nothing is taken away from what hard tasks leave."""
    compilation = compilation_of(plan)
    graph = compilation.graph
    soft = frozenset(task.name for task in plan.tasks if is_soft(task, graph))
    nodes = list(dict.fromkeys(task.node for task in plan.tasks if task.name in soft))
    left = _left(plan, graph)
    hard = [one for one in plan.query.outputs if one.criticality is Criticality.HARD]
    nothing = Analysis(compilation, reserved=dict.fromkeys(nodes, 0), soft=soft)
    hopeless = {output.name for output in broken(nothing, hard)}
    promised = [output for output in hard if output.name not in hopeless]

    def holds(shares: dict[str, int]) -> bool:
        return not broken(Analysis(compilation, reserved=shares, soft=soft), promised)

    part = _largest(0, FULL, lambda part: holds({n: left[n] * part // FULL for n in nodes}))
    found = {node: left[node] * part // FULL for node in nodes}
    for node in nodes:
        found[node] = _largest(
            found[node],
            left[node],
            lambda share, node=node: holds({**found, node: share}),  # type: ignore[misc]
        )
    return found


def _largest(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The largest number that holds, if those below one that holds do; ``low`` does."""
    if low >= high or holds(high):
        return high
    while high - low > FINEST:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def _left(plan: Plan, graph: Graph) -> dict[str, int]:
    """What operators that hard outputs need leave of each node in the long run."""
    found = rates(compilation_of(plan)).rates
    placement = dict(plan.placement)
    left = {}
    for node in plan.vehicle.nodes:
        load = sum(
            operator_load(operator, [found[stream] for stream in operator.streams], node)
            for name, operator in graph.operators.items()
            if placement[name] == node.name and needed_by_hard(name, graph)
        )
        left[node.name] = max(0, int((1 - load) * FULL))
    return left
