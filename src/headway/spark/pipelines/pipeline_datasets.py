"""Which datasets a query becomes in a Spark Declarative Pipeline.

An output that needs no memory is a *streaming table*: each run of the pipeline takes what is new.
All others are *materialized views*, computed anew from all tuples by each run, so they mean what a
batch means, with no state to keep or to lose. What several datasets of one kind read is a dataset
too. What needs the order of arrival (:mod:`headway.spark.lowering.regions`) runs in the engine
inside the tasks, once, and is one dataset with all streams that leave it.

Nothing here needs Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from headway.compiler.node_queries import on_one_node
from headway.model.graph import Graph, graph_of
from headway.model.plan import Plan
from headway.model.query import Output
from headway.spark.capabilities import Mode, refuse_unsupported
from headway.spark.lowering.regions import ancestors, keeps_state, part_with, region_of


class DatasetKind(StrEnum):
    """As the decorators of ``pyspark.pipelines`` are called."""

    STREAMING_TABLE = "table"
    MATERIALIZED_VIEW = "materialized_view"


class Content(StrEnum):
    OUTPUT = "output"
    """what a user sees: vehicle, timestamp, fields"""
    STREAM = "stream"
    """the same, and whether each tuple came late"""
    ENGINE = "engine"
    """all streams that leave the engine inside the tasks, tagged"""


@dataclass(frozen=True, slots=True)
class Dataset:
    """``name`` is what Spark's catalog calls it; ``streams`` are the query's names of what is in
    it, ``reads`` the datasets and ``sources`` the sources that it is computed from directly, and
    ``operators`` those that are computed for it."""

    name: str
    kind: DatasetKind
    content: Content
    streams: tuple[str, ...]
    output: Output | None = None
    reads: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PipelinePart:
    """The datasets of one kind: the part of the plan that they compute, and ``stored``: stream ->
    the dataset that holds it for others."""

    plan: Plan
    graph: Graph
    kind: DatasetKind
    datasets: tuple[Dataset, ...]
    stored: dict[str, str]


def pipeline_parts(plan: Plan) -> tuple[PipelinePart, ...]:
    """First the streaming tables, then the materialized views; each dataset after those it reads.
    UnsupportedError for what Spark cannot do in batch."""
    plan = on_one_node(plan)
    refuse_unsupported(plan, Mode.BATCH)
    remembering = {
        output.name
        for output in plan.query.outputs
        if _needs_memory(part_with(plan, [output.name]))
    }
    names = _Names(output.name for output in plan.query.outputs)
    parts = []
    for kind in DatasetKind:
        views = kind is DatasetKind.MATERIALIZED_VIEW
        mine = [o.name for o in plan.query.outputs if (o.name in remembering) is views]
        if mine:
            parts.append(_part(part_with(plan, mine), kind, names))
    return tuple(parts)


def _needs_memory(part: Plan) -> bool:
    return bool(region_of(graph_of(part.query), keeps_state).streams)


def _part(plan: Plan, kind: DatasetKind, names: _Names) -> PipelinePart:
    graph = graph_of(plan.query)
    in_engine: frozenset[str] = frozenset()
    stored: dict[str, str] = {}
    found: list[tuple[str, Content, tuple[str, ...], Output | None]] = []
    if kind is DatasetKind.MATERIALIZED_VIEW:
        region = region_of(graph)
        in_engine = region.streams
        if region.exits:
            engine = names.of("engine")
            stored |= dict.fromkeys(region.exits, engine)
            found.append((engine, Content.ENGINE, region.exits, None))
    for stream in graph.order:
        if stream not in in_engine and _readers(graph, stream, in_engine) > 1:
            stored[stream] = names.of(stream)
            found.append((stored[stream], Content.STREAM, (stream,), None))
    found += [
        (names.output(output.name), Content.OUTPUT, (output.stream,), output)
        for output in graph.outputs.values()
    ]
    datasets = []
    for name, content, streams, given in found:
        if content is Content.ENGINE:
            before = ancestors(graph, streams)
            reads: set[str] = set()
        else:
            before, reads = _own(graph, streams, stored, name)
        datasets.append(
            Dataset(
                name,
                kind,
                content,
                streams,
                given,
                tuple(one for one in dict.fromkeys(stored.values()) if one in reads),
                tuple(source for source in graph.sources if source in before),
                tuple(operator for operator in graph.order if operator in before),
            )
        )
    return PipelinePart(plan, graph, kind, tuple(datasets), stored)


def _readers(graph: Graph, stream: str, in_engine: frozenset[str]) -> int:
    native = (name for name in graph.consumers[stream] if name not in in_engine)
    readers = sum(graph.operators[name].streams.count(stream) for name in native)
    return readers + len(graph.outputs_of[stream])


def _own(
    graph: Graph, streams: Iterable[str], stored: dict[str, str], name: str
) -> tuple[set[str], set[str]]:
    """The sources and operators that are computed for a dataset, and the datasets it reads."""
    computed, reads = set(), set()
    pending = list(streams)
    while pending:
        stream = pending.pop()
        if stored.get(stream, name) != name:
            reads.add(stored[stream])
        elif stream not in computed:
            computed.add(stream)
            if stream in graph.operators:
                pending += graph.operators[stream].streams
    return computed, reads


class _Names:
    """Of datasets: Spark's catalog knows no dots in them and does not tell capitals apart. Outputs
    keep theirs; what comes after them gives way."""

    def __init__(self, outputs: Iterable[str]) -> None:
        self._taken: set[str] = set()
        self._outputs = {name: self.of(name) for name in outputs}

    def output(self, name: str) -> str:
        return self._outputs[name]

    def of(self, name: str) -> str:
        plain = name.replace(".", "_")
        found, number = plain, 1
        while found.lower() in self._taken:
            number += 1
            found = f"{plain}_{number}"
        self._taken.add(found.lower())
        return found
