"""Files of all formats but Parquet in Spark tasks, read by the vehicle engine's own readers.

So a cell means the same on both engines and a bad one is named by file and line; Spark's
readers would turn it into NULL. A task reads a whole file: many files are read side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from headway.model.schema import ARRIVAL_COLUMN, VEHICLE_COLUMN, DataType, Schema
from headway.sources.parquet_file import ARROW_TYPES
from headway.sources.recordings import read_file
from headway.spark.lowering.frames import POSITION_COLUMN, SPARK

ROWS = 8192
Batches = Iterator[Any]


def text_schema(schema: Schema) -> StructType:
    """What :func:`file_tables` gives."""
    position = [] if POSITION_COLUMN in schema.names else [StructField(POSITION_COLUMN, LongType())]
    return StructType(
        [
            *(StructField(field.name, SPARK[field.type]) for field in schema.columns),
            StructField(ARRIVAL_COLUMN, TimestampType()),
            StructField(VEHICLE_COLUMN, StringType()),
            *position,
        ]
    )


def local_path(path: str) -> Path:
    return Path(path.removeprefix("file://").removeprefix("file:"))


def file_tables(path: Path, schema: Schema) -> Batches:
    """The tuples of one file; DataError or FileError where it stops being one."""
    kinds = [ARROW_TYPES[field.type] for field in schema.columns]
    kinds += [ARROW_TYPES[DataType.TIMESTAMP], pa.string(), pa.int64()]
    names = [field.name for field in schema.columns]
    names += [ARRIVAL_COLUMN, VEHICLE_COLUMN, POSITION_COLUMN]
    records = read_file(path, schema)
    while piece := list(islice(records, ROWS)):
        rows = [(*one.row, one.arrived_at, one.vehicle, one.number) for one in piece]
        columns = zip(*rows, strict=True)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        table = dict(zip(names[:-1], arrays[:-1], strict=True))
        if POSITION_COLUMN not in schema.names:
            table[POSITION_COLUMN] = arrays[-1]
        yield pa.RecordBatch.from_pydict(table)
