"""The engine inside Spark tasks: a part of a query run in arrival order, vehicle by vehicle."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
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

from headway.engine.jobs import NEVER
from headway.model.codec import plan_from_json, plan_to_json
from headway.model.plan import Plan
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
from headway.spark.lowering.side_rows import SIDE, SIDE_ARROW, SIDE_EXIT, SIDE_TYPE
from headway.spark.session.python_workers import enter
from headway.spark.state.arrival_order import BESIDE, Arrivals, arrivals_of, one_array
from headway.spark.state.native_loop import vehicle_loop
from headway.spark.state.step_programs import step_program
from headway.spark.state.vehicle_loops import Given, Ran, VehicleLoop
from headway.spark.state.vehicle_states import Times

# ------------------------------------------------------------
# Several streams in one DataFrame: a struct column for each, and which of them a row belongs to.
#
# That is how the sources of a region go into the engine together, in one order of arrival, and
# how the streams that leave it come back.

EXIT = "#exit"


def struct_name(place: int) -> str:
    return f"#row{place}"


def tagged_sources(sources: Sequence[tuple[Schema, DataFrame]]) -> DataFrame:
    """The tuples of all sources (as ``given_sources.in_order`` gives them): vehicle, ``#source``
    (its place), ``#at``, ``#position`` and ``#row0``, ``#row1``, … of which one is there."""
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
# without costs over them, compiled where it can be (:mod:`headway.spark.state.native_loop`).
# ``mapInArrow`` with grouping of our own takes a vehicle's tuples piece by piece, so a long
# recording never stands in memory whole: the last vehicle of a piece may go on in the next one.


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
    program = step_program(part, watched).library
    return ordered.mapInArrow(replayed(part, watched, program), exit_schema(leaving))


def replayed(
    part: Plan, watched: tuple[str, ...], program: bytes | None
) -> Callable[[Batches], Batches]:
    """What a task does with its vehicles, one after the other; ``program`` as
    :func:`~headway.spark.state.step_programs.step_program` gives it."""
    text, paths = plan_to_json(part), tuple(sys.path)
    schemas = dict(part.schemas)
    entering = [schemas[source.name] for source in part.query.sources]
    leaving = [schemas[output.stream] for output in part.query.outputs]

    def run(batches: Batches) -> Batches:
        enter(paths)
        loop = _loop_of(text, watched, program)
        under_way = _UnderWay("", b"")
        for batch in batches:
            if not batch.num_rows:
                continue
            piece = _piece(batch, entering, under_way)
            last = len(piece.vehicles) - 1
            engines = pa.array([under_way.engine] + [b""] * last, pa.large_binary())
            ended = loop.run(piece.given(engines, slice(0, last)))
            yield from _exits(ended, piece.vehicles, leaving)
            going_on = loop.run(piece.given(engines, slice(last, last + 1)))
            yield from _exits(going_on, piece.vehicles[last:], leaving)
            under_way = _UnderWay(piece.vehicles[last].as_py(), going_on.engines[0].as_py())
        if under_way.engine:
            nothing = arrivals_of([_beside(schema).empty_table() for schema in entering])
            engines = pa.array([under_way.engine], pa.large_binary())
            ended = loop.run(Given(nothing, engines, _no_bounds(1), ends=True))
            yield from _exits(ended, pa.array([under_way.vehicle]), leaving)

    return run


@lru_cache(maxsize=8)
def _loop_of(text: str, watched: tuple[str, ...], program: bytes | None) -> VehicleLoop:
    """Built once in a worker."""
    return vehicle_loop(plan_from_json(text), program, watched=watched)


class _UnderWay(NamedTuple):
    """The vehicle whose tuples may go on in the next piece, and its engine's state; empty before
    the first."""

    vehicle: str
    engine: bytes


class _Piece(NamedTuple):
    """Tuples of vehicles, of which the last may go on; the first is the one that was under way,
    even if nothing more came of it."""

    vehicles: Any
    arrivals: Arrivals

    def given(self, engines: Any, those: slice) -> Given:
        """Of some vehicles; all but the last have ended."""
        mine = self.arrivals.at(
            np.flatnonzero(
                (self.arrivals.owners >= those.start) & (self.arrivals.owners < those.stop)
            )
        )
        count = those.stop - those.start
        moved = replace(mine, owners=mine.owners - those.start)
        ends = those.stop < len(self.vehicles)
        return Given(moved, engines[those], _no_bounds(count), ends=ends)


def _no_bounds(count: int) -> Times:
    """No timer runs out but by a tuple or at the end."""
    return np.full(count, -NEVER, dtype=np.int64)


def _piece(batch: Any, entering: Sequence[Schema], before: _UnderWay) -> _Piece:
    """Of tagged sources in order."""
    named = batch.column(VEHICLE_COLUMN).dictionary_encode()
    vehicles, owners = named.dictionary, named.indices.to_numpy().astype(np.int64)
    if before.engine and vehicles[0].as_py() != before.vehicle:
        vehicles = pa.concat_arrays([pa.array([before.vehicle], pa.string()), vehicles])
        owners += 1
    codes = batch.column(SOURCE).to_numpy()
    rows = np.zeros(len(codes), dtype=np.int64)
    tables = []
    for place, schema in enumerate(entering):
        mine = codes == place
        rows[mine] = np.arange(int(mine.sum()))
        struct = batch.column(struct_name(place)).filter(pa.array(mine))
        beside = [pa.nulls(len(struct), pa.int64())] * len(BESIDE)
        tables.append(pa.Table.from_arrays([*beside, *struct.flatten()], schema=_beside(schema)))
    times = batch.column(ARRIVED).to_numpy()
    return _Piece(vehicles, Arrivals(tuple(tables), owners, times, codes.astype(np.uint16), rows))


def _beside(schema: Schema) -> Any:
    return pa.schema([*((name, pa.int64()) for name in BESIDE), *arrow_types(schema)])


def _exits(ran: Ran, vehicles: Any, schemas: Sequence[Schema]) -> Batches:
    """What vehicles gave, as Arrow batches: one for each stream, one for what was lost."""
    for place, (found, schema) in enumerate(zip(ran.outputs, schemas, strict=True)):
        if not len(found.owners):
            continue
        *columns, late, at = (one_array(column) for column in found.rows.columns)
        struct = pa.StructArray.from_arrays(columns, [name for name, _ in arrow_types(schema)])
        owners = vehicles.take(pa.array(found.owners))
        yield _batch(owners, place, late, at, {struct_name(place): struct}, schemas)
    if count := len(ran.side):
        values = [dict(zip(SIDE_TYPE.names, (one.kind, *one.row), strict=True)) for one in ran.side]
        owners = vehicles.take(pa.array([one.owner for one in ran.side], pa.int64()))
        late, at = pa.nulls(count, pa.bool_()), pa.nulls(count, pa.int64())
        side = {SIDE: pa.array(values, SIDE_ARROW)}
        yield _batch(owners, SIDE_EXIT, late, at, side, schemas)


def _batch(
    vehicles: Any, place: int, late: Any, at: Any, given: dict[str, Any], schemas: Sequence[Schema]
) -> Any:
    size = len(late)
    rows = {
        struct_name(other): pa.nulls(size, pa.struct(arrow_types(their)))
        for other, their in enumerate(schemas)
    }
    return pa.RecordBatch.from_pydict(
        {
            VEHICLE_COLUMN: vehicles,
            EXIT: pa.array(np.full(size, place, dtype=np.int32)),
            LATE: late,
            ARRIVED: at,
            **rows,
            SIDE: pa.nulls(size, SIDE_ARROW),
            **given,
        }
    )


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
