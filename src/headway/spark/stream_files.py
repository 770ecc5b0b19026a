"""Exactly-once Parquet for streams: a file per output and micro-batch, named after the batch.

A batch that was written and not committed when the process died is computed again from the same
input and replaces its file. Files appear under their names when they are complete.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headway.model.schema import VEHICLE_COLUMN, Schema
from headway.model.time import MICROSECOND
from headway.runtime.writing import TIME
from headway.sources.parquet_file import ARROW_TYPES
from headway.spark.accounting import added_names, now
from headway.spark.latencies import Tally
from headway.spark.lowering.tagged import EXIT, struct_name

END = "end"
"""stands for a batch number: what the end of the input gave"""


def folder_of(output: Path, name: str) -> Path:
    return output / f"{name}.parquet"


def write_tagged(table: Any, tallies: list[Tally], output: Path, batch: int | str) -> int:
    """Takes the outputs in a tagged Arrow table apart, accounts for them and writes them; gives
    how many rows that were."""
    completed = now()
    for place, tally in enumerate(tallies):
        mine = table.filter(pc.equal(table.column(EXIT), place))
        rows = _rows(mine, place, tally.account.schema)
        sensed = np.asarray(rows.column("timestamp").cast(pa.int64()))
        tally.add(sensed, completed)
        _write(_stamped(rows, sensed, tally, completed), tally, output, batch)
    return int(table.num_rows)


def write_end(rows: Any, tally: Tally, output: Path) -> None:
    """What the end of the input gave for one output: vehicle, timestamp, fields."""
    completed = now()
    columns = [VEHICLE_COLUMN, *(field.name for field in tally.account.schema.columns)]
    rows = rows.select(columns)
    sensed = np.asarray(rows.column("timestamp").cast(pa.int64()))
    tally.add(sensed, completed)
    _write(_stamped(rows, sensed, tally, completed), tally, output, END)


def _rows(mine: Any, place: int, schema: Schema) -> Any:
    """vehicle, timestamp, fields; times come as microseconds."""
    flat = mine.select([struct_name(place)]).combine_chunks().flatten()
    arrays = [
        flat.column(index).cast(ARROW_TYPES[field.type])
        for index, field in enumerate(schema.columns)
    ]
    names = [field.name for field in schema.columns]
    return pa.table([mine.column(VEHICLE_COLUMN), *arrays], names=[VEHICLE_COLUMN, *names])


def _stamped(rows: Any, sensed: Any, tally: Tally, completed: int) -> Any:
    account = tally.account
    due = sensed + account.deadline
    added = {
        "deadline": pa.array(due, pa.int64()).cast(TIME),
        "completed": pa.array(np.full(len(sensed), completed), pa.int64()).cast(TIME),
        "latency": pa.array((completed - sensed) * MICROSECOND, pa.int64()),
        "missed": pa.array(completed > due, pa.bool_()),
        "replayed": pa.array(due < account.began, pa.bool_()),
    }
    for name, called in added_names(account.schema).items():
        rows = rows.append_column(called, added[name])
    return rows


def _write(rows: Any, tally: Tally, output: Path, batch: int | str) -> None:
    folder = folder_of(output, tally.account.output.name)
    name = f"batch-{batch:010d}.parquet" if isinstance(batch, int) else f"{batch}.parquet"
    if not rows.num_rows:
        # A batch that is repeated gives the same; this is for one that never was this run's.
        (folder / name).unlink(missing_ok=True)
        return
    part = folder / f".{name}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, part)
        part.replace(folder / name)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def remove_end(output: Path, name: str) -> None:
    """Before more input comes: windows that the end closed are open again."""
    (folder_of(output, name) / f"{END}.parquet").unlink(missing_ok=True)
