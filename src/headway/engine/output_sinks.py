"""Where the outputs of a run in the vehicle engine go: files of several formats, or what another
package adds. What left its way, the trace and the summary are always files of the run's folder."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from headway.engine.run_folder import RunFolder
from headway.errors import InputError
from headway.extensions import ExtensionClasses


class TableWriter(Protocol):
    """Takes one output's tuples, piece by piece."""

    def write_table(self, table: Any) -> None:
        """Further tuples: an Arrow table of the schema that the writer was opened with."""

    def close(self) -> None:
        """There are no more, or the run has failed; files of a failed run are removed."""


class OutputSink(ABC):
    """Subclass it, and either declare it in ``SINKS`` or, from another package, as an entry point
    of the group ``headway.sinks``. ``headway run --engine vehicle --format NAME`` chooses it;
    ``--option K=V`` gives what it declares in ``takes``.

    ``name``, ``summary`` and :meth:`open` must be given. A sink is made for one run.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    takes: ClassVar[Mapping[str, str]] = {}
    """its options, and what each is for"""

    def __init__(self, options: Mapping[str, str]) -> None:
        for option in options:
            if option not in self.takes:
                known = ", ".join(f"{name} ({what})" for name, what in self.takes.items())
                raise InputError(
                    f"the format {self.name!r} has no option {option!r}",
                    at="--option",
                    want=f"it takes {known or 'none'}",
                )
        self.options = dict(options)

    @abstractmethod
    def open(self, output: str, schema: Any, folder: RunFolder) -> TableWriter:
        """A writer for the tuples of one output, before the run begins. The Arrow schema has the
        stream's columns, then ``deadline``, ``completed``, ``latency`` (ns), ``missed``, and
        ``vehicle`` where the recording names vehicles.

        Files are written to ``folder.part(NAME)``, so that they appear when the run is complete.
        """


class FileSink(OutputSink):
    """A file for each output, called by the output's and the format's name."""

    def open(self, output: str, schema: Any, folder: RunFolder) -> TableWriter:
        return self.open_file(folder.part(f"{output}.{self.name}"), schema)

    @abstractmethod
    def open_file(self, path: Path, schema: Any) -> TableWriter:
        """A writer of that file, which is not there yet."""


class ParquetSink(FileSink):
    name = "parquet"
    summary = "Apache Parquet"

    def open_file(self, path: Path, schema: Any) -> TableWriter:
        writer: TableWriter = pq.ParquetWriter(path, schema)
        return writer


class CsvSink(FileSink):
    """What the CSV reader of recordings reads: times in UTC, an empty cell for NULL."""

    name = "csv"
    summary = "CSV with a header line"

    def open_file(self, path: Path, schema: Any) -> TableWriter:
        writer: TableWriter = pa.csv.CSVWriter(path, schema)
        return writer


class JsonLinesSink(FileSink):
    name = "jsonl"
    summary = "JSON lines, an object each"

    def open_file(self, path: Path, schema: Any) -> TableWriter:
        return _JsonLinesWriter(path)


class _JsonLinesWriter:
    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    def write_table(self, table: Any) -> None:
        for row in table.to_pylist():
            self._file.write(json.dumps(row, default=_written, ensure_ascii=False) + "\n")

    def close(self) -> None:
        self._file.close()


def _written(value: object) -> str:
    assert isinstance(value, datetime)
    return value.isoformat()


SINKS: ExtensionClasses[OutputSink] = ExtensionClasses(
    "headway.sinks",
    what="output format",
    base=f"{__name__}:OutputSink",
    own={
        "parquet": f"{__name__}:ParquetSink",
        "csv": f"{__name__}:CsvSink",
        "jsonl": f"{__name__}:JsonLinesSink",
    },
)


def sink_named(name: str, options: Mapping[str, str] | None = None) -> OutputSink:
    """A sink for one run; InputError lists the names and options there are."""
    if name not in SINKS:
        raise InputError(
            f"the vehicle engine does not write {name!r}",
            at="--format",
            want=f"one of {', '.join(SINKS)}",
        )
    return SINKS[name](options or {})
