"""DataFrames of users as sources: held to their schema, with the columns that order them."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame

from headway.errors import DataError, Problem
from headway.expressions.spark_sql import quoted
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
    vehicle, arrived, position = beside(data.columns, source)
    fields = (quoted(name) for name in source.schema.names)
    return data.selectExpr(vehicle, TIMESTAMP_COLUMN, *fields, arrived, position)


def beside(there: Collection[str], source: Source) -> tuple[str, str, str]:
    """Vehicle, arrival and position of a tuple as SQL: a column is a dozen calls to Java, and a
    stream makes them anew for every step."""
    vehicle = f"coalesce({VEHICLE_COLUMN}, '')" if VEHICLE_COLUMN in there else "''"
    arrived = f"coalesce({ARRIVAL_COLUMN}, {TIMESTAMP_COLUMN})"
    if ARRIVAL_COLUMN not in there:
        arrived = TIMESTAMP_COLUMN
    placed = POSITION_COLUMN in there and POSITION_COLUMN not in source.schema.names
    position = POSITION_COLUMN if placed else "NULL"
    return (
        f"{vehicle} AS {VEHICLE_COLUMN}",
        f"unix_micros({arrived}) AS `{ARRIVED}`",
        f"cast({position} AS bigint) AS `{POSITION}`",
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


def fits(source: Source) -> str:
    """Whether a tuple fits the schema of its source, as SQL."""
    long = (
        f" AND (octet_length({quoted(one.name)}) > {one.length}) IS NOT TRUE"
        for one in source.schema.fields
        if one.length is not None
    )
    return f"{TIMESTAMP_COLUMN} IS NOT NULL{''.join(long)}"
