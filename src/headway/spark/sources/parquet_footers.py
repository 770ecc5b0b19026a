"""What the footer of a Parquet file says: whether Spark's own reader may read it, and how much it
holds.

The checks are those of the vehicle engine's reader, with its words. What a footer leaves open is
looked up in the columns that matter: whether every tuple has a time of arrival, and whether texts
are as short as declared.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType as SparkType
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from headway.model.query import Source
from headway.model.schema import (
    ARRIVAL_COLUMN,
    TIMESTAMP_COLUMN,
    DataType,
    Field,
    Schema,
)
from headway.sources import source_records
from headway.sources.parquet_file import NOT_PARQUET, open_parquet
from headway.spark.lowering.frames import POSITION_COLUMN, SPARK
from headway.spark.storage.locations import Location

OTHERWISE: dict[str, SparkType] = {"bigint": LongType(), "int": IntegerType()}
"""types that Spark reads a column as where it cannot read it as its field's"""
ABSENT = "none"
"""of a column without values: it is not read at all"""
_SPARK_WROTE = b"org.apache.spark.version"


Reading = tuple[tuple[str, str], ...]
"""columns that are not read as their fields' types, and as what"""


@dataclass(frozen=True, slots=True)
class Footer:
    """``begin`` and ``end`` are its first and last arrival (microseconds) where it says so."""

    rows: int
    row_groups: int
    begin: int | None
    end: int | None
    reading: Reading | None
    """None: Spark's reader cannot read it"""
    misfits: bool = False
    """whether tuples may not fit the schema"""
    untimed: int | None = None
    """tuples without a timestamp, where it says so"""
    newest: int | None = None
    """the newest timestamp (microseconds), where it says so"""
    delayed: bool = True
    """whether tuples may have arrived at another time than they were sensed"""


def footer_of(
    path: Path | str, source: Source, content: BinaryIO | None = None, *, values: bool = True
) -> Footer:
    """FileError or DataError if the file is none of its source. ``content``: the footer's bytes
    are there, the rest may not be (:func:`ending`). ``values``: what the footer leaves open is
    looked up in the columns, or a task must look."""
    file, fields = open_parquet(path, source.schema, content)
    with file:
        whole = content is None
        kinds = {column.name: column.type for column in file.schema_arrow}
        columns = _Columns(path, file, whole=whole)
        arrival = ARRIVAL_COLUMN if ARRIVAL_COLUMN in kinds else TIMESTAMP_COLUMN
        if whole and values and (first := columns.first_null(arrival)) is not None:
            raise source_records.unknown_arrival(path, first)
        reading = _reading(file, fields, kinds, columns)
        misfits = values and (
            columns.too_long(source.schema)
            or (arrival != TIMESTAMP_COLUMN and columns.nulls(TIMESTAMP_COLUMN) != 0)
        )
        if not whole and values and (misfits or columns.nulls(arrival) != 0):
            reading = None  # a task must look at it
        begin, end = columns.times(arrival, kinds[arrival])
        metadata = file.metadata
        return Footer(
            metadata.num_rows,
            metadata.num_row_groups,
            begin,
            end,
            reading,
            misfits,
            untimed=columns.nulls(TIMESTAMP_COLUMN),
            newest=columns.times(TIMESTAMP_COLUMN, kinds[TIMESTAMP_COLUMN])[1],
            delayed=arrival != TIMESTAMP_COLUMN and columns.nulls(arrival) != metadata.num_rows,
        )


def _reading(
    file: Any, fields: Sequence[Field], kinds: dict[str, Any], columns: _Columns
) -> Reading | None:
    """As :attr:`Footer.reading`. Spark's reader widens numbers itself, and takes a time without a
    zone for UTC."""
    found = []
    low = [name.lower() for name in kinds]
    for field in fields:
        kind = kinds[field.name]
        if low.count(field.name.lower()) > 1:  # Spark does not tell them apart
            return None
        if pa.types.is_null(kind):
            found.append((field.name, ABSENT))
        elif pa.types.is_float16(kind):
            return None
        elif field.type is DataType.TIMESTAMP:
            if kind == pa.int64():
                found.append((field.name, "bigint"))
            elif columns.physical(field.name) == "INT96":
                if _SPARK_WROTE not in (file.metadata.metadata or {}):
                    return None  # others write times that are finer than a microsecond
            elif kind.unit == "ns":
                return None
        elif field.type is DataType.FLOAT and pa.types.is_integer(kind):
            found.append((field.name, "int"))
    return tuple(found)


