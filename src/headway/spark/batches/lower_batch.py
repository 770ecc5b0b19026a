"""A plan over DataFrames, in batch: one vehicle or a fleet, all of a recording at once.

Native: filters, maps, unions, joins without a timeout, aggregates. In the engine, inside the tasks:
what needs the order of arrival, and what that depends on (:mod:`headway.spark.lowering.regions`).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from functools import partial, reduce

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from headway.compiler.node_queries import on_one_node
from headway.errors import DataError, Problem
from headway.model.graph import Graph, graph_of
from headway.model.operator_kinds import SPARK_BATCH
from headway.model.operators import Aggregate
from headway.model.plan import Plan
from headway.model.schema import ARRIVAL_COLUMN, TIMESTAMP_COLUMN, Schema
from headway.spark.capabilities import Mode, refuse_unsupported
from headway.spark.lowering.drops import Drops, maybe_late, with_marks
from headway.spark.lowering.engine_region import exits, run_region
from headway.spark.lowering.frames import StreamFrame, Watch
from headway.spark.lowering.given_sources import as_source, fits, in_order, order_of
from headway.spark.lowering.native_operators import lower_operator
from headway.spark.lowering.regions import Region, ancestors, calls_python, part_giving, region_of
from headway.spark.lowering.side_rows import LISTED_TYPE, unpacked
from headway.spark.lowering.source_questions import KnownTuples, SourceQuestions

_LATE, _YOUNG = "late", "young"
_STREAM = "stream"
_FOREVER = 2**63 - 1


class Lowered(dict[str, DataFrame]):
    """Outputs by name: vehicle, timestamp, fields.

    What several of them need is computed once and kept until :meth:`release`, or the end of the
    ``with`` block.
    """

    def __init__(self, plan: Plan, questions: SourceQuestions) -> None:
        super().__init__()
        self.kept: list[DataFrame] = []
        self.questions = questions
        self.drops = Drops(plan, self.keep, questions)
        self.read: dict[str, Set[str]] = {}
        """the sources of outputs whose tuples are never younger than those they are made of"""
        self.streams: dict[str, DataFrame] = {}
        """all that are not inside a part that the engine computes"""
        self.watched: dict[str, Observation] = {}

    def may_be_judged(self, output: str) -> bool:
        """Whether the output may have tuples as young as ``lower_batch`` was told to look for."""
        if output not in self.read:
            return True
        return any(self.questions.any(source, _YOUNG) for source in self.read[output])

    def rows(self) -> dict[str, int]:
        """How many tuples each of the streams has, in one job; what was not kept is computed
        again."""
        named = [data.select(F.lit(name).alias(_STREAM)) for name, data in self.streams.items()]
        counted = reduce(DataFrame.unionAll, named).groupBy(_STREAM).count().collect()
        return dict.fromkeys(self.streams, 0) | {row[_STREAM]: row["count"] for row in counted}

    def watch(self, output: str, condition: Column) -> Watch:
        """Looks for tuples that meet the condition while the output is computed."""
        seen = self.watched[output] = Observation()
        return Watch(condition, lambda made, met: made.observe(seen, F.max(met).alias(_LATE)))

    def holds(self, output: str) -> bool:
        """Whether what has been computed for an output is right: no tuple was late that was taken
        to be on time."""
        return output not in self.watched or not self.watched[output].get[_LATE]

    @property
    def side(self) -> DataFrame:
        """Tuples that left their way: ``kind``, the columns of the vehicle engine's side files,
        ``vehicle``."""
        found = self.left_out()
        if found is not None:
            return found
        session = next(iter(self.questions.data.values())).sparkSession
        return unpacked(session.createDataFrame([], LISTED_TYPE))

    def left_out(self) -> DataFrame | None:
        """:attr:`side`, or None where it is known to be empty."""
        return self.drops.table()

    def keep(self, data: DataFrame) -> DataFrame:
        """``data``, to be computed once."""
        kept = data.persist(StorageLevel.MEMORY_AND_DISK)
        self.kept.append(kept)
        return kept

    def release(self) -> None:
        while self.kept:
            self.kept.pop().unpersist()

    def __enter__(self) -> Lowered:
        return self

    def __exit__(self, *raised: object) -> None:
        self.release()


def lower_batch(
    plan: Plan,
    sources: Mapping[str, DataFrame],
    *,
    look_for_late: bool = True,
    judged_since: Mapping[str, int] | None = None,
    known: Mapping[str, KnownTuples] | None = None,
    watch: bool = False,
) -> Lowered:
    """The outputs of a plan over its sources, as DataFrames that nothing has computed yet.

    A source has the columns ``timestamp``, its fields, and if there are any ``vehicle``,
    ``arrived_at`` and ``position`` (a number that breaks ties of arrival, the place in the file).
    ``look_for_late`` runs a small job over the sources that feed joins or windows, to find that no
    tuple can be late; off, marks are always computed. ``judged_since`` says, by output, from which
    moment on (microseconds) tuples are judged (:meth:`Lowered.may_be_judged`). What is ``known`` of
    the sources' tuples need not be looked for. ``watch``: where a window alone reads a source, late
    tuples are looked for while it is computed; :meth:`Lowered.holds` then says whether what was
    computed is right.
    """
    plan = on_one_node(plan)
    refuse_unsupported(plan, Mode.BATCH)
    check_given(plan, sources)
    ordered = {one.name: in_order(sources[one.name], one) for one in plan.query.sources}
    delayed = {name for name in ordered if ARRIVAL_COLUMN in sources[name].columns}
    questions = SourceQuestions(ordered, known or {})
    return _Lowering(
        plan, questions, delayed, look_for_late, judged_since or {}, watch=watch
    ).lowered()


def sources_in_order(plan: Plan) -> set[str]:
    """The sources whose tuples may have to be put in their order of arrival."""
    graph = graph_of(on_one_node(plan).query)
    region = region_of(graph)
    return graph.sources.keys() & (region.streams | streams_with_marks(graph, region))


def given_sources(plan: Plan, sources: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """The DataFrames of the query's sources, held to their schemas; DataError if one is missing."""
    check_given(plan, sources)
    return {one.name: as_source(sources[one.name], one) for one in plan.query.sources}


