"""Which part of a query must run in arrival order inside the engine, and which is native.

What needs the order of arrival or timers (user-defined and fusion operators, timeouts, load
shedders, and functions of the user in or after a join or a window, because the side outputs tell
when one failed) forms the *region*, together with everything it depends on. The engine runs the
region, vehicle by vehicle, and gives each tuple of the streams that leave it with its mark; what
comes after depends on tuples and marks only, and is native again. Streaming keeps all state in the
engine (see :mod:`headway.spark.streams.lower_stream`), so there joins and windows need it too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from headway.compiler.node_queries import meaning_of
from headway.model.expression import PythonCall
from headway.model.graph import Graph, graph_of
from headway.model.operator_kinds import SPARK_BATCH, SPARK_STREAM, is_hosted
from headway.model.operators import Operator
from headway.model.plan import Plan
from headway.model.quantities import SECOND
from headway.model.query import Output

Needs = Callable[[Operator], bool]


def needs_arrival_order(operator: Operator) -> bool:
    """For a batch: its results depend on when its inputs came, or Spark has nothing of its own for
    it."""
    ordered = operator.traits.order_matters or operator.timeout is not None
    listed = operator.traits.drops_late and calls_python(operator)
    return ordered or listed or is_hosted(operator, SPARK_BATCH)


def calls_python(operator: Operator) -> bool:
    """Whether a function of the user may fail in it."""
    return any(isinstance(value, PythonCall) for value in operator.expressions)


def keeps_state(operator: Operator) -> bool:
    """For a stream: it remembers tuples between micro-batches, or Spark has nothing of its own for
    it."""
    return operator.traits.keeps_state or is_hosted(operator, SPARK_STREAM)


@dataclass(frozen=True, slots=True)
class Region:
    """Streams (sources and operators) that run in the engine, and those of them used outside."""

    streams: frozenset[str]
    exits: tuple[str, ...]


def region_of(graph: Graph, needs: Needs = needs_arrival_order) -> Region:
    shed = {name for name, source in graph.sources.items() if source.shedder is not None}
    needing = {name for name, operator in graph.operators.items() if needs(operator)}
    needing |= {
        name
        for name, operator in graph.operators.items()
        if calls_python(operator) and _after_windows(graph, name)
    }
    streams = ancestors(graph, shed | needing)
    used = {
        stream
        for name, operator in graph.operators.items()
        if name not in streams
        for stream in operator.streams
    } | {output.stream for output in graph.outputs.values()}
    # An ordinary source is read, not recomputed.
    plain = graph.sources.keys() - shed
    every = (*graph.sources, *graph.order)
    exits = tuple(s for s in every if s in streams and s in used and s not in plain)
    return Region(frozenset(streams), exits)


def _after_windows(graph: Graph, stream: str) -> bool:
    before = ancestors(graph, [stream]) - {stream}
    return any(graph.operators[name].traits.drops_late for name in before & graph.operators.keys())


def ancestors(graph: Graph, streams: Iterable[str]) -> set[str]:
    """The streams and all they are computed from."""
    found: set[str] = set()
    pending = list(streams)
    while pending:
        stream = pending.pop()
        if stream not in found:
            found.add(stream)
            if stream in graph.operators:
                pending += graph.operators[stream].streams
    return found


def part_giving(plan: Plan, streams: Collection[str]) -> Plan:
    """The part of a plan that computes these streams, each an output of its own name."""
    outputs = (Output(name=stream, stream=stream, deadline=SECOND) for stream in streams)
    return _part(plan, tuple(outputs))


def part_with(plan: Plan, names: Collection[str]) -> Plan:
    """The part of a plan that computes these outputs."""
    return _part(plan, tuple(output for output in plan.query.outputs if output.name in names))


def _part(plan: Plan, outputs: tuple[Output, ...]) -> Plan:
    """Sources and operators keep their order, and with it the meaning."""
    kept = ancestors(graph_of(plan.query), [output.stream for output in outputs])
    query = replace(
        plan.query,
        sources=tuple(source for source in plan.query.sources if source.name in kept),
        steps=tuple(operator for operator in plan.query.operators if operator.name in kept),
        outputs=outputs,
    )
    return meaning_of(query, {stream: schema for stream, schema in plan.schemas if stream in kept})
