"""Which jobs a task can get: how often, how old, how much work.

Everything is told in terms of the sources' arrivals. For a stream and a source: ``count`` tuples at
most per arrival, with timestamps at most ``back`` before the arrival (joins, windows and gathering
take the oldest timestamp among their inputs).

A join of which no number of partners is declared gets the largest that can be: a tuple's partners
lie within ``2 * within`` of sensing time, so what caused them arrived at the sources of the other
side in an interval longer by ``back``, and their arrival curves say how many that were. (Keys can
only lower it. How long the engine keeps tuples does not matter: it pairs by sensing time.) Each
pair has one tuple of either side, so all pairs can be counted to the tuples of one side; it is the
one with which they are fewer in the long run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.model.graph import Graph
from headway.model.operators import Operator
from headway.model.plan import Task
from headway.model.quantities import ArrivalCurve
from headway.model.vehicle import Node

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


Curves = Mapping[str, ArrivalCurve]
"""source -> what may come of it"""


@dataclass(slots=True)
class DerivedPartners:
    """Limits on the partners of joins that declare none, for the flows of one moment."""

    curves: Curves
    limits: dict[str, tuple[str, int]] = field(default_factory=dict)
    """join -> (port, most): once the port is chosen it stays, so that limits only grow"""

    def limited(self, operator: Operator, flows: Flows) -> Operator:
        """The operator with its limit, if it needs one."""
        apart = operator.partners_apart
        if apart is None:
            return operator
        others = dict(zip(operator.inputs, reversed(operator.inputs), strict=True))
        most = {one.port: self._within(flows[other.stream], apart) for one, other in others.items()}
        if operator.name in self.limits:
            port = self.limits[operator.name][0]
        else:
            pairs = {
                one.port: self._per_second(flows[one.stream]) * most[one.port] for one in others
            }
            port = min(pairs, key=lambda name: pairs[name])
        self.limits[operator.name] = (port, most[port])
        return operator.with_partners(port, most[port])

    def _within(self, flow: Mapping[str, Flow], length: int) -> int:
        """Most tuples of a stream with sensing times in a closed interval of that length."""
        found = sum(
            one.count * self.curves[source].in_interval(length + one.back)
            for source, one in flow.items()
        )
        return max(1, min(found, MOST_TUPLES))

    def _per_second(self, flow: Mapping[str, Flow]) -> float:
        return sum(
            self.curves[source].sustained.per_second * one.count for source, one in flow.items()
        )


def flows_of(
    graph: Graph, ages: dict[str, int], partners: DerivedPartners
) -> tuple[Flows, dict[str, Operator]]:
    """The flows of all streams, given each operator's input age; and the operators, with limits on
    their partners."""
    flows: Flows = {name: {name: Flow(1, source.age)} for name, source in graph.sources.items()}
    operators: dict[str, Operator] = {}
    for name in graph.order:
        operator = operators[name] = partners.limited(graph.operators[name], flows)
        if operator.clock is not None:
            # Its instants are arrivals of their own, of what is as old as that.
            flows[name] = {name: Flow(1, ages.get(name, 0) + operator.clock.hold)}
            continue
        merged: dict[str, Flow] = {}
        for stream in operator.streams:
            most = operator.most_results(stream)
            for source, flow in flows[stream].items():
                known = merged.get(source, Flow(0, 0))
                back = back_after(operator, flow.back, ages.get(name, 0))
                count = min(known.count + flow.count * most, MOST_TUPLES)
                merged[source] = Flow(count, max(known.back, back))
        flows[name] = merged
    return flows, operators


# ------------------------------------------------------------ streams of which nothing is known


def boundless(graph: Graph) -> dict[str, str]:
    """Stream -> the operator before it of which nobody says how many results it gives."""
    found: dict[str, str] = {}
    for name in graph.order:
        operator = graph.operators[name]
        before = [found[stream] for stream in operator.streams if stream in found]
        if not operator.has_bound:
            found[name] = name
        elif before:
            found[name] = before[0]
    return found


def why_boundless(operator: str) -> str:
    """What to say of such an operator."""
    return f"how many results one tuple can have in {operator} is not known: declare 'most_outputs'"


# ------------------------------------------------------------ work


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
    head: int
    """a job in which the head gives nothing"""
    result: int
    """a job that begins with a result that the head has: a window closed, a timeout is over"""

    @property
    def rest(self) -> int:
        """One result of the head on its way through the others."""
        return self.result - self.head


def work_of(task: Task, entry: str, graph: Graph, node: Node) -> Work:
    """What a job of the task costs at most when its tuple comes by the stream ``entry``."""
    decision, speed = node.decision_cost, node.speed
    head = graph.operators[task.operators[0]]
    # A job can preempt one other on each core, which costs a preemption and a decision to resume.
    overhead = (node.preemption_cost + decision) * node.cores
    assert head.cost is not None
    gathers = head.gathering is not None
    one = head.cost.of(1, speed) - head.cost.of(0, speed) if gathers else head.cost.worst(speed)
    of_head = overhead + one + decision
    section = head.cost.longest_section(speed) + decision
    rest, tuples, stream = 0, 1, head.name
    for name in task.operators[1:]:
        operator = graph.operators[name]
        cost = operator.cost
        assert cost is not None
        section = max(section, cost.longest_section(speed) + decision)
        rest += tuples * (cost.worst(speed) + decision)
        tuples *= operator.most_results(stream)
        stream = name
    return Work(
        per_tuple=of_head + head.most_results(entry) * rest,
        per_execution=head.cost.of(0, speed) + overhead + decision if gathers else 0,
        section=section + node.preemption_cost,
        head=of_head,
        result=of_head + rest,
    )
