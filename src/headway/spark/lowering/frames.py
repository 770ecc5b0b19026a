"""Streams of a query as DataFrames: types, columns held to a schema, expressions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
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
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from pyspark.sql.types import DataType as SparkType

from headway.errors import DataError, Place, Problem
from headway.expressions.python_call import python_function
from headway.expressions.spark_sql import plain_column, quoted, to_spark_sql
from headway.model.expression_tree import ColumnRef, PythonValue, Typed
from headway.model.schema import TIMESTAMP_COLUMN, VEHICLE_COLUMN, DataType, Field, Schema
from headway.sources.source_records import ARRIVAL_FIELD, VEHICLE_FIELD
from headway.spark.session.python_workers import enter

# ------------------------------------------------------------
# Headway's types in Spark's and in Arrow's words.

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


def plain_columns(schema: Schema) -> list[Column]:
    """The tuple's columns for Python."""
    return [
        (F.unix_micros(field.name) if field.type is DataType.TIMESTAMP else F.col(field.name))
        .alias(field.name)
        for field in schema.columns
    ]  # fmt: skip


def to_plain(schema: Schema) -> Column:
    """The tuple as one struct for Python."""
    return F.struct(*plain_columns(schema))


def from_plain(struct: str, schema: Schema) -> list[Column]:
    """The columns of a struct that came from Python."""
    columns = []
    for field in schema.columns:
        value = F.col(f"`{struct}`.`{field.name}`")
        if field.type is DataType.TIMESTAMP:
            value = F.timestamp_micros(value)
        columns.append(value.alias(field.name))
    return columns


# ------------------------------------------------------------
# Columns of files and tables as the types of a schema.
#
# The same rule as the vehicle engine's readers: a column may be narrower than its field; times
# may be timestamps (without a zone: UTC) or whole microseconds.


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
    elif field.type is DataType.TIMESTAMP and isinstance(kind, TimestampNTZType):
        column = _as_utc(column)
    elif kind != SPARK[field.type]:
        column = column.cast(SPARK[field.type])
    return column.alias(field.name)


def _as_utc(clock: Column) -> Column:
    """A time without a zone is UTC's; a cast would take the session's zone."""
    days = F.unix_date(clock.cast("date")).cast("bigint")
    minutes = (days * 24 + F.hour(clock)) * 60 + F.minute(clock)
    # Seconds with six digits behind the point, exactly.
    micros = (F.extract(F.lit("SECOND"), clock) * 1_000_000).cast("bigint")
    return F.timestamp_micros(minutes * 60_000_000 + micros)


def _problem(field: Field, kind: SparkType | None, there: list[str], where: str) -> Problem:
    want = f"want {field.describe()}"
    place = Place(where)
    if kind is None:
        got = f"the columns {', '.join(there)}" if there else "no columns"
        return Problem(f"no column {field.name!r}", place=place, got=got, want=want)
    got = kind.simpleString()
    return Problem("a column has the wrong type", place=place, at=field.name, got=got, want=want)


# ------------------------------------------------------------
# A stream of the query as a DataFrame, and the names of the columns that only Headway sees.


# No column of a query can bear these names: '#' is not allowed in one.
LATE = "#late"
ARRIVED = "#at"
POSITION = "#position"
SOURCE = "#source"

POSITION_COLUMN = "position"
"""where a source has this column and its schema does not, it breaks ties of arrival"""


OnFailed = Callable[[DataFrame, Column], DataFrame]


@dataclass(frozen=True, slots=True)
class Watch:
    """A condition that no tuple is expected to meet, looked for while the tuples are read for
    something else: ``take`` gets what was made of them, and whether one of them met it."""

    condition: Column
    take: Callable[[DataFrame, Column], DataFrame]


