"""A plan over streaming DataFrames (Structured Streaming).

Outputs that need no memory (only filters, maps and unions before them) are native columns. All
others are computed by the vehicle engine itself, without costs, one instance per vehicle inside
``transformWithState``; its whole state is plain data that Spark keeps between micro-batches. So the
tuples that come out do not depend on how the stream is cut (:mod:`headway.spark.vehicle_stream`),
and are those of a batch over the same data, apart from what still waits when the stream stops:
windows that are open, timers that run, tuples held for a silent source. :func:`finish_stream`
gives these once the input has ended.

A stream with state cannot be split between queries of Spark without computing it twice, so all
outputs come in one DataFrame, tagged; :func:`outputs_of` takes them apart inside ``foreachBatch``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import StringType, StructField, StructType

from headway.compile.meaning import on_one_node
from headway.errors import DataError, Problem
from headway.model.codec import plan_to_json
from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.schema import VEHICLE_COLUMN, Schema
from headway.model.time import MICROSECOND, MILLISECOND
from headway.runtime.stepwise import Result
from headway.spark.capabilities import Mode, refuse_unsupported
from headway.spark.lowering import LOWER, Frame
from headway.spark.lowering.frame import ARRIVED, LATE, POSITION, SOURCE
from headway.spark.lowering.region import engine_of, tables
from headway.spark.lowering.tagged import (
    EXIT,
    exit_schema,
    exits,
    struct_name,
    tagged_sources,
)
from headway.spark.lowering.types import plain_row, to_plain
from headway.spark.plan import Lowered, given_sources
from headway.spark.regions import keeps_state, part_with, region_of
from headway.spark.vehicle_stream import Held, VehicleStream

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
) -> LoweredStream:
    """The outputs of a plan (all, or those named) over streaming sources.

    Sources have the columns that :func:`headway.spark.plan.lower_batch` wants; each must come in
    order of arrival, vehicle by vehicle. ``hold`` (ns) is how long a vehicle's tuples wait, by the
    clock, for a source of which nothing comes; None: for ever, as a replay wants it. A tuple that
    comes after that counts as arriving when it comes.
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
    if stateful:
        parts.append(_by_engine(part_with(plan, stateful), given, names, leaving, hold))
    if stateless:
        parts += _native(part_with(plan, stateless), given, names, leaving)
    tagged = parts[0]
    for part in parts[1:]:
        tagged = tagged.union(part)
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


# -------------------------------------------------------------------- without state


def _native(
    part: Plan, sources: Mapping[str, DataFrame], names: list[str], leaving: dict[str, Schema]
) -> Iterator[DataFrame]:
    graph, schemas = graph_of(part.query), dict(part.schemas)
    frames = {name: Frame(sources[name], source.schema) for name, source in graph.sources.items()}
    for name in graph.order:
        operator = graph.operators[name]
        inputs = {port.port: frames[port.stream] for port in operator.inputs}
        frames[name] = LOWER[operator.kind](operator, inputs, schemas[name])
    for name, output in graph.outputs.items():
        place, frame = names.index(name), frames[output.stream]
        rows = [
            (to_plain(schema) if other == name else F.lit(None).cast(plain_row(schema)))
            .alias(struct_name(index))
            for index, (other, schema) in enumerate(leaving.items())
        ]  # fmt: skip
        yield frame.data.select(
            VEHICLE_COLUMN, F.lit(place).alias(EXIT), F.lit(False).alias(LATE), *rows
        )


# -------------------------------------------------------------------- with state


def _by_engine(
    part: Plan,
    sources: Mapping[str, DataFrame],
    names: list[str],
    leaving: dict[str, Schema],
    hold: int | None,
) -> DataFrame:
    schemas = dict(part.schemas)
    given = [(schemas[source.name], sources[source.name]) for source in part.query.sources]
    tagged = tagged_sources(given)
    tagged.sparkSession.conf.set(_PROVIDER, _ROCKSDB)  # the only one that can keep such state
    places = [names.index(output.name) for output in part.query.outputs]
    return tagged.groupBy(VEHICLE_COLUMN).transformWithState(
        statefulProcessor=_Vehicles(part, places, list(leaving.values()), hold),
        outputStructType=exit_schema(list(leaving.values())),
        outputMode="append",
        timeMode="none" if hold is None else "processingTime",
    )


class _Vehicles(StatefulProcessor):
    """Runs in Spark's workers; the key is the vehicle."""

    def __init__(
        self, part: Plan, places: list[int], leaving: list[Schema], hold: int | None
    ) -> None:
        self._text = plan_to_json(part)
        self._sources = [source.name for source in part.query.sources]
        self._places = places
        self._columns = [[field.name for field in schema.columns] for schema in leaving]
        self._hold_ms = None if hold is None else max(1, hold // MILLISECOND)
        self._paths = tuple(sys.path)

    def init(self, handle: StatefulProcessorHandle) -> None:
        sys.path.extend(path for path in self._paths if path not in sys.path)
        self._handle = handle
        self._state = handle.getValueState(STATE, StructType([StructField("state", StringType())]))
        self._stream = VehicleStream(engine_of(self._text), self._sources)
        rows = (struct_name(place) for place in range(len(self._columns)))
        self._row = Row(VEHICLE_COLUMN, EXIT, LATE, *rows)

    def handleInputRows(  # noqa: N802
        self, key: Any, rows: Any, timerValues: TimerValues  # noqa: N803
    ) -> Iterator[Row]:  # fmt: skip
        self._load()
        results = self._stream.offer(self._held(rows))
        self._save(timerValues)
        return self._rows(key, results)

    def handleExpiredTimer(  # noqa: N802
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo  # noqa: N803
    ) -> Iterator[Row]:  # fmt: skip
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

    def _rows(self, key: Any, results: list[Result]) -> Iterator[Row]:
        (vehicle,) = key
        for result in results:
            place = self._places[result.output]
            rows: list[Any] = [None] * len(self._columns)
            rows[place] = dict(zip(self._columns[place], result.row, strict=True))
            yield self._row(vehicle, place, result.late, *rows)


# -------------------------------------------------------------------- the end


def finish_stream(
    plan: Plan,
    spark: SparkSession,
    checkpoint: str,
    *,
    outputs: Collection[str] | None = None,
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
        raise DataError(Problem("the query keeps no state", want="nothing is left to finish"))
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

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        sys.path.extend(path for path in paths if path not in sys.path)
        stream = VehicleStream(engine_of(text), names)
        for batch in batches:
            for vehicle, state in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                stream.restore(json.loads(state))
                yield from tables(vehicle, stream.finish(), lengths)

    result = Lowered()
    data = states.mapInArrow(run, exit_schema(lengths))
    if len(leaving) > 1:
        data = result.keep(data)
    result.update((name, frame.output()) for name, frame in exits(data, leaving).items())
    return result
