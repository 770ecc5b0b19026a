"""A plan over the DataFrames of a micro-batch: what Spark computes before the tasks take over.

The outputs of a group are of one kind. ``NATIVE``: only filters, maps and unions before them, in
SQL; Spark computes them. ``FUNCTIONS``: the same with functions of the user, which the engine runs
in the tasks, tuple by tuple, because they may fail. ``STATE``: all else; the engines of the
vehicles go on in the tasks from the state of the batch before
(:mod:`headway.spark.state.step_task`), and Spark brings the tuples of a partition's vehicles
together.

A stream cuts its sources into micro-batches wherever it likes, so one source may be ahead of
another. A tuple is run only when nothing that arrived before it can still come; each source must
keep its own order of arrival. The result then does not depend on where the cuts fall and is that of
a batch over the same data, apart from what still waits when the stream stops, which the end of the
input gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headway.compiler.node_queries import on_one_node
from headway.expressions.spark_sql import quoted
from headway.model.graph import graph_of
from headway.model.operator_kinds import SPARK_STREAM
from headway.model.plan import Plan
from headway.model.query import Source
from headway.model.schema import (
    VEHICLE_COLUMN,
    DataType,
    Field,
    Schema,
)
from headway.spark.batches.lower_batch import check_given, given_sources
from headway.spark.lowering.engine_region import EXIT, struct_name
from headway.spark.lowering.frames import (
    ARRIVED,
    LATE,
    PLAIN,
    SOURCE,
    StreamFrame,
    plain_row,
    to_plain,
)
from headway.spark.lowering.given_sources import beside, check_columns, fits
from headway.spark.lowering.native_operators import lower_operator
from headway.spark.lowering.one_pass import run_in_one_pass, sharing
from headway.spark.lowering.regions import (
    calls_python,
    keeps_state,
    part_with,
    region_of,
)
from headway.spark.lowering.side_rows import SIDE, SIDE_TYPE


class LoweredKind(StrEnum):
    NATIVE = "native"
    FUNCTIONS = "functions"
    STATE = "state"


def kind_of(plan: Plan, output: str) -> LoweredKind:
    """How an output of a stream is computed."""
    graph = graph_of(part_with(plan, [output]).query)
    if region_of(graph, keeps_state).streams:
        return LoweredKind.STATE
    functions = any(calls_python(operator) for operator in graph.operators.values())
    return LoweredKind.FUNCTIONS if functions else LoweredKind.NATIVE


@dataclass(frozen=True, slots=True)
class LoweredStream:
    """``data`` is what a micro-batch brings. NATIVE: the rows of one output in plain columns, or of
    several, tagged. Else the tuples of the sources: of one in plain columns, of several tagged.
    ``schemas`` are those of the outputs, in the order of their tags."""

    data: DataFrame
    kind: LoweredKind
    part: Plan
    schemas: dict[str, Schema]


def lower_stream(plan: Plan, sources: Mapping[str, DataFrame]) -> LoweredStream:
    """A plan whose outputs are of one kind over its sources, which have the columns that
    :func:`headway.spark.batches.lower_batch.lower_batch` wants; each must come in order of arrival,
    vehicle by vehicle. Whoever begins a stream asks first whether Spark can run the plan
    (:mod:`headway.spark.capabilities`): this is done again for every step."""
    plan = on_one_node(plan)
    (kind,) = {kind_of(plan, output.name) for output in plan.query.outputs}
    streams = dict(plan.schemas)
    leaving = {output.name: streams[output.stream] for output in plan.query.outputs}
    if kind is LoweredKind.NATIVE:
        data = _native(plan, given_sources(plan, sources), leaving)
    else:
        data = _tuples(plan, sources)
    return LoweredStream(data, kind, plan, leaving)


# ---------------------------------------------------------------- the tuples of sources
# As SQL instead of columns: a column is a dozen calls to Java, and every step makes them anew.


def _tuples(plan: Plan, sources: Mapping[str, DataFrame]) -> DataFrame:
    """One source in plain columns; several with a struct for each, as
    :func:`headway.spark.lowering.engine_region.tagged_sources` has them."""
    check_given(plan, sources)
    every = plan.query.sources
    parts = []
    for place, source in enumerate(every):
        data = sources[source.name]
        check_columns(data, source)
        vehicle, arrived, position = beside(data.columns, source)
        if len(every) == 1:
            texts = [vehicle, arrived, position, *_plain(source)]
        else:
            rows = [
                f"{_row(source) if other == place else _no_row(their)} AS `{struct_name(other)}`"
                for other, their in enumerate(every)
            ]
            texts = [vehicle, f"{place} AS `{SOURCE}`", arrived, position, *rows]
        parts.append(data.where(fits(source)).selectExpr(*texts))
    united = parts[0]
    for one in parts[1:]:
        united = united.union(one)
    return united


def _value(field: Field) -> str:
    name = quoted(field.name)
    return f"unix_micros({name})" if field.type is DataType.TIMESTAMP else name


def _plain(source: Source) -> list[str]:
    return [f"{_value(one)} AS {quoted(one.name)}" for one in source.schema.columns]


def _row(source: Source) -> str:
    return f"struct({', '.join(_plain(source))})"


def _no_row(source: Source) -> str:
    fields = (
        f"{quoted(one.name)}: {PLAIN[one.type].simpleString()}" for one in source.schema.columns
    )
    return f"cast(NULL AS struct<{', '.join(fields)}>)"


# ---------------------------------------------------------------- native outputs


def _native(plan: Plan, given: Mapping[str, DataFrame], leaving: Mapping[str, Schema]) -> DataFrame:
    names = list(leaving)
    if len(names) == 1:
        return _frames(plan, given)[names[0]].output()
    parts, rest = [], names
    for source, some in sharing(plan).items():
        part = part_with(plan, some)
        parts.append(run_in_one_pass(part, source, given[source], names, leaving))
        rest = [name for name in rest if name not in some]
    if rest:
        frames = _frames(part_with(plan, rest), given)
        parts += [_tagged(frames[name], name, leaving) for name in rest]
    united = parts[0]
    for one in parts[1:]:
        united = united.union(one)
    return united


def _frames(part: Plan, sources: Mapping[str, DataFrame]) -> dict[str, StreamFrame]:
    """The outputs by name."""
    graph, schemas = graph_of(part.query), dict(part.schemas)
    frames = {
        name: StreamFrame(sources[name], source.schema) for name, source in graph.sources.items()
    }
    for name in graph.order:
        operator = graph.operators[name]
        inputs = {port.port: frames[port.stream] for port in operator.inputs}
        frames[name] = lower_operator(operator, SPARK_STREAM, inputs, schemas[name])
    return {name: frames[output.stream] for name, output in graph.outputs.items()}


def _tagged(frame: StreamFrame, name: str, leaving: Mapping[str, Schema]) -> DataFrame:
    rows = [
        (to_plain(schema) if other == name else F.lit(None).cast(plain_row(schema)))
        .alias(struct_name(place))
        for place, (other, schema) in enumerate(leaving.items())
    ]  # fmt: skip
    return frame.data.select(
        VEHICLE_COLUMN,
        F.lit(list(leaving).index(name)).alias(EXIT),
        F.lit(False).alias(LATE),
        F.lit(None).cast("bigint").alias(ARRIVED),
        *rows,
        F.lit(None).cast(SIDE_TYPE).alias(SIDE),
    )


# ---------------------------------------------------------------- partitions and the heartbeat

PART = "#part"
BEATS = 1
"""a second"""


def vehicle_place(partitions: int) -> str:
    """The partition of a vehicle, as SQL."""
    return f"cast(pmod(xxhash64({VEHICLE_COLUMN}), {partitions}) AS int) AS `{PART}`"


def by_vehicle(data: DataFrame, partitions: int) -> DataFrame:
    """The tuples of a vehicle in one partition, always the same one."""
    dealt = data.selectExpr("*", vehicle_place(partitions))
    return dealt.repartitionById(partitions, f"`{PART}`").drop(PART)


_BEAT = "#beat"


def with_heartbeat(stream: DataFrame) -> DataFrame:
    """The same and rows by the clock: a batch comes every second, also where no tuple does."""
    beats = stream.sparkSession.readStream.format("rate").option("rowsPerSecond", BEATS)
    nothing = [F.lit(None).cast(field.dataType).alias(field.name) for field in stream.schema.fields]
    beating = beats.option("numPartitions", 1).load().select(*nothing, F.lit(True).alias(_BEAT))
    return stream.withColumn(_BEAT, F.lit(False)).union(beating)


def without_heartbeat(batch: DataFrame) -> DataFrame:
    if _BEAT not in batch.columns:
        return batch
    return batch.where(~F.col(_BEAT)).drop(_BEAT)


def outputs_by_kind(plan: Plan, outputs: list[str]) -> Iterator[tuple[LoweredKind, list[str]]]:
    """The outputs apart by kind, in the query's order."""
    plan = on_one_node(plan)
    kinds = {name: kind_of(plan, name) for name in outputs}
    for kind in LoweredKind:
        if mine := [name for name in outputs if kinds[name] is kind]:
            yield kind, mine