@dataclass(frozen=True, slots=True)
class StreamFrame:
    """``data`` has the columns vehicle, timestamp, the schema's; if ``marked``, whether the tuple
    is late (without marks no tuple is, or nobody asks); if ``timed``, when it came to be there.
    ``on_failed`` takes the tuples of an operator with what its functions made of them, and whether
    that is fine, and gives them back. ``watch`` is for a window to keep."""

    data: DataFrame
    schema: Schema
    marked: bool = False
    timed: bool = False
    on_failed: OnFailed | None = None
    watch: Watch | None = None

    def with_data(self, data: DataFrame) -> StreamFrame:
        return replace(self, data=data)

    @property
    def hidden(self) -> list[Column]:
        """The columns beside the tuple's own that go with it."""
        marks = [F.col(LATE)] if self.marked else []
        times = [F.col(ARRIVED)] if self.timed else []
        return [F.col(VEHICLE_COLUMN), *marks, *times]

    def select(self, columns: list[Column], schema: Schema) -> StreamFrame:
        """The same tuples with these columns (timestamp first)."""
        return StreamFrame(
            self.data.select(*self.hidden, *columns), schema, self.marked, self.timed
        )

    def on_time(self) -> DataFrame:
        """The tuples that joins and windows look at, without their marks."""
        data = self.data.where(~F.col(LATE)) if self.marked else self.data
        return data.select(VEHICLE_COLUMN, *self.names)

    @property
    def names(self) -> list[str]:
        return [TIMESTAMP_COLUMN, *self.schema.names]

    def output(self) -> DataFrame:
        """What a user sees: vehicle, timestamp, fields."""
        return self.data.select(VEHICLE_COLUMN, *self.names)


# ------------------------------------------------------------
# Expressions as native columns; a Python function as an Arrow function over columns.
#
# SQL never fails here, a function of the user may: its value then comes with a flag, and the
# tuple is left out as the vehicle engine leaves it out, instead of ending the query.


RenderColumn = Callable[[ColumnRef], str]


@dataclass(frozen=True, slots=True)
class Computed:
    """Values of expressions over a DataFrame: ``data`` has lost the rows for which one failed."""

    data: DataFrame
    values: list[Column]


def compute(
    data: DataFrame,
    typed: Sequence[Typed],
    column: RenderColumn = plain_column,
    on_failed: Callable[[DataFrame, Column], DataFrame] | None = None,
) -> Computed:
    """The expressions as columns of ``data`` (or of what is left of it). ``on_failed`` gets the
    rows with the functions' values, and whether all of them are fine, and gives them back."""
    values: list[Column] = []
    functions: dict[str, Column] = {}
    for one in typed:
        tree = one.tree
        if not isinstance(tree, PythonValue):
            values.append(F.expr(to_spark_sql(one, column=column)))
            continue
        name = f"#python{len(functions)}"
        arguments = [_argument(argument, column) for argument in tree.arguments]
        functions[name] = _arrow_function(tree)(*arguments or [F.lit(0)])
        value = F.col(f"{quoted(name)}.value")
        values.append(F.timestamp_micros(value) if tree.type is DataType.TIMESTAMP else value)
    if functions:
        # Not withColumns: through Spark Connect that looks at the data, and a pipeline loses sight
        # of the dataset it reads.
        data = data.select("*", *(value.alias(name) for name, value in functions.items()))
        fine = F.lit(True)
        for name in functions:
            fine &= F.col(f"{quoted(name)}.fine")
        if on_failed is not None:
            data = on_failed(data, fine)
        data = data.where(fine)
    return Computed(data, values)


def _argument(argument: ColumnRef, column: RenderColumn) -> Column:
    value = F.expr(column(argument))
    return F.unix_micros(value) if argument.type is DataType.TIMESTAMP else value


def _arrow_function(node: PythonValue) -> Callable[..., Column]:
    result = StructType(
        [StructField("fine", BooleanType()), StructField("value", PLAIN[node.type])]
    )
    paths, takes = tuple(sys.path), len(node.arguments)
    value_type = ARROW[node.type]

    def run(*columns: pa.Array) -> pa.Array:
        enter(paths)
        function = python_function(node)
        lists = [column.to_pylist() for column in columns][:takes]
        rows = zip(*lists, strict=True) if lists else [()] * len(columns[0])
        fine, values = [], []
        for row in rows:
            try:
                values.append(function(*row))
                fine.append(True)
            except Exception:  # noqa: BLE001 - a function of the user may raise anything
                values.append(None)
                fine.append(False)
        return pa.StructArray.from_arrays(
            [pa.array(fine, pa.bool_()), pa.array(values, value_type)], ["fine", "value"]
        )

    function: Any = F.arrow_udf(run, result)  # type: ignore[attr-defined]  # not in its stubs
    # Spark would otherwise call it once for the flag and once for the value.
    called: Callable[..., Column] = function.asNondeterministic()
    return called
