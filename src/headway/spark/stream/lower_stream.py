"""A plan over streaming DataFrames (Structured Streaming).

Outputs that need no memory (only filters, maps and unions before them) are native columns, or with
functions of the user the engine's own, tuple by tuple
(:mod:`headway.spark.lowering.engine_region`). All others are computed by the vehicle engine itself,
without costs, one instance per vehicle inside ``transformWithState``; its whole state is plain data
that Spark keeps between micro-batches.

A stream cuts its sources into micro-batches wherever it likes, so one source may be ahead of
another. :class:`VehicleStream` puts a vehicle's tuples back into the order of arrival: a tuple is
run only when nothing that arrived before it can still come, because every other source has been
seen that far. Each source must keep its own order of arrival. The result then does not depend on
where the cuts fall and is that of a batch over the same data, apart from what still waits when the
stream stops: windows that are open, timers that run, tuples held for a silent source.
:func:`finish_stream` gives these once the input has ended.

A stream with state cannot be split between queries of Spark without computing it twice, so all
outputs come in one DataFrame, tagged; :func:`headway.spark.stream.stream_sinks.write_tagged` takes
them apart inside ``foreachBatch``.
"""

from __future__ import annotations

import json
import math
import sys
from bisect import insort
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import StringType, StructField, StructType

from headway.compiler.node_queries import on_one_node
from headway.engine.jobs import NEVER
from headway.engine.operators.operator_base import Dropped
from headway.engine.stepwise import StepResult, Stepwise
from headway.errors import DataError
from headway.model.codec import plan_to_json
from headway.model.graph import graph_of
from headway.model.operator_kinds import SPARK_STREAM
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.model.schema import VEHICLE_COLUMN, Schema
from headway.model.user_operator import Row, State
from headway.spark.batch.lower_batch import Lowered, given_sources
from headway.spark.capabilities import Mode, refuse_unsupported
from headway.spark.lowering.engine_region import (
    EXIT,
    engine_of,
    exit_schema,
    exits,
    listing_of,
    run_stateless,
    side_tables,
    struct_name,
    tables,
    tagged_sources,
)
from headway.spark.lowering.frames import (
    ARRIVED,
    LATE,
    POSITION,
    SOURCE,
    StreamFrame,
    plain_row,
    to_plain,
)
from headway.spark.lowering.native_operators import lower_operator
from headway.spark.lowering.one_pass import run_in_one_pass, sharing
from headway.spark.lowering.regions import (
    ancestors,
    calls_python,
    keeps_state,
    part_with,
    region_of,
)
from headway.spark.lowering.side_rows import SIDE, SIDE_EXIT, SIDE_TYPE, unpacked
from headway.spark.session.python_workers import enter

# ---------------------------------------------------------------- one vehicle's tuples


class Held(NamedTuple):
    """A tuple that waits for other sources; ordered by arrival, source and place."""

    at: int
    """arrival, microseconds"""
    source: int
    position: int | None
    row: Row


