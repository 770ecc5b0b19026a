"""Where the tuples of a run come from: a folder of files, or topics of Kafka."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession

from headway.errors import EnvironmentMissing, InputError, Problem
from headway.model.query import Query, Source
from headway.spark.masters import refusal_of
from headway.spark.reading import PARQUET, find_files, read_batch, read_stream
from headway.spark.sources.kafka_stream import read_kafka
from headway.spark.sources.quarantine import Quarantine
from headway.spark.sources.rejected import Rejected

KAFKA = "kafka://"


@dataclass(frozen=True)
class Inputs:
    """``servers``: Kafka instead of a folder; a source's topic has its name, unless ``topics`` says
    otherwise; ``options`` are those of Spark's ``kafka`` source."""

    folder: Path | None = None
    servers: str = ""
    topics: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str, topics: Mapping[str, str], options: Mapping[str, str]) -> Inputs:
        """A folder, or ``kafka://HOST:PORT,…``; InputError for what does not go together."""
        if not text.startswith(KAFKA):
            for name, given in (("--topic", topics), ("--input-option", options)):
                if given:
                    raise InputError(
                        Problem(f"{name} is for Kafka", got=f"--input {text}",
                                want=f"--input {KAFKA}HOST:PORT")
                    )  # fmt: skip
            return cls(Path(text))
        servers = text.removeprefix(KAFKA).rstrip("/")
        if not all(host and port.isdecimal() for host, _, port in _addresses(servers)):
            raise InputError(
                Problem("no address of Kafka", at="--input", got=text,
                        want=f"write {KAFKA}HOST:PORT, more of them after commas")
            )  # fmt: skip
        return cls(None, servers, topics, options)

    def check(self, query: Query, *, streaming: bool) -> None:
        """InputError for topics of sources that there are not, and for sources without files;
        EnvironmentMissing if no broker answers."""
        if self.folder is not None:
            for source in query.sources:
                find_files(self.folder, source, streaming=streaming)
            return
        known = [source.name for source in query.sources]
        if unknown := [name for name in self.topics if name not in known]:
            raise InputError(
                Problem(f"there is no source {name!r}", at="--topic",
                        want=f"there are {', '.join(known)}") for name in unknown
            )  # fmt: skip
        addresses = _addresses(self.servers)
        refusals = [told for host, _, port in addresses if (told := refusal_of(host, int(port)))]
        if len(refusals) == len(addresses):
            raise EnvironmentMissing(
                f"No broker of Kafka answers at {self.servers}: {'; '.join(refusals)}. Start one, "
                "or name another with --input."
            )

    @property
    def identity(self) -> str:
        """What a checkpoint belongs to: brokers may move, topics and folders are the input."""
        if self.folder is not None:
            return str(self.folder.absolute())
        named = [f"{source}={topic}" for source, topic in sorted(self.topics.items())]
        return " ".join(["kafka", *named])

    def read_batch(
        self,
        spark: SparkSession,
        sources: Iterable[Source],
        quarantine: Quarantine | None = None,
        without: Collection[str] = (),
    ) -> dict[str, DataFrame]:
        """All there is now; ``without`` these files."""
        if self.folder is not None:
            return read_batch(spark, self.folder, sources, quarantine=quarantine, without=without)
        return self._kafka(spark, sources, quarantine, streaming=False)

    def read_stream(
        self,
        spark: SparkSession,
        sources: Iterable[Source],
        quarantine: Quarantine,
        rejected: Rejected,
        files_per_batch: int | None = None,
    ) -> dict[str, DataFrame]:
        """What there is and what will come."""
        if self.folder is None:
            return self._kafka(spark, sources, quarantine, streaming=True)
        return read_stream(
            spark,
            self.folder,
            sources,
            files_per_batch=files_per_batch,
            quarantine=quarantine,
            rejected=rejected,
        )

    def _kafka(
        self,
        spark: SparkSession,
        sources: Iterable[Source],
        quarantine: Quarantine | None,
        *,
        streaming: bool,
    ) -> dict[str, DataFrame]:
        return {
            source.name: read_kafka(
                spark,
                source,
                self.servers,
                self.topics.get(source.name, source.name),
                quarantine=quarantine,
                streaming=streaming,
                **self.options,
            )
            for source in sources
        }

    def read_by_python(self, source: Source) -> bool:
        """Whether reading it again costs as much as the rest of a query."""
        return self.folder is None or find_files(self.folder, source).suffix != PARQUET

    def source_with(self, file: str, sources: Iterable[Source]) -> tuple[str, str] | None:
        """(source, path) of a file that is one of several of a source."""
        if self.folder is None:
            return None
        for source in sources:
            files = find_files(self.folder, source)
            for path in files.paths() if files.several else ():
                if str(path.absolute()) in (file, unquote(file)):
                    return source.name, str(path.absolute())
        return None


def _addresses(servers: str) -> list[tuple[str, str, str]]:
    return [one.strip().rpartition(":") for one in servers.split(",")]
