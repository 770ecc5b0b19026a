"""Pass: operator trains, the tasks of each node (S-EDF Algorithm 3, AEDSMS section 5.6).

A stream from operator u to operator v is passed on *inside* a train when both are on one node, v
does not wait (no timeout, no window of output, no clock) and nothing else takes u's stream. A train
starts at an operator that some other stream enters and follows such inner streams to their end, so
an operator reached on two ways stands in the trains of both. The paper's text asks for all
predecessors at once; its tables decide stream by stream, and so does this pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from headway.compiler.compilation import Compilation
from headway.errors import Problem, QueryError
from headway.model.graph import Graph
from headway.model.operators import Operator
from headway.model.plan import Task
from headway.model.vehicle import Vehicle


def trains(compilation: Compilation) -> Compilation:
    """The tasks of every node, as trains and operator by operator; deadlines are still open."""
    graph, placement, vehicle = compilation.graph, compilation.placement, compilation.vehicle
    if problems := list(_optional_problems(compilation)):
        raise QueryError(problems)
    return replace(
        compilation,
        tasks=form_tasks(graph, placement, vehicle),
        operator_tasks=form_tasks(graph, placement, vehicle, fuse=False),
    )


def _optional_problems(compilation: Compilation) -> Iterator[Problem]:
    """What waits for an optional part must wait for nothing else: an output has a deadline and
    nothing behind it, another operator would start too late."""
    graph = compilation.graph
    for name, operator in graph.operators.items():
        part = operator.optional_part
        if part is None:
            continue
        at = f"{compilation.origins.get(name, name)}.optional"
        if part.time < 1 or part.piece < 1:
            yield Problem("an optional part and its pieces must take some time", at=at)
        if graph.consumers[name]:
            yield Problem(
                "the results of an operator with an optional part may go to outputs only",
                at=at,
                got=f"read by {', '.join(graph.consumers[name])}",
                want="put the optional part into the last operator",
            )


def form_tasks(
    graph: Graph, placement: Mapping[str, str], vehicle: Vehicle, *, fuse: bool = True
) -> tuple[Task, ...]:
    """The trains, or with ``fuse`` off every operator by itself, numbered T1, T2, … in a fixed
    order: node as in the vehicle, then the last operator as declared, then the shorter train,
    then the first operator as declared."""
    node_of = {node.name: node for node in vehicle.nodes}
    node_rank = {name: rank for rank, name in enumerate(node_of)}
    declared = {name: rank for rank, name in enumerate(graph.operators)}
    inner = inner_streams(graph, placement) if fuse else set()

    found = []
    for head in graph.order:
        entries = [s for s in dict.fromkeys(graph.operators[head].streams) if s not in inner]
        if not entries:
            continue
        operators = [head]
        while operators[-1] in inner:
            operators.append(graph.consumers[operators[-1]][0])
        found.append((tuple(operators), tuple(entries)))
    found.sort(
        key=lambda train: (
            node_rank[placement[train[0][0]]],
            declared[train[0][-1]],
            len(train[0]),
            declared[train[0][0]],
        )
    )
    return tuple(
        Task(
            name=f"T{number}",
            node=placement[operators[0]],
            operators=operators,
            entries=entries,
            cost=sum(
                cost.worst(node_of[placement[operators[0]]].speed)
                for name in operators
                if (cost := graph.operators[name].cost) is not None
            ),
            relative_deadline=0,
            formula="",
            outputs=graph.outputs_of[operators[-1]],
        )
        for number, (operators, entries) in enumerate(found, start=1)
    )


def inner_streams(graph: Graph, placement: Mapping[str, str]) -> set[str]:
    """The streams that stay inside a train: to one operator, by one port, on the same node."""
    inner = set()
    for name in graph.order:
        if graph.out_degree(name) != 1 or not graph.consumers[name]:
            continue
        consumer = graph.operators[graph.consumers[name][0]]
        one_port = consumer.streams.count(name) == 1
        if placement[consumer.name] == placement[name] and one_port and not waits(consumer):
            inner.add(name)
    return inner


def waits(operator: Operator) -> bool:
    """Whether the operator can become runnable without a new tuple: it then heads its trains."""
    on_time = operator.traits.emits_on_time or operator.clock is not None
    return operator.timeout is not None or on_time