class VehicleStream:
    """The engine of one vehicle after another: :meth:`restore` puts it into a vehicle's state."""

    def __init__(self, engine: Stepwise, sources: list[str]) -> None:
        self._engine = engine
        self._sources = sources
        self._held: list[Held] = []
        self._seen: list[int | None] = [None] * len(sources)
        """the last arrival of each source"""

    def offer(self, tuples: Iterable[Held]) -> list[StepResult]:
        """Tuples of any sources in any order; gives the results of what can be run now."""
        seen = self._seen
        for one in tuples:
            insort(self._held, one, key=_order)
            last = seen[one.source]
            if last is None or one.at > last:
                seen[one.source] = one.at
        ready = 0
        while ready < len(self._held) and self._complete_before(self._held[ready]):
            ready += 1
        self._take(ready)
        known = [last for last in seen if last is not None]
        if len(known) == len(seen):
            self._engine.run_until(min(known) * MICROSECOND)
        return self._engine.take_results()

    def _complete_before(self, first: Held) -> bool:
        """Whether all that comes before this tuple is there. Of one instant, the sources declared
        first come first, so those must be seen beyond it."""
        for source, last in enumerate(self._seen):
            if source == first.source:
                continue
            if last is None or last < first.at or (last == first.at and source < first.source):
                return False
        return True

    def _take(self, count: int) -> None:
        for one in self._held[:count]:
            self._engine.take(one.at * MICROSECOND, self._sources[one.source], one.row)
        del self._held[:count]

    def go_on(self, idle_us: int) -> list[StepResult]:
        """Nothing has come for that long: silent sources are not waited for any longer, and time
        goes on."""
        self._take(len(self._held))
        known = [last for last in self._seen if last is not None]
        if known:
            self._engine.run_until((max(known) + idle_us) * MICROSECOND)
        return self._engine.take_results()

    def finish(self) -> list[StepResult]:
        """The input has ended."""
        self._take(len(self._held))
        self._engine.finish()
        return self._engine.take_results()

    def take_dropped(self) -> list[tuple[int, Dropped]]:
        """What left its way since the last call, and when (ns)."""
        return self._engine.take_dropped()

    @property
    def waits(self) -> bool:
        """Whether going on could give something: tuples are held, or timers run."""
        return bool(self._held) or self._engine.next_timer < NEVER

    def snapshot(self) -> State:
        return {
            "engine": self._engine.snapshot(),
            "held": [[one.at, one.source, one.position, list(one.row)] for one in self._held],
            "seen": self._seen,
        }

    def restore(self, state: State | None) -> None:
        """A vehicle's state, or None for one that is new."""
        self._engine.restore(None if state is None else state["engine"])
        held = [] if state is None else state["held"]
        self._held = [Held(at, source, place, tuple(row)) for at, source, place, row in held]
        self._seen = [None] * len(self._sources) if state is None else list(state["seen"])


def _order(one: Held) -> tuple[Any, ...]:
    """Without positions the tuple itself breaks ties, as it does in batch."""
    if one.position is not None:
        return one.at, one.source, 1, one.position
    return one.at, one.source, 0, *map(_rank, one.row)


def _rank(value: Any) -> tuple[int, Any]:
    """Spark's order: NULL, values, NaN."""
    if value is None:
        return 0, 0
    return (2, 0) if isinstance(value, float) and math.isnan(value) else (1, value)


# ---------------------------------------------------------------- the lowering


STATE = "vehicle"
"""the name of the state variable"""
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True, slots=True)
class LoweredStream:
    """``tagged`` has the tuples of all outputs; ``stateful`` says whether a state is kept."""

    tagged: DataFrame
    schemas: dict[str, Schema]
    stateful: bool

    def split(self, batch: DataFrame) -> dict[str, DataFrame]:
        """The outputs in a micro-batch of ``tagged``: vehicle, timestamp, fields."""
        return {name: frame.output() for name, frame in exits(batch, self.schemas).items()}


def lower_stream(
    plan: Plan,
    sources: Mapping[str, DataFrame],
    *,
    outputs: Collection[str] | None = None,
    hold: int | None = None,
    listed: Collection[str] | None = None,
) -> LoweredStream:
    """The outputs of a plan (all, or those named) over streaming sources, and what is dropped on
    the way (of ``listed`` sources and operators, or of all).

    Sources have the columns that :func:`headway.spark.batch.lower_batch.lower_batch` wants; each
    must come in order of arrival, vehicle by vehicle. ``hold`` (ns) is how long a vehicle's tuples
    wait, by the clock, for a source of which nothing comes; None: for ever, as a replay wants it. A
    tuple that comes after that counts as arriving when it comes.
    """
    plan = on_one_node(plan)
    if outputs is not None:
        plan = part_with(plan, outputs)
    refuse_unsupported(plan, Mode.STREAM)
    given = given_sources(plan, sources)
    stateful, stateless = _divided(plan)
    names = [output.name for output in plan.query.outputs]
    graph, schemas = graph_of(plan.query), dict(plan.schemas)
    leaving = {name: schemas[graph.outputs[name].stream] for name in names}
    parts = []
    mine = {*graph.sources, *graph.operators} if listed is None else set(listed)
    if stateful:
        part = part_with(plan, stateful)
        parts.append(_by_engine(part, given, names, leaving, hold, frozenset(mine)))
        mine -= graph_of(part.query).operators.keys() | graph_of(part.query).sources.keys()
    if stateless:
        native, by_function = _without_functions(part_with(plan, stateless))
        if by_function:
            rest = part_with(plan, by_function)
            parts.append(run_stateless(rest, given, names, leaving, frozenset(mine)))
        for source, some in sharing(part_with(plan, native)).items() if native else ():
            part = part_with(plan, some)
            parts.append(run_in_one_pass(part, source, given[source], names, leaving))
            native = [name for name in native if name not in some]
        if native:
            parts += _native(part_with(plan, native), given, names, leaving)
    tagged = parts[0]
    for one in parts[1:]:
        tagged = tagged.union(one)
    return LoweredStream(tagged, leaving, bool(stateful))


