"""The tuples of a partition's vehicles, read by its own task from the files of a micro-batch.

Dealing tuples out by vehicle is what costs most of a micro-batch on Spark: each is read into a row
of Java's, written for the shuffle, read again and turned into Arrow. A column file is read by
pyarrow so much quicker that with few partitions every task reads all files and keeps the vehicles
that are its own. The work grows with the number of partitions then, so with more than
:data:`MOST_READERS` Spark reads and deals out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.model.schema import ARRIVAL_COLUMN, VEHICLE_COLUMN, DataType, Schema
from headway.spark.lowering.frames import ARRIVED, POSITION, POSITION_COLUMN
from headway.spark.sources.checked_files import parquet_tables
from headway.spark.state.partition_files import belongs_to
from headway.spark.state.vehicle_hashes import vehicle_hashes

MOST_READERS = 8
"""partitions; a tuple costs each of them about a tenth of what it costs to be dealt out"""


@dataclass(frozen=True)
class PartitionIntake:
    """Local Parquet files by source, with the sources' schemas; may be copied to tasks."""

    files: Mapping[str, tuple[str, ...]]
    schemas: Mapping[str, Schema]
    partitions: int

    def tables(self, part: int) -> dict[str, Any]:
        """By source, as :class:`~headway.spark.state.vehicle_steps.StepInput` wants them; sources
        without a tuple are left out."""
        found = {}
        for name, paths in self.files.items():
            schema = self.schemas[name]
            pieces = [
                piece
                for path in paths
                for batch in parquet_tables(Path(path), schema)
                if (piece := self._mine(batch, schema, part)).num_rows
            ]
            if pieces:
                found[name] = pa.Table.from_batches(pieces)
        return found

    def _mine(self, batch: Any, schema: Schema, part: int) -> Any:
        owners = pc.fill_null(batch.column(VEHICLE_COLUMN), "").dictionary_encode()
        names = {VEHICLE_COLUMN: owners.cast(pa.string())}
        names[ARRIVED] = batch.column(ARRIVAL_COLUMN).cast(pa.int64())
        placed = POSITION_COLUMN not in schema.names
        names[POSITION] = (
            batch.column(POSITION_COLUMN) if placed else pa.nulls(batch.num_rows, pa.int64())
        )
        for field in schema.columns:
            value = batch.column(field.name)
            names[field.name] = (
                value.cast(pa.int64()) if field.type is DataType.TIMESTAMP else value
            )
        rows = pa.RecordBatch.from_pydict(names)
        if self.partitions == 1 or not batch.num_rows:
            return rows
        mine = belongs_to(part, self.partitions)(vehicle_hashes(owners.dictionary))
        return rows.filter(pa.array(np.asarray(mine)[owners.indices.to_numpy()]))
