"""The rows of a micro-batch: taken apart by output, accounted for, and where they go.

Files are exactly-once: what a batch writes is named after the batch, and a batch that is repeated
replaces it. Formats that are no files get each batch appended; one that was written and not
committed when the process died is appended again, unless the format can tell batches apart (its
options may say ``{run}`` and ``{batch}``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from headway.engine.result_tables import TIME
from headway.engine.run_folder import remove
from headway.model.quantities import MICROSECOND
from headway.model.schema import VEHICLE_COLUMN, Schema
from headway.sources.parquet_file import ARROW_TYPES
from headway.spark.accounting import Tally, added_names, now
from headway.spark.batch.batch_sinks import CONSOLE, FILES, PARQUET_FORMAT, SHOWN_ROWS, OnRows, Sink
from headway.spark.lowering.engine_region import EXIT, struct_name
from headway.spark.side_files import END, write_part

# ---------------------------------------------------------------- sinks

_BATCH = "batch-"


def batch_name(number: int) -> str:
    return f"{_BATCH}{number:010d}"


def _number(batch: str) -> str:
    """As an option wants it: without the name's zeros."""
    return batch if batch == END else str(int(batch.removeprefix(_BATCH)))


class StreamSink(Protocol):
    def put(self, output: str, rows: Any, batch: str) -> None:
        """All that a batch gives for an output (an Arrow table); maybe nothing."""

    def forget_end(self, output: str) -> None:
        """More input comes: windows that the end closed are open again."""


class ParquetFiles:
    """A file per output and batch, written by the driver."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, output: str, rows: Any, batch: str) -> None:
        folder, name = self._folder / f"{output}.parquet", f"{batch}.parquet"
        if rows.num_rows:
            write_part(rows, folder, name)
        else:
            # A batch that is repeated gives the same; this is for one that never was this run's.
            (folder / name).unlink(missing_ok=True)

    def forget_end(self, output: str) -> None:
        (self._folder / f"{output}.parquet" / f"{END}.parquet").unlink(missing_ok=True)


class SparkFiles:
    """A folder of files per output and batch, in a format of Spark."""

    def __init__(self, spark: SparkSession, sink: Sink, folder: Path, run: str) -> None:
        self._spark, self._sink, self._folder, self._run = spark, sink, folder, run

    def put(self, output: str, rows: Any, batch: str) -> None:
        place = self._place(output, batch)
        if not rows.num_rows:
            remove(place)
            return
        part = place.with_name(f".{batch}.part")
        options = self._sink.options_for(output=output, batch=_number(batch), run=self._run)
        writer = self._spark.createDataFrame(rows).write.format(self._sink.format)
        writer.options(**options).mode("overwrite").save(str(part.absolute()))
        remove(place)
        part.replace(place)

    def forget_end(self, output: str) -> None:
        remove(self._place(output, END))

    def _place(self, output: str, batch: str) -> Path:
        return self._folder / f"{output}.{self._sink.format}" / batch


class Appended:
    """A format that is no file."""

    def __init__(self, spark: SparkSession, sink: Sink, run: str) -> None:
        self._spark, self._sink, self._run = spark, sink, run

    def put(self, output: str, rows: Any, batch: str) -> None:
        if rows.num_rows:
            options = self._sink.options_for(output=output, batch=_number(batch), run=self._run)
            writer = self._spark.createDataFrame(rows).write.format(self._sink.format)
            writer.options(**options).mode("append").save()

    def forget_end(self, output: str) -> None:
        """What was appended stays."""


class ConsoleTables:
    """The first rows of each batch."""

    def __init__(self, on_rows: OnRows) -> None:
        self._on_rows = on_rows

    def put(self, output: str, rows: Any, batch: str) -> None:
        if rows.num_rows:
            more = rows.num_rows - SHOWN_ROWS
            title = f"{output}, {batch}" + (f", and {more:,} rows more" if more > 0 else "")
            self._on_rows(title, rows.slice(0, SHOWN_ROWS).to_pylist())

    def forget_end(self, output: str) -> None:
        """What was shown was shown."""


def stream_sink(
    spark: SparkSession, sink: Sink, folder: Path, run: str, on_rows: OnRows
) -> StreamSink:
    if sink.format == CONSOLE:
        return ConsoleTables(on_rows)
    if sink.format == PARQUET_FORMAT and not sink.options:
        return ParquetFiles(folder)
    if sink.format in FILES:
        return SparkFiles(spark, sink, folder, run)
    return Appended(spark, sink, run)


# ---------------------------------------------------------------- a micro-batch


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