def _divided(plan: Plan) -> tuple[list[str], list[str]]:
    """The outputs that need state and those that do not."""
    graph = graph_of(plan.query)
    with_state = {
        output.name
        for output in plan.query.outputs
        if region_of(graph_of(part_with(plan, [output.name]).query), keeps_state).streams
    }
    names = list(graph.outputs)
    return [n for n in names if n in with_state], [n for n in names if n not in with_state]


# ---------------------------------------------------------------- without state


def _without_functions(part: Plan) -> tuple[list[str], list[str]]:
    """Outputs that are SQL only, and those that a function of the user may fail."""
    graph = graph_of(part.query)
    by_function = [
        name
        for name, output in graph.outputs.items()
        if any(
            calls_python(graph.operators[stream])
            for stream in ancestors(graph, [output.stream]) & graph.operators.keys()
        )
    ]
    return [name for name in graph.outputs if name not in by_function], by_function


def _native(
    part: Plan, sources: Mapping[str, DataFrame], names: list[str], leaving: dict[str, Schema]
) -> Iterator[DataFrame]:
    graph, schemas = graph_of(part.query), dict(part.schemas)
    frames = {
        name: StreamFrame(sources[name], source.schema) for name, source in graph.sources.items()
    }
    for name in graph.order:
        operator = graph.operators[name]
        inputs = {port.port: frames[port.stream] for port in operator.inputs}
        frames[name] = lower_operator(operator, SPARK_STREAM, inputs, schemas[name])
    for name, output in graph.outputs.items():
        place, frame = names.index(name), frames[output.stream]
        rows = [
            (to_plain(schema) if other == name else F.lit(None).cast(plain_row(schema)))
            .alias(struct_name(index))
            for index, (other, schema) in enumerate(leaving.items())
        ]  # fmt: skip
        yield frame.data.select(
            VEHICLE_COLUMN,
            F.lit(place).alias(EXIT),
            F.lit(False).alias(LATE),
            F.lit(None).cast("bigint").alias(ARRIVED),
            *rows,
            F.lit(None).cast(SIDE_TYPE).alias(SIDE),
        )


# ---------------------------------------------------------------- with state


def _by_engine(
    part: Plan,
    sources: Mapping[str, DataFrame],
    names: list[str],
    leaving: dict[str, Schema],
    hold: int | None,
    listed: frozenset[str],
) -> DataFrame:
    schemas = dict(part.schemas)
    given = [(schemas[source.name], sources[source.name]) for source in part.query.sources]
    tagged = tagged_sources(given)
    tagged.sparkSession.conf.set(_PROVIDER, _ROCKSDB)  # the only one that can keep such state
    places = [names.index(output.name) for output in part.query.outputs]
    return tagged.groupBy(VEHICLE_COLUMN).transformWithState(
        statefulProcessor=_Vehicles(part, places, list(leaving.values()), hold, listed),
        outputStructType=exit_schema(list(leaving.values())),
        outputMode="append",
        timeMode="none" if hold is None else "processingTime",
    )


