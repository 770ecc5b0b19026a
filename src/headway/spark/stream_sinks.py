"""Where the outputs of a stream go, micro-batch by micro-batch: rows that are stamped already.

Files are exactly-once: what a batch writes is named after the batch, and a batch that is repeated
replaces it. Formats that are no files get each batch appended; one that was written and not
committed when the process died is appended again, unless the format can tell batches apart (its
options may say ``{run}`` and ``{batch}``).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession

from headway.runtime.run_folder import remove
from headway.spark.parquet_parts import write_part
from headway.spark.sinks import CONSOLE, FILES, PARQUET, SHOWN_ROWS, Sink

END = "end"
"""stands for a batch: what the end of the input gave"""
OnRows = Callable[[str, list[dict[str, object]]], None]


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
    if sink.format == PARQUET and not sink.options:
        return ParquetFiles(folder)
    if sink.format in FILES:
        return SparkFiles(spark, sink, folder, run)
    return Appended(spark, sink, run)
