"""Columns of files and tables as the types of a schema.

The same rule as the vehicle engine's readers: a column may be narrower than its field; times may be
timestamps (without a zone: UTC) or whole microseconds.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)
from pyspark.sql.types import DataType as SparkType

from headway.errors import DataError, Place, Problem
from headway.model.schema import DataType, Field, Schema
from headway.sources.record import ARRIVAL_FIELD, VEHICLE_FIELD
from headway.spark.lowering.frame import POSITION_COLUMN
from headway.spark.lowering.types import SPARK

_SMALL = (ByteType, ShortType)
_NARROWER: dict[DataType, tuple[type[SparkType], ...]] = {
    DataType.BOOLEAN: (BooleanType,),
    DataType.INT: (*_SMALL, IntegerType),
    DataType.BIGINT: (*_SMALL, IntegerType, LongType),
    DataType.FLOAT: (*_SMALL, FloatType),
    DataType.DOUBLE: (*_SMALL, IntegerType, FloatType, DoubleType),
    DataType.STRING: (StringType,),
    DataType.TIMESTAMP: (TimestampType, TimestampNTZType, LongType),
}


def conformed(data: DataFrame, schema: Schema, where: str, position: Column) -> DataFrame:
    """The schema's columns, of ``arrived_at`` and ``vehicle`` those that are there, and where each
    row stands. DataError, naming ``where``, if a column is missing or does not fit."""
    there = {field.name: field.dataType for field in data.schema.fields}
    extras = [field for field in (ARRIVAL_FIELD, VEHICLE_FIELD) if field.name in there]
    problems, columns = [], []
    for field in (*schema.columns, *extras):
        kind = there.get(field.name)
        if kind is None or not isinstance(kind, _NARROWER[field.type]):
            problems.append(_problem(field, kind, list(there), where))
        else:
            columns.append(_cast(field, kind))
    if problems:
        raise DataError(problems)
    if POSITION_COLUMN not in schema.names:
        columns.append(position.cast("bigint").alias(POSITION_COLUMN))
    return data.select(*columns)


def _cast(field: Field, kind: SparkType) -> Column:
    column = F.col(f"`{field.name}`")
    if field.type is DataType.TIMESTAMP and isinstance(kind, LongType):
        column = F.timestamp_micros(column)
    elif kind != SPARK[field.type]:
        column = column.cast(SPARK[field.type])
    return column.alias(field.name)


def _problem(field: Field, kind: SparkType | None, there: list[str], where: str) -> Problem:
    want = f"want {field.describe()}"
    place = Place(where)
    if kind is None:
        got = f"the columns {', '.join(there)}" if there else "no columns"
        return Problem(f"no column {field.name!r}", place=place, got=got, want=want)
    got = kind.simpleString()
    return Problem("a column has the wrong type", place=place, at=field.name, got=got, want=want)