class _Vehicles(StatefulProcessor):
    """Runs in Spark's workers; the key is the vehicle."""

    def __init__(
        self,
        part: Plan,
        places: list[int],
        leaving: list[Schema],
        hold: int | None,
        listed: frozenset[str],
    ) -> None:
        self._text = plan_to_json(part)
        self._sources = [source.name for source in part.query.sources]
        self._places = places
        self._listed = listed
        self._columns = [[field.name for field in schema.columns] for schema in leaving]
        self._hold_ms = None if hold is None else max(1, hold // MILLISECOND)
        self._paths = tuple(sys.path)

    def init(self, handle: StatefulProcessorHandle) -> None:
        enter(self._paths)
        self._handle = handle
        self._state = handle.getValueState(STATE, StructType([StructField("state", StringType())]))
        self._stream = VehicleStream(engine_of(self._text), self._sources)
        self._listing = listing_of(self._text, self._listed)
        rows = (struct_name(place) for place in range(len(self._columns)))
        self._row = SparkRow(VEHICLE_COLUMN, EXIT, LATE, ARRIVED, *rows, SIDE)

    def handleInputRows(  # noqa: N802
        self, key: Any, rows: Any, timerValues: TimerValues  # noqa: N803
    ) -> Iterator[SparkRow]:  # fmt: skip
        self._load()
        results = self._stream.offer(self._held(rows))
        self._save(timerValues)
        return self._rows(key, results)

    def handleExpiredTimer(  # noqa: N802
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo  # noqa: N803
    ) -> Iterator[SparkRow]:  # fmt: skip
        if not self._state.exists():
            return iter(())
        self._load()
        assert self._hold_ms is not None
        results = self._stream.go_on(self._hold_ms * (MILLISECOND // MICROSECOND))
        self._save(timerValues)
        return self._rows(key, results)

    def _load(self) -> None:
        kept = self._state.get() if self._state.exists() else None
        self._stream.restore(None if kept is None else json.loads(kept[0]))

    def _save(self, timers: TimerValues) -> None:
        self._state.update((json.dumps(self._stream.snapshot(), separators=(",", ":")),))
        if self._hold_ms is None:
            return
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        if self._stream.waits:
            self._handle.registerTimer(timers.getCurrentProcessingTimeInMs() + self._hold_ms)

    def _held(self, rows: Any) -> Iterator[Held]:
        names = [struct_name(place) for place in range(len(self._sources))]
        for row in rows:
            source = row[SOURCE]
            # Spark gives a struct inside a Row as a dict, in the order of its fields.
            values = row[names[source]].values()
            yield Held(row[ARRIVED], source, row[POSITION], tuple(values))

    def _rows(self, key: Any, results: list[StepResult]) -> Iterator[SparkRow]:
        (vehicle,) = key
        for result in results:
            place = self._places[result.output]
            rows: list[Any] = [None] * len(self._columns)
            rows[place] = dict(zip(self._columns[place], result.row, strict=True))
            yield self._row(vehicle, place, result.late, None, *rows, None)
        nothing = [None] * len(self._columns)
        for side in self._listing.values(self._stream.take_dropped()):
            told = dict(zip(SIDE_TYPE.names, side, strict=True))
            yield self._row(vehicle, SIDE_EXIT, None, None, *nothing, told)


# ---------------------------------------------------------------- the end


def finish_stream(
    plan: Plan,
    spark: SparkSession,
    checkpoint: str,
    *,
    outputs: Collection[str] | None = None,
    listed: Collection[str] | None = None,
) -> Lowered:
    """What still waits in the state of a stream whose input has ended: open windows close, timers
    run out. The stream must have stopped; ``plan`` and ``outputs`` are those it was started with.

    The checkpoint is read and not changed, so this can be repeated; a stream that goes on later
    with more input would give these windows again.
    """
    plan = on_one_node(plan)
    if outputs is not None:
        plan = part_with(plan, outputs)
    graph, schemas = graph_of(plan.query), dict(plan.schemas)
    stateful, _ = _divided(plan)
    if not stateful:
        raise DataError("the query keeps no state", want="nothing is left to finish")
    part = part_with(plan, stateful)
    leaving = {name: schemas[graph.outputs[name].stream] for name in stateful}
    states = (
        spark.read.format("statestore")
        .option("stateVarName", STATE)
        .load(checkpoint)
        .select(
            F.col("key").getField(VEHICLE_COLUMN).alias(VEHICLE_COLUMN),
            F.col("value").getField("state").alias("state"),
        )
    )
    text, paths = plan_to_json(part), tuple(sys.path)
    names = [source.name for source in part.query.sources]
    lengths = list(leaving.values())
    of = None if listed is None else frozenset(listed)

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        enter(paths)
        stream, listing = VehicleStream(engine_of(text), names), listing_of(text, of)
        for batch in batches:
            for vehicle, state in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                stream.restore(json.loads(state))
                yield from tables(vehicle, stream.finish(), lengths)
                yield from side_tables(vehicle, listing.array(stream.take_dropped()), lengths)

    result = Lowered()
    data = result.keep(states.mapInArrow(run, exit_schema(lengths)))
    result.list_side(lambda: unpacked(data.where(F.col(EXIT) == SIDE_EXIT)))
    result.update((name, frame.output()) for name, frame in exits(data, leaving).items())
    return result
