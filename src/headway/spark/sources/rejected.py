"""Tuples of a stream's files that do not fit their schema: sorted out and listed by the readers.

They are the vehicle engine's ``rejected``: no timestamp, a string longer than declared. Each file
of the input that has such tuples gets one file in the folder, named after it; a file that is read
again, by another query or after a restart, gives the same one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headway.model.query import Source
from headway.model.schema import ARRIVAL_COLUMN, TIMESTAMP_COLUMN, VEHICLE_COLUMN, Schema
from headway.model.time import MICROSECOND
from headway.runtime.ingest import Ingest
from headway.runtime.side_table import SideRow, side_row, side_rows_table
from headway.spark.parquet_parts import write_part


@dataclass(frozen=True)
class Rejected:
    """A folder that the tasks write into; it may be copied to them."""

    folder: Path
    _counted: dict[str, int] = field(default_factory=dict, compare=False)

    def sorted_out(self, source: Source, path: Path, tables: Iterator[Any]) -> Iterator[Any]:
        """The tuples that fit; the others are written when all have been seen."""
        ingest = Ingest(source)
        rows: list[SideRow] = []
        owners: list[str | None] = []
        for table in tables:
            wrong = misfits(table, source.schema)
            if wrong is None:
                yield table
                continue
            bad = table.filter(wrong)
            names = [column.name for column in source.schema.columns]
            cells = (_plain(bad.column(name)) for name in names)
            times = _plain(bad.column(ARRIVAL_COLUMN))
            for at, row in zip(times, zip(*cells, strict=True), strict=True):
                ingest.offer(row, 0)
                rows += [
                    side_row(at * MICROSECOND, dropped, source.schema)
                    for dropped in ingest.take_side()
                ]
            owners += bad.column(VEHICLE_COLUMN).to_pylist()
            yield table.filter(pc.invert(wrong))
        if rows:
            owner = pa.array([name or "" for name in owners], pa.string())
            listed = side_rows_table(rows).append_column(VEHICLE_COLUMN, owner)
            write_part(listed, self.folder, self._name(source.name, path))

    def counts(self) -> dict[str, int]:
        """How many tuples are listed by now, by source."""
        found: dict[str, int] = {}
        for path in self.folder.glob("*.parquet") if self.folder.is_dir() else ():
            if path.name not in self._counted:
                self._counted[path.name] = pq.ParquetFile(path).metadata.num_rows
            source = path.name.rpartition("-")[0]
            if not self._counted[path.name]:
                continue
            found[source] = found.get(source, 0) + self._counted[path.name]
        return found

    def _name(self, source: str, path: Path) -> str:
        return f"{source}-{sha256(str(path).encode()).hexdigest()[:12]}.parquet"


def misfits(table: Any, schema: Schema) -> Any:
    """A mask of the tuples that do not fit; None if all do. What the types leave open only."""
    wrong = pc.is_null(table.column(TIMESTAMP_COLUMN))
    for one in schema.fields:
        if one.length is not None:
            long = pc.greater(pc.binary_length(table.column(one.name)), one.length)
            wrong = pc.or_(wrong, pc.fill_null(long, False))
    return wrong if pc.any(wrong).as_py() else None


def _plain(column: Any) -> list[Any]:
    """As the engine has them: times are microseconds."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values
