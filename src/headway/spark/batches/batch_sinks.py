"""Where the outputs of a batch go: files in the output folder, the terminal, any Spark format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameWriter, Observation, SparkSession

from headway.errors import InputError
from headway.spark.accounting import Account
from headway.spark.spark_results import SparkOutput
from headway.spark.storage.output_folder import OutputFolder

CONSOLE = "console"
PARQUET_FORMAT = "parquet"
FILES = frozenset({PARQUET_FORMAT, "csv", "json", "orc", "text", "avro", "xml"})
SHOWN_ROWS = 20
OnRows = Callable[[str, list[dict[str, object]]], None]
"""gets the name of an output and the rows to show of it"""


@dataclass(frozen=True)
class Sink:
    """A format with its options; in the options ``{output}`` stands for the output's name, and in
    a stream ``{batch}`` for the micro-batch's number, ``{run}`` for the run."""

    format: str = PARQUET_FORMAT
    options: Mapping[str, str] = field(default_factory=dict)

    def options_for(self, **names: str) -> dict[str, str]:
        options = dict(self.options)
        for name, value in names.items():
            options = {key: text.replace(f"{{{name}}}", value) for key, text in options.items()}
        return options

    @property
    def is_table(self) -> bool:
        """Neither files of this run nor the terminal: something that is there already."""
        return self.format not in FILES and self.format != CONSOLE

    def check(self, spark: SparkSession) -> None:
        """InputError for a format that this Spark does not know, before anything is computed."""
        if self.format == CONSOLE:
            return
        java: Any = spark._jvm
        sources = java.org.apache.spark.sql.execution.datasources.DataSource
        session: Any = spark._jsparkSession
        try:
            sources.lookupDataSource(self.format, session.sessionState().conf())
        except (Py4JJavaError, PySparkException):
            raise InputError(
                "Spark does not know this format",
                at="--format",
                got=self.format,
                want="parquet, csv, json, orc, console, or one whose Java package is there "
                "(--conf spark.jars.packages=…)",
            ) from None

    def write(self, data: DataFrame, account: Account, folder: OutputFolder) -> SparkOutput:
        """Writes one output's rows with their deadlines. Files are complete under their names when
        the folder is; other formats are as exact as their Spark writers are."""
        stamped, name = account.stamped(data), account.output.name
        if self.format == CONSOLE:
            return account.measured(stamped)
        called = f"{name}.{self.format}"
        part = folder.part(called).hadoop_path if self.format in FILES else None
        if self.format == PARQUET_FORMAT:
            # Counting on the way would cost as much as writing; the files tell at once.
            self._writer(stamped, name).mode("append").save(part)
            files = folder.written(called)
            if account.replay and all(one.is_local for one in files):
                rows = sum(pq.read_metadata(one.path).num_rows for one in files)
                return account.summary({"tuples": rows})
            written = data.sparkSession.read.parquet(*(one.spark_path for one in files))
            return account.read_back(written)
        observed = Observation()
        writer = self._writer(stamped.observe(observed, *account.measures()), name)
        if part is not None:
            writer.mode("append").save(part)
        else:
            writer.mode("append").save()
        return account.summary(observed.get)

    def _writer(self, data: DataFrame, name: str) -> DataFrameWriter:
        return data.write.format(self.format).options(**self.options_for(output=name))

    def shown(self, data: DataFrame, account: Account) -> list[dict[str, object]]:
        """The first rows, for the terminal."""
        return [row.asDict() for row in account.stamped(data).limit(SHOWN_ROWS).collect()]
