"""The rows of a micro-batch: taken apart by output, accounted for, handed to the sink."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.model.schema import VEHICLE_COLUMN, Schema
from headway.model.time import MICROSECOND
from headway.runtime.writing import TIME
from headway.sources.parquet_file import ARROW_TYPES
from headway.spark.accounting import added_names, now
from headway.spark.latencies import Tally
from headway.spark.lowering.tagged import EXIT, struct_name
from headway.spark.stream_sinks import END, StreamSink


def write_tagged(table: Any, tallies: list[Tally], sink: StreamSink, batch: str) -> None:
    """Takes the outputs in a tagged Arrow table apart, accounts for them and writes them."""
    completed = now()
    for place, tally in enumerate(tallies):
        mine = table.filter(pc.equal(table.column(EXIT), place))
        _write(_rows(mine, place, tally.account.schema), tally, sink, completed, batch)


def write_end(rows: Any, tally: Tally, sink: StreamSink) -> None:
    """What the end of the input gave for one output: vehicle, timestamp, fields."""
    columns = [VEHICLE_COLUMN, *(field.name for field in tally.account.schema.columns)]
    _write(rows.select(columns), tally, sink, now(), END)


def _write(rows: Any, tally: Tally, sink: StreamSink, completed: int, batch: str) -> None:
    sensed = np.asarray(rows.column("timestamp").cast(pa.int64()))
    tally.add(sensed, completed)
    sink.put(tally.account.output.name, _stamped(rows, sensed, tally, completed), batch)


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