def check_given(plan: Plan, sources: Mapping[str, DataFrame]) -> None:
    """DataError if a source of the query has no DataFrame."""
    wanted = plan.query.sources
    if missing := [source.name for source in wanted if source.name not in sources]:
        raise DataError(
            Problem(f"no data for source {name!r}", got=f"data for {', '.join(sources) or 'none'}")
            for name in missing
        )


class _Lowering:
    """Lowers each stream once."""

    def __init__(
        self,
        plan: Plan,
        questions: SourceQuestions,
        delayed: Set[str],
        look_for_late: bool,
        judged_since: Mapping[str, int],
        *,
        watch: bool,
    ) -> None:
        self.plan = plan
        self.graph: Graph = graph_of(plan.query)
        self.schemas: dict[str, Schema] = dict(plan.schemas)
        self.sources = {
            name: data.where(fits(self.graph.sources[name]))
            for name, data in questions.data.items()
        }
        self.questions = questions
        self.look_for_late = look_for_late
        self.delayed = delayed
        self.judged_since = judged_since
        self.may_watch = watch
        self.watches: dict[str, Watch] = {}
        self.region: Region = region_of(self.graph)
        self.marked = streams_with_marks(self.graph, self.region)
        self.result = Lowered(plan, self.questions)
        self.drops = self.result.drops
        self.frames: dict[str, StreamFrame] = {}

    def lowered(self) -> Lowered:
        if self.region.exits:
            part = part_giving(self.plan, self.region.exits)
            watched = tuple(name for name in self.region.exits if name in self.marked)
            data = self.result.keep(run_region(part, dict(self.sources), watched))
            self.drops.by_engine(data)
            self.frames |= exits(data, {name: self.schemas[name] for name in self.region.exits})
        self._ask_for_young()
        native = [n for n in self.graph.sources if n not in self.frames and self._uses(n)]
        for name in native:
            if name in self.marked & self.delayed:
                self._look_for_late(name)
        for name in native:
            self.frames[name] = self._source(name)
        for name in self.graph.order:
            if name not in self.region.streams:
                self.frames[name] = self._operator(name)
        for name, output in self.graph.outputs.items():
            self.result[name] = self.frames[output.stream].output()
        given = {name: frame.data for name, frame in self.frames.items()}
        self.result.streams = dict(self.sources) | given
        return self.result

    def _ask_for_young(self) -> None:
        """Native operators give tuples the age of the oldest they are made of; what runs in the
        engine may give any."""
        since: dict[str, int] = {}
        for name, output in self.graph.outputs.items():
            before = ancestors(self.graph, [output.stream])
            if name in self.judged_since and before.isdisjoint(self.region.exits):
                self.result.read[name] = before & self.graph.sources.keys()
                for source in self.result.read[name]:
                    since[source] = min(self.judged_since[name], since.get(source, _FOREVER))
        for source, moment in since.items():
            young = F.col(TIMESTAMP_COLUMN) >= F.timestamp_micros(F.lit(moment))
            self.questions.ask(
                source, _YOUNG, young, self.questions.known_of(source).any_since(moment)
            )

    def _on_time(self, name: str) -> bool:
        """What arrived when it was sensed is never late."""
        if not self.look_for_late:
            return False
        return name not in self.delayed or not self.questions.any(name, _LATE)

    def _look_for_late(self, name: str) -> None:
        late = maybe_late(self.graph.sources[name])
        known = self.questions.known_of(name).late()
        output = None if known is not None else self._watching(name)
        if output is None:
            self.questions.ask(name, _LATE, late, known)
        else:
            self.watches[name] = self.result.watch(output, late)

    def _source(self, name: str) -> StreamFrame:
        source, data = self.graph.sources[name], self.sources[name]
        marked = name in self.marked and not self._on_time(name)
        if marked:
            data = with_marks(data, source, order_of(source))
        watch = self.watches.get(name)
        frame = StreamFrame(data, source.schema, marked, timed=True, watch=watch)
        return self._shared(name, frame) if marked else frame

    def _watching(self, source: str) -> str | None:
        """The output that is a window over all tuples of the source, and the only one to read it:
        its job sees every tuple once, and the window can say what it saw."""
        if not (self.may_watch and self.look_for_late and self._uses(source) == 1):
            return None
        for name in self.graph.consumers[source]:
            outputs = self.graph.outputs_of[name]
            window = isinstance(self.graph.operators[name], Aggregate)
            if window and self._uses(name) == 1 and len(outputs) == 1:
                return outputs[0]
        return None

    def _operator(self, name: str) -> StreamFrame:
        operator = self.graph.operators[name]
        inputs = {port.port: self.frames[port.stream] for port in operator.inputs}
        if calls_python(operator):
            ((port, frame),) = inputs.items()
            on_failed = partial(self.drops.failed, name, frame)
            inputs = {port: replace(frame, on_failed=on_failed)}
        if operator.traits.drops_late:
            for port, frame in inputs.items():
                self.drops.late(name, port, frame)
        frame = lower_operator(operator, SPARK_BATCH, inputs, self.schemas[name])
        return self._shared(name, frame) if self._costly(name) else frame

    # ---------------------------------------------------------------- computed once

    def _uses(self, stream: str) -> int:
        """How often the native part reads a stream."""
        readers = (self.graph.operators[name] for name in self.graph.consumers[stream])
        return len(self.graph.outputs_of[stream]) + sum(
            reader.streams.count(stream)
            for reader in readers
            if reader.name not in self.region.streams
        )

    def _costly(self, stream: str) -> bool:
        """Whether computing it again would be more than reading a source and looking at rows."""
        if stream in self.graph.sources:
            return stream in self.region.exits or stream in self.marked
        operator = self.graph.operators[stream]
        return operator.traits.keeps_state or any(map(self._costly, operator.streams))

    def _shared(self, name: str, frame: StreamFrame) -> StreamFrame:
        if self._uses(name) < 2:
            return frame
        return frame.with_data(self.result.keep(frame.data))


def streams_with_marks(graph: Graph, region: Region) -> set[str]:
    """The streams whose marks a native join or aggregate asks for."""
    wanted: set[str] = set()
    for name in reversed(graph.order):
        operator = graph.operators[name]
        if name in region.streams:
            continue
        if operator.traits.drops_late or name in wanted:
            wanted.update(operator.streams)
    return wanted
