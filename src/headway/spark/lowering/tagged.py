"""Several streams in one DataFrame: a struct column for each, and which of them a row belongs to.

That is how the sources of a region go into the engine together, in one order of arrival, and how
the streams that leave it come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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

from headway.model.schema import VEHICLE_COLUMN, Schema
from headway.spark.lowering.frame import ARRIVED, LATE, POSITION, SOURCE, Frame
from headway.spark.lowering.side import SIDE, SIDE_TYPE
from headway.spark.lowering.types import from_plain, plain_row, to_plain

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


def exits(data: DataFrame, schemas: Mapping[str, Schema]) -> dict[str, Frame]:
    """The streams in what the engine gave, by name, with their marks."""
    found = {}
    for place, (name, schema) in enumerate(schemas.items()):
        columns: list[Column] = from_plain(struct_name(place), schema)
        mine = data.where(F.col(EXIT) == place).select(VEHICLE_COLUMN, LATE, ARRIVED, *columns)
        found[name] = Frame(mine, schema, marked=True, timed=True)
    return found
