"""Where the outputs of a batch go: files in the output folder, the terminal, any Spark format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Observation

from headway.spark.accounting import Account
from headway.spark.outcome import SparkOutput
from headway.spark.output_folder import OutputFolder

CONSOLE = "console"
FILES = frozenset({"parquet", "csv", "json", "orc", "text", "avro", "xml"})
SHOWN_ROWS = 20


@dataclass(frozen=True)
class Sink:
    """A format with its options; in the options ``{output}`` stands for the output's name."""

    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)

    def options_for(self, output: str) -> dict[str, str]:
        return {key: text.replace("{output}", output) for key, text in self.options.items()}

    def write(self, data: DataFrame, account: Account, folder: OutputFolder) -> SparkOutput:
        """Writes one output's rows with their deadlines. Files are complete under their names when
        the folder is; other formats are as exact as their Spark writers are."""
        observed = Observation()
        stamped = account.stamped(data).observe(observed, *account.measures())
        name = account.output.name
        writer = stamped.write.format(self.format).options(**self.options_for(name))
        if self.format == CONSOLE:
            stamped.write.format("noop").mode("overwrite").save()
        elif self.format in FILES:
            writer.save(str(folder.part(f"{name}.{self.format}")))
        else:
            writer.mode("append").save()
        return account.summary(observed.get)

    def shown(self, data: DataFrame, account: Account) -> list[dict[str, object]]:
        """The first rows, for the terminal."""
        return [row.asDict() for row in account.stamped(data).limit(SHOWN_ROWS).collect()]
