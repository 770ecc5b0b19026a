"""The engine inside Spark tasks: a part of a query run in arrival order, vehicle by vehicle."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from headway.engine.result_tables import SideRows
from headway.engine.stepwise import StepResult, Stepwise
from headway.model.codec import plan_from_json, plan_to_json
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.schema import VEHICLE_COLUMN, Schema
from headway.model.user_operator import Row
from headway.spark.lowering.frames import (
    ARRIVED,
    LATE,
    POSITION,
    SOURCE,
    StreamFrame,
    arrow_types,
    from_plain,
    plain_row,
    to_plain,
)
from headway.spark.lowering.side_rows import SIDE, SIDE_ARROW, SIDE_EXIT, SIDE_TYPE, Listing
from headway.spark.session.python_workers import enter

# ------------------------------------------------------------
# Several streams in one DataFrame: a struct column for each, and which of them a row belongs to.
#
# That is how the sources of a region go into the engine together, in one order of arrival, and
# how the streams that leave it come back.

EXIT = "#exit"


def struct_name(place: int) -> str:
    return f"#row{place}"


def tagged_sources(sources: Sequence[tuple[Schema, DataFrame]]) -> DataFrame:
    """The tuples of all sources (as :func:`as_source` gives them): vehicle, ``#source`` (its
    place), ``#at``, ``#position`` and ``#row0``, ``#row1``, … of which one is there."""
    parts = []
    for place, (schema, data) in enumerate(sources):
        rows = [
            (to_plain(schema) if other == place else F.lit(None).cast(plain_row(their)))
            .alias(struct_name(other))
            for other, (their, _) in enumerate(sources)
        ]  # fmt: skip
        tag = F.lit(place).alias(SOURCE)
        parts.append(data.select(VEHICLE_COLUMN, tag, ARRIVED, POSITION, *rows))
    united = parts[0]
    for part in parts[1:]:
        united = united.union(part)
    return united


def arrival_order(count: int) -> list[str]:
    """The columns that order a vehicle's tuples; the last ones only where positions are missing."""
    return [ARRIVED, SOURCE, POSITION, *(struct_name(place) for place in range(count))]


def exit_schema(schemas: Sequence[Schema]) -> StructType:
    """What the engine gives: vehicle, ``#exit`` (the stream's place, or SIDE_EXIT), ``#late``,
    ``#at`` (when it was there, microseconds; NULL where nobody asks), the row or what was
    dropped."""
    return StructType(
        [
            StructField(VEHICLE_COLUMN, StringType()),
            StructField(EXIT, IntegerType()),
            StructField(LATE, BooleanType()),
            StructField(ARRIVED, LongType()),
            *(StructField(struct_name(i), plain_row(one)) for i, one in enumerate(schemas)),
            StructField(SIDE, SIDE_TYPE),
        ]
    )


def exits(data: DataFrame, schemas: Mapping[str, Schema]) -> dict[str, StreamFrame]:
    """The streams in what the engine gave, by name, with their marks."""
    found = {}
    for place, (name, schema) in enumerate(schemas.items()):
        columns: list[Column] = from_plain(struct_name(place), schema)
        mine = data.where(F.col(EXIT) == place).select(VEHICLE_COLUMN, LATE, ARRIVED, *columns)
        found[name] = StreamFrame(mine, schema, marked=True, timed=True)
    return found


# ------------------------------------------------------------
# The engine inside Spark tasks: a part of a query run in arrival order, vehicle by vehicle.
#
# Spark brings each vehicle's tuples together and in order; the task runs the vehicle engine
# without costs over them (:class:`~headway.engine.stepwise.Stepwise`). ``mapInArrow`` with
# grouping of our own takes a vehicle's tuples piece by piece, so a long recording never stands in
# memory whole.


ROWS_OUT = 10_000
"""results handed to Spark at once"""

Batches = Iterator[Any]


def run_region(part: Plan, sources: dict[str, DataFrame], watched: tuple[str, ...]) -> DataFrame:
    """``part`` over its sources; its outputs come tagged (:func:`tagged.exits`). Of the streams
    ``watched`` the marks matter."""
    schemas = dict(part.schemas)
    given = [(schemas[source.name], sources[source.name]) for source in part.query.sources]
    ordered = (
        tagged_sources(given)
        .repartition(VEHICLE_COLUMN)
        .sortWithinPartitions(VEHICLE_COLUMN, *arrival_order(len(given)))
    )
    leaving = [schemas[output.stream] for output in part.query.outputs]
    return ordered.mapInArrow(replayed(part, watched), exit_schema(leaving))


