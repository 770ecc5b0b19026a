"""The files of a source as a plain streaming DataFrame, each file once: for streaming tables.

``headway run`` reads streams in pieces of its own (:mod:`headway.spark.sources.intake`), inside
``foreachBatch``; a streaming table wants one DataFrame that Spark reads by itself, on any file
system. Parquet is read by Spark, all else by Headway's own readers inside the tasks, so that a cell
means the same everywhere.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headway.model.query import Source
from headway.spark.lowering.frames import conformed
from headway.spark.session.python_workers import enter
from headway.spark.sources.checked_files import text_schema, text_tables
from headway.spark.sources.source_files import PARQUET, Files, find_files
from headway.spark.storage.locations import Location

_BINARY = StructType(
    [
        StructField("path", StringType()),
        StructField("modificationTime", TimestampType()),
        StructField("length", LongType()),
        StructField("content", BinaryType()),
    ]
)


def read_new_files(spark: SparkSession, folder: str, source: Source) -> DataFrame:
    """The files that are there and those that will come; ``position`` breaks no ties here, because
    nothing that reads it asks for an order. FileError if there is no place for such files."""
    files = find_files(Location.of(folder), source, streaming=True, spark=spark)
    reader = spark.readStream.option("pathGlobFilter", files.pattern)
    place = files.folder.spark_path
    if files.suffix == PARQUET:
        found = reader.schema(_parquet_schema(spark, files)).parquet(place)
        return conformed(found, source.schema, str(files.folder), F.lit(None))
    contents = reader.format("binaryFile").schema(_BINARY).load(place).select("path", "content")
    return contents.mapInArrow(_reader(source), text_schema(source.schema))


def _parquet_schema(spark: SparkSession, files: Files) -> StructType:
    """A stream wants to be told; columns may be narrower in the files than in the query."""
    found = files.locations(spark)
    if not found:
        return text_schema(files.source.schema)
    return spark.read.parquet(*(one.spark_path for one in found)).schema


def _reader(source: Source) -> Any:
    schema, paths = source.schema, tuple(sys.path)

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        enter(paths)
        for batch in batches:
            for path, content in zip(
                *(column.to_pylist() for column in batch.columns), strict=True
            ):
                where = urlsplit(path)
                there = Path(unquote(where.path))
                if where.scheme in ("", "file") and there.is_file():
                    yield from text_tables(there, schema)  # it may name others beside it
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    beside = Path(folder) / there.name
                    beside.write_bytes(content)
                    yield from text_tables(beside, schema)

    return read
