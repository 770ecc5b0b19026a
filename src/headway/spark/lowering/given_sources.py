"""DataFrames of users as sources: held to their schema, with the columns that order them."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headway.errors import DataError, Problem
from headway.model.query import Source
from headway.model.schema import (
    ARRIVAL_COLUMN,
    TIMESTAMP_COLUMN,
    VEHICLE_COLUMN,
    DataType,
    Field,
)
from headway.spark.lowering.frames import ARRIVED, POSITION, POSITION_COLUMN, SPARK


def as_source(data: DataFrame, source: Source) -> DataFrame:
    """:func:`in_order` without tuples that do not fit the schema (no timestamp, a string too long):
    they are left out, as the vehicle engine rejects them."""
    return in_order(data, source).where(fits(source))


def in_order(data: DataFrame, source: Source) -> DataFrame:
    """vehicle, timestamp, the fields, ``#at`` (arrival, microseconds) and ``#position``.

    Without ``arrived_at`` a tuple arrives when it is sensed; without ``vehicle`` all belong to one,
    called ''. DataError if a column is missing or of another type.
    """
    check_columns(data, source)
    there = set(data.columns)
    arrived: Column = F.col(TIMESTAMP_COLUMN)
    if ARRIVAL_COLUMN in there:
        arrived = F.coalesce(F.col(ARRIVAL_COLUMN), arrived)
    vehicle = F.col(VEHICLE_COLUMN).cast("string") if VEHICLE_COLUMN in there else F.lit("")
    named = POSITION_COLUMN in there and POSITION_COLUMN not in source.schema.names
    position = F.col(POSITION_COLUMN).cast("bigint") if named else F.lit(None).cast("bigint")
    return data.select(
        F.coalesce(vehicle, F.lit("")).alias(VEHICLE_COLUMN),
        F.col(TIMESTAMP_COLUMN),
        *(F.col(name) for name in source.schema.names),
        F.unix_micros(arrived).alias(ARRIVED),
        position.alias(POSITION),
    )


def order_of(source: Source) -> list[str]:
    """The columns that order a vehicle's tuples; the tuple itself where nothing else does, so that
    the order never depends on how Spark read them."""
    return [ARRIVED, POSITION, TIMESTAMP_COLUMN, *source.schema.names]


def check_columns(data: DataFrame, source: Source) -> None:
    types = {field.name: field.dataType for field in data.schema.fields}
    optional = [
        field
        for field in (
            Field(ARRIVAL_COLUMN, DataType.TIMESTAMP),
            Field(VEHICLE_COLUMN, DataType.STRING),
        )
        if field.name in types
    ]
    problems = [
        Problem(
            f"column {field.name!r} is missing" if got is None else f"column {field.name!r}",
            at=f"sources.{source.name}",
            got=f"the columns {', '.join(types)}" if got is None else got.simpleString(),
            want=f"want {SPARK[field.type].simpleString()}",
        )
        for field in (*source.schema.columns, *optional)
        if (got := types.get(field.name)) != SPARK[field.type]
    ]
    if problems:
        raise DataError(problems)


def fits(source: Source) -> Column:
    """Whether a tuple fits the schema of its source."""
    fit = F.col(TIMESTAMP_COLUMN).isNotNull()
    for field in source.schema.fields:
        if field.length is not None:
            long = F.octet_length(field.name) > F.lit(field.length)
            fit &= ~F.coalesce(long, F.lit(False))
    return fit
