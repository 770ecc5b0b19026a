"""Headway's types in Spark's and in Arrow's words."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)
from pyspark.sql.types import DataType as SparkType

from headway.model.schema import DataType, Schema

SPARK: dict[DataType, SparkType] = {
    DataType.BOOLEAN: BooleanType(),
    DataType.INT: IntegerType(),
    DataType.BIGINT: LongType(),
    DataType.FLOAT: FloatType(),
    DataType.DOUBLE: DoubleType(),
    DataType.STRING: StringType(),
    DataType.TIMESTAMP: TimestampType(),
}
ARROW: dict[DataType, Any] = {
    DataType.BOOLEAN: pa.bool_(),
    DataType.INT: pa.int32(),
    DataType.BIGINT: pa.int64(),
    DataType.FLOAT: pa.float32(),
    DataType.DOUBLE: pa.float64(),
    DataType.STRING: pa.string(),
    DataType.TIMESTAMP: pa.int64(),
}
PLAIN: dict[DataType, SparkType] = {**SPARK, DataType.TIMESTAMP: LongType()}
"""as Python gets them: a time is its microseconds"""


def plain_row(schema: Schema) -> StructType:
    """A tuple as Python gets it, the timestamp first."""
    return StructType([StructField(f.name, PLAIN[f.type]) for f in schema.columns])


def arrow_types(schema: Schema) -> list[tuple[str, Any]]:
    return [(field.name, ARROW[field.type]) for field in schema.columns]


def to_plain(schema: Schema) -> Column:
    """The tuple as one struct for Python."""
    return F.struct(
        *(
            (F.unix_micros(field.name) if field.type is DataType.TIMESTAMP else F.col(field.name))
            .alias(field.name)
            for field in schema.columns
        )
    )  # fmt: skip


def from_plain(struct: str, schema: Schema) -> list[Column]:
    """The columns of a struct that came from Python."""
    columns = []
    for field in schema.columns:
        value = F.col(f"`{struct}`.`{field.name}`")
        if field.type is DataType.TIMESTAMP:
            value = F.timestamp_micros(value)
        columns.append(value.alias(field.name))
    return columns
