"""Which jobs a task can get, and how long work under way holds up what is more urgent."""

from __future__ import annotations

from dataclasses import dataclass

from headway.model.graph import Graph
from headway.model.operators import Operator
from headway.model.plan import Task
from headway.model.vehicle import Node

# ------------------------------------------------------------
# Which jobs a task can get: how often, how old, how much work.
#
# Everything is told in terms of the sources' arrivals. For a stream and a source: ``count``
# tuples at most per arrival, with timestamps at most ``back`` before the arrival (joins, windows
# and gathering take the oldest timestamp among their inputs).

MOST_TUPLES = 2**60
"""Counts stop here: more than that of any work at all is beyond every node, whatever the period."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Tuples of a stream that one source's arrivals cause."""

    count: int
    back: int


Flows = dict[str, dict[str, Flow]]
"""stream -> source -> flow"""


def back_after(operator: Operator, back: int, age: int) -> int:
    """How far before its arrival the timestamp can lie that a tuple's result has.

    ``back`` is that of the tuple itself, ``age`` the oldest its operator's inputs can be. In one
    execution of a gathering operator all inputs are at most ``age + timeout`` old, and it runs
    after they arrived."""
    if operator.gathering is not None:
        return age + (operator.timeout or 0)
    return back + operator.looks_back


def flows_of(graph: Graph, ages: dict[str, int]) -> Flows:
    """The flows of all streams, given each operator's input age."""
    flows: Flows = {name: {name: Flow(1, source.age)} for name, source in graph.sources.items()}
    for name in graph.order:
        operator = graph.operators[name]
        merged: dict[str, Flow] = {}
        for stream in operator.streams:
            most = operator.most_results(stream)
            for source, flow in flows[stream].items():
                known = merged.get(source, Flow(0, 0))
                back = back_after(operator, flow.back, ages.get(name, 0))
                count = min(known.count + flow.count * most, MOST_TUPLES)
                merged[source] = Flow(count, max(known.back, back))
        flows[name] = merged
    return flows


@dataclass(frozen=True, slots=True)
class Work:
    """Computation times of a task on its node, scheduling costs included."""

    per_tuple: int
    """all a tuple can cause; for a gathering head without the part that is paid once an
    execution"""
    per_execution: int
    """the base part of a gathering head, else 0"""
    section: int
    """the longest stretch without a preemption point"""


def work_of(task: Task, entry: str, graph: Graph, node: Node) -> Work:
    """What a job of the task costs at most when its tuple comes by the stream ``entry``."""
    decision, speed = node.decision_cost, node.speed
    head = graph.operators[task.operators[0]]
    tuples = 1
    # A job can preempt one other, which then costs a preemption and a decision to resume.
    per_tuple = node.preemption_cost + decision
    per_execution = 0
    section = 0
    for name in task.operators:
        operator = graph.operators[name]
        cost = operator.cost
        assert cost is not None
        section = max(section, cost.longest_section(speed) + decision)
        if operator is head and head.gathering is not None:
            per_tuple += cost.of(1, speed) - cost.of(0, speed) + decision
            per_execution = cost.of(0, speed) + 2 * decision + node.preemption_cost
        else:
            per_tuple += tuples * (cost.worst(speed) + decision)
        tuples *= operator.most_results(entry)
        entry = name
    return Work(per_tuple, per_execution, section + node.preemption_cost)