def replayed(part: Plan, watched: tuple[str, ...]) -> Callable[[Batches], Batches]:
    """What a task does with its vehicles, one after the other."""
    text, paths = plan_to_json(part), tuple(sys.path)
    names = [source.name for source in part.query.sources]
    schemas = dict(part.schemas)
    leaving = [schemas[output.stream] for output in part.query.outputs]

    def run(batches: Batches) -> Batches:
        enter(paths)
        engine, listing = engine_of(text, watched), listing_of(text)
        engine.restore(None)

        def given(vehicle: str) -> Batches:
            yield from tables(vehicle, engine.take_results(), leaving)
            yield from side_tables(vehicle, listing.array(engine.take_dropped()), leaving)

        current: str | None = None
        for batch in batches:
            for vehicle, source, arrived, row in arrivals(batch, len(names)):
                if vehicle != current:
                    if current is not None:
                        engine.finish()
                        yield from given(current)
                        engine.restore(None)
                    current = vehicle
                engine.take(arrived * MICROSECOND, names[source], row)
                if len(engine.results) + len(engine.dropped) >= ROWS_OUT:
                    yield from given(vehicle)
        if current is not None:
            engine.finish()
            yield from given(current)

    return run


@lru_cache(maxsize=8)
def engine_of(text: str, watched: tuple[str, ...] = ()) -> Stepwise:
    """The engine of a plan, built once in a worker; its user restores the state it needs."""
    return Stepwise(plan_from_json(text), watched=watched)


@lru_cache(maxsize=8)
def listing_of(text: str, of: frozenset[str] | None = None) -> Listing:
    """What says in words what an engine of a plan dropped; ``of`` which sources and operators."""
    return Listing(SideRows(plan_from_json(text)), of)


def arrivals(batch: Any, count: int) -> Iterator[tuple[str, int, int, Row]]:
    """(vehicle, source, arrival in microseconds, row) of tagged sources."""
    codes = batch.column(SOURCE)
    rows = []
    for place in range(count):
        mine = batch.column(struct_name(place)).filter(pa.compute.equal(codes, place))
        rows.append(zip(*(column.to_pylist() for column in mine.flatten()), strict=True))
    vehicles, arrived = batch.column(VEHICLE_COLUMN), batch.column(ARRIVED)
    for vehicle, source, at in zip(
        vehicles.to_pylist(), codes.to_pylist(), arrived.to_pylist(), strict=True
    ):
        yield vehicle, source, at, next(rows[source])


def tables(vehicle: str, results: list[StepResult], schemas: Sequence[Schema]) -> Batches:
    """Results of one vehicle as Arrow batches, one for each stream."""
    for place, schema in enumerate(schemas):
        mine = [result for result in results if result.output == place]
        if not mine:
            continue
        columns = zip(*(result.row for result in mine), strict=True)
        arrays = [
            pa.array(values, kind)
            for values, (_, kind) in zip(columns, arrow_types(schema), strict=True)
        ]
        struct = pa.StructArray.from_arrays(arrays, [name for name, _ in arrow_types(schema)])
        yield _batch(
            vehicle,
            place,
            pa.array([result.late for result in mine], pa.bool_()),
            pa.array([result.at // MICROSECOND for result in mine], pa.int64()),
            {struct_name(place): struct},
            schemas,
        )


def side_tables(vehicle: str, dropped: Any, schemas: Sequence[Schema]) -> Batches:
    """What was dropped of one vehicle (structs of ``#side``), beside its results."""
    if count := len(dropped):
        late, at = pa.nulls(count, pa.bool_()), pa.nulls(count, pa.int64())
        yield _batch(vehicle, SIDE_EXIT, late, at, {SIDE: dropped}, schemas)


def _batch(
    vehicle: str, place: int, late: Any, at: Any, given: dict[str, Any], schemas: Sequence[Schema]
) -> Any:
    size = len(late)
    rows = {
        struct_name(other): pa.nulls(size, pa.struct(arrow_types(their)))
        for other, their in enumerate(schemas)
    }
    return pa.RecordBatch.from_pydict(
        {
            VEHICLE_COLUMN: pa.array([vehicle] * size, pa.string()),
            EXIT: pa.array([place] * size, pa.int32()),
            LATE: late,
            ARRIVED: at,
            **rows,
            SIDE: pa.nulls(size, SIDE_ARROW),
            **given,
        }
    )
