"""The files of a source as one plain DataFrame, all of them or as a stream: for datasets.

``headway run`` looks at files before it reads them (:mod:`headway.spark.sources.file_checks`), by
jobs of its own; a dataset wants one DataFrame that Spark reads by itself in each run, also
through Spark Connect. Parquet is read by Spark, all else by Headway's own readers inside the tasks,
so that a cell means the same everywhere. A file that breaks its schema ends the run.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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
from headway.spark.sources.input_files import PARQUET, Files, find_files
from headway.spark.sources.parquet_footers import read_schema
from headway.spark.storage.locations import Location

_ROW = "_metadata.row_index"
_BINARY = StructType(
    [
        StructField("path", StringType()),
        StructField("modificationTime", TimestampType()),
        StructField("length", LongType()),
        StructField("content", BinaryType()),
    ]
)


def read_source(spark: SparkSession, folder: str, source: Source, *, streaming: bool) -> DataFrame:
    """Looks at the files' columns, not at rows. A folder with a URI is asked for
    ``NAME.parquet`` only, because Spark Connect has nobody who could list it. FileError if there is
    no place for the source's files."""
    place = Location.of(folder)
    if place.is_local:
        files = find_files(place, source, streaming=streaming)
        there = bool(files.entries())
    else:
        files = Files(source, place / f"{source.name}{PARQUET}", f"*{PARQUET}", PARQUET)
        there = True
    at = files.folder.spark_path
    only = {"pathGlobFilter": files.pattern}
    if files.suffix == PARQUET:
        declared = read_schema(source.schema)
        kinds = spark.read.options(**only).parquet(at).schema if there else declared
        if streaming:
            found = spark.readStream.options(**only).schema(kinds).parquet(at)
        else:
            found = spark.read.options(**only).parquet(at)
        return conformed(found, source.schema, files.where, F.col(_ROW))
    reader = spark.readStream if streaming else spark.read
    contents = reader.format("binaryFile").options(**only).schema(_BINARY).load(at)
    return contents.select("path", "content").mapInArrow(
        _reader(source), text_schema(source.schema)
    )


def _reader(source: Source) -> Callable[[Iterator[Any]], Iterator[Any]]:
    schema, paths = source.schema, tuple(sys.path)

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        enter(paths)
        for batch in batches:
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            for path, content in rows:
                place = Location.of(path)
                if place.is_local and place.path.is_file():
                    yield from text_tables(place.path, schema)  # it may name others beside it
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    copy = Path(folder) / place.name
                    copy.write_bytes(content)
                    yield from text_tables(copy, schema)

    return read