class _Columns:
    """A file's columns by name: what its footer knows, and the values where that is not enough."""

    def __init__(self, path: Path | str, file: Any, *, whole: bool) -> None:
        self._path, self._file, self._whole = path, file, whole
        self._groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
        first = self._groups[0] if self._groups else None
        self._places = (
            {first.column(at).path_in_schema: at for at in range(first.num_columns)}
            if first is not None
            else {}
        )

    def physical(self, name: str) -> str | None:
        place = self._places.get(name)
        return None if place is None else str(self._groups[0].column(place).physical_type)

    def nulls(self, name: str) -> int | None:
        """How many; None if the footer does not say."""
        counts = [self._statistics(group, name) for group in self._groups if group.num_rows]
        if any(one is None or not one.has_null_count for one in counts):
            return None
        return sum(int(one.null_count) for one in counts)

    def first_null(self, name: str) -> int | None:
        """The row, from 1."""
        if self.nulls(name) == 0:
            return None
        before = 1
        for batch in self._values([name]):
            if (place := pc.index(pc.is_null(batch.column(0)), True).as_py()) >= 0:
                return int(before + place)
            before += len(batch)
        return None

    def too_long(self, schema: Schema) -> bool:
        """Whether there are texts that are longer than declared, or may be."""
        limits = {field.name: field.length for field in schema.fields if field.length is not None}
        if not limits or not self._whole:
            return bool(limits)
        for batch in self._values(list(limits)):
            for name, most in limits.items():
                column = batch.column(name)
                if pa.types.is_dictionary(column.type):
                    column = column.dictionary
                longest = pc.max(pc.binary_length(column)).as_py()
                if longest is not None and longest > most:
                    return True
        return False

    def times(self, name: str, kind: Any) -> tuple[int | None, int | None]:
        """The first and the last, in microseconds."""
        if self.physical(name) != "INT64":
            return None, None
        unit = kind.unit if pa.types.is_timestamp(kind) else "us"
        found = [self._statistics(group, name) for group in self._groups if group.num_rows]
        if not found or any(one is None or not one.has_min_max for one in found):
            return None, None
        begin, end = min(one.min_raw for one in found), max(one.max_raw for one in found)
        if unit == "ns":
            return begin // 1000, end // 1000
        times = 1 if unit == "us" else 1000
        return begin * times, end * times

    def _statistics(self, group: Any, name: str) -> Any:
        place = self._places.get(name)
        return None if place is None else group.column(place).statistics

    def _values(self, names: list[str]) -> Any:
        try:
            yield from self._file.iter_batches(batch_size=1 << 16, columns=names)
        except (pa.ArrowException, OSError) as error:
            raise source_records.unreadable(self._path, error, NOT_PARQUET) from None


class _Ending(io.RawIOBase):
    """A file of which only the last bytes are there."""

    def __init__(self, size: int, end: bytes) -> None:
        self._size, self._end, self._at = size, end, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begins = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}
        self._at = begins[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, into: Any) -> int:
        missing = self._size - len(self._end)
        if self._at < missing:
            raise OSError(f"only the last {len(self._end)} bytes are there")
        start = self._at - missing
        found = self._end[start : start + len(into)]
        into[: len(found)] = found
        self._at += len(found)
        return len(found)


def ending(size: int, end: bytes) -> BinaryIO:
    """A Parquet file by its last bytes: enough to read its footer."""
    return io.BufferedReader(_Ending(size, end))


def footer_bytes(end: bytes) -> int:
    """How many of a file's last bytes its footer takes, by the last eight of them."""
    return 8 + int.from_bytes(end[-8:-4], "little")


# ---------------------------------------------------------------- reading by Spark


def read_schema(schema: Schema, reading: Reading = ()) -> StructType:
    """The columns that are asked of Spark's reader; those that a file lacks are NULL."""
    how = dict(reading)
    extras = (source_records.ARRIVAL_FIELD, source_records.VEHICLE_FIELD)
    return StructType(
        [
            StructField(field.name, OTHERWISE.get(how.get(field.name, ""), SPARK[field.type]))
            for field in (*schema.columns, *extras)
            if how.get(field.name) != ABSENT
        ]
    )


def tuples(data: DataFrame, schema: Schema, *, placed: bool = True) -> DataFrame:
    """What Spark's reader gives -> the schema's columns, ``arrived_at``, ``vehicle`` and, if
    ``placed``, the row's place in its file, from 1. Whoever names it makes Spark compute all that
    it knows of the file, row by row, whether it is used or not."""
    there = {field.name: field.dataType for field in data.schema.fields}

    def column(field: Field) -> Column:
        wanted = SPARK[field.type]
        if (kind := there.get(field.name)) is None:
            return F.lit(None).cast(wanted).alias(field.name)
        value = F.col(f"`{field.name}`")
        if kind != wanted:
            value = F.timestamp_micros(value) if kind == LongType() else value.cast(wanted)
        return value.alias(field.name)

    extras = (source_records.ARRIVAL_FIELD, source_records.VEHICLE_FIELD)
    columns = [column(field) for field in (*schema.columns, *extras)]
    if POSITION_COLUMN not in schema.names:
        place = F.col("_metadata.row_index") + 1 if placed else F.lit(None).cast(LongType())
        columns.append(place.alias(POSITION_COLUMN))
    return data.select(*columns)


def read_parquet_files(
    spark: SparkSession,
    files: Sequence[Location],
    schema: Schema,
    reading: Reading,
    *,
    placed: bool = True,
) -> DataFrame:
    """Files of one way of reading."""
    reader = spark.read.schema(read_schema(schema, reading)).option("recursiveFileLookup", "true")
    return tuples(reader.parquet(*(file.spark_path for file in files)), schema, placed=placed)
