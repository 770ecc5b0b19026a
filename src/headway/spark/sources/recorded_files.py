"""Recordings as DataFrames: for each source a file, a folder of files, or topics of Kafka.

A file is ``NAME.parquet``, ``NAME.csv`` or ``NAME.jsonl``, a folder ``NAME`` holds such files.
Both can be read as a batch or as a stream (each once, in the order they appear), and again from
the beginning, which is what makes restarts exact. In a folder, a file that breaks the schema is
left out and named where there is a quarantine; a source of one file has nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession

from headway.errors import EnvironmentMissing, InputError, Problem
from headway.model.query import Query, Source
from headway.spark.lowering.source_questions import KnownTuples
from headway.spark.session.spark_session import refusal_of
from headway.spark.session.urgency import slots_of
from headway.spark.sources.checked_files import CheckedFiles, Quarantine, Rejected, text_schema
from headway.spark.sources.file_checks import CheckedFile, FileChecks, GivenFile, read_checked
from headway.spark.sources.file_intake import FileIntake
from headway.spark.sources.input_files import PARQUET, Files, find_files
from headway.spark.sources.intake import Intake, Limits, StreamedTuples
from headway.spark.sources.kafka_source import (
    MESSAGES_PER_TASK,
    messages_at_a_time,
    read_kafka,
)
from headway.spark.sources.parquet_footers import Footer
from headway.spark.storage.locations import Location

TASKS_PER_SLOT = 4
"""where a task reads whole files: large and small ones even out"""


class Recording(dict[str, DataFrame]):
    """The tuples of the sources by name; ``known``: what is known of them, where files say it."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, KnownTuples] = {}

    @property
    def rows(self) -> int | None:
        """What Parquet files say they hold; others would have to be read for it."""
        if self.keys() != self.known.keys():
            return None
        return sum(known.rows for known in self.known.values())


def read_batch(
    spark: SparkSession,
    folder: Path | Location,
    sources: Iterable[Source],
    *,
    quarantine: Quarantine | None = None,
    without: Collection[str] = (),
    placed: Collection[str] | None = None,
) -> Recording:
    """All tuples there are; ``without`` those of some files. ``placed``: the sources whose tuples'
    places in their files are wanted; None: all."""
    found = Recording()
    for source in sources:
        files = find_files(folder, source, spark=spark)
        checked = CheckedFiles(source, quarantine if files.several else None, remember=False)
        sound = _looked_at(spark, files, checked, without)
        wanted = placed is None or source.name in placed
        tasks = slots_of(spark) * TASKS_PER_SLOT
        parts = read_checked(spark, checked, sound, tasks, placed=wanted)
        if parts:
            found[source.name] = reduce(DataFrame.union, parts)
        else:
            found[source.name] = spark.createDataFrame([], text_schema(source.schema))
        footers = [one.footer for one in sound if one.footer is not None]
        if files.suffix == PARQUET:
            found.known[source.name] = _known(footers)
    return found


def _looked_at(
    spark: SparkSession, files: Files, checked: CheckedFiles, without: Collection[str]
) -> list[CheckedFile]:
    """The files that are there and sound."""
    name = files.source.name
    given = [
        GivenFile(name, location, entry.size, entry.modified)
        for entry in files.entries(spark)
        if (location := files.folder / entry.name).text not in without
    ]
    checks = FileChecks(spark, {name: checked}, lambda: slots_of(spark), values=False)
    return [one for one in checks.each({name: given})[name] if one.sound]


def _known(footers: Sequence[Footer]) -> KnownTuples:
    """What the footers of all files of a source say together."""
    filled = [one for one in footers if one.rows]
    untimed = [one.untimed for one in filled]
    newest = [one.newest for one in filled if one.newest is not None]
    return KnownTuples(
        rows=sum(one.rows for one in filled),
        timed=None if None in untimed else not any(untimed),
        newest=max(newest, default=None) if len(newest) == len(filled) else None,
        delayed=any(one.delayed for one in filled),
    )


# ---------------------------------------------------------------- a run's inputs


KAFKA = "kafka://"


@dataclass(frozen=True)
class Inputs:
    """``servers``: Kafka instead of a folder; a source's topic has its name, unless ``topics`` says
    otherwise; ``options`` are those of Spark's ``kafka`` source."""

    folder: Path | Location | None = None
    servers: str = ""
    topics: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str, topics: Mapping[str, str], options: Mapping[str, str]) -> Inputs:
        """A folder, or ``kafka://HOST:PORT,…``; InputError for what does not go together."""
        if not text.startswith(KAFKA):
            for name, given in (("--topic", topics), ("--input-option", options)):
                if given:
                    raise InputError(f"{name} is for Kafka", got=f"--input {text}",
                                want=f"--input {KAFKA}HOST:PORT")  # fmt: skip
            return cls(Location.of(text))
        servers = text.removeprefix(KAFKA).rstrip("/")
        if not all(host and port.isdecimal() for host, _, port in _addresses(servers)):
            raise InputError("no address of Kafka", at="--input", got=text,
                        want=f"write {KAFKA}HOST:PORT, more of them after commas")  # fmt: skip
        return cls(None, servers, topics, options)

    def check(self, query: Query, *, streaming: bool, spark: SparkSession | None = None) -> None:
        """InputError for topics of sources that there are not, and for sources without files (on
        other file systems, only Spark can tell); EnvironmentMissing if no broker answers."""
        if self.folder is not None:
            if Location.of(self.folder).is_local or spark is not None:
                for source in query.sources:
                    find_files(self.folder, source, streaming=streaming, spark=spark)
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
            return Location.of(self.folder).absolute.text
        named = [f"{source}={topic}" for source, topic in sorted(self.topics.items())]
        return " ".join(["kafka", *named])

    def read_batch(
        self,
        spark: SparkSession,
        sources: Iterable[Source],
        quarantine: Quarantine | None = None,
        without: Collection[str] = (),
        placed: Collection[str] | None = None,
    ) -> Recording:
        """All there is now; ``without`` these files; ``placed`` as :func:`read_batch` has it."""
        if self.folder is not None:
            return read_batch(
                spark,
                self.folder,
                sources,
                quarantine=quarantine,
                without=without,
                placed=placed,
            )
        found = Recording()
        found |= self._kafka(spark, sources, quarantine)
        return found

    def intake(
        self,
        spark: SparkSession,
        sources: Iterable[Source],
        quarantine: Quarantine,
        rejected: Rejected,
        limits: Limits | None = None,
    ) -> Intake:
        """What there is and what will come, for one streaming query."""
        limits = limits or Limits()
        if self.folder is None:
            listed = list(sources)
            slots = limits.slots_of(spark)
            most = messages_at_a_time(listed, slots, limits.max_rate)
            given = self._kafka(spark, listed, quarantine, most)
            return StreamedTuples(given, limits.max_rate)
        files = [find_files(self.folder, source, streaming=True, spark=spark) for source in sources]
        return FileIntake(spark, files, quarantine, rejected, limits)

    def _kafka(
        self,
        spark: SparkSession,
        sources: Iterable[Source],
        quarantine: Quarantine | None,
        most: Mapping[str, int] | None = None,
    ) -> dict[str, DataFrame]:
        """A stream of at most so many messages at a time, by source; without them a batch."""
        shared = {"maxRecordsPerPartition": str(MESSAGES_PER_TASK)}
        limits = {name: {"maxOffsetsPerTrigger": str(one)} for name, one in (most or {}).items()}
        return {
            source.name: read_kafka(
                spark,
                source,
                self.servers,
                self.topics.get(source.name, source.name),
                quarantine=quarantine,
                streaming=most is not None,
                **{**shared, **limits.get(source.name, {}), **self.options},
            )
            for source in sources
        }

    def read_by_python(self, source: Source, spark: SparkSession | None = None) -> bool:
        """Whether reading it again costs as much as the rest of a query."""
        return self.folder is None or find_files(self.folder, source, spark=spark).suffix != PARQUET

    def source_with(
        self, file: str, sources: Iterable[Source], spark: SparkSession | None = None
    ) -> tuple[str, str] | None:
        """(source, path) of a file that is one of several of a source."""
        if self.folder is None:
            return None
        told = {Location.of(file), Location.of(unquote(file))}
        for source in sources:
            files = find_files(self.folder, source, spark=spark)
            if files.several and (found := [one for one in told if files.holds(one)]):
                return source.name, found[0].text
        return None


def _addresses(servers: str) -> list[tuple[str, str, str]]:
    return [one.strip().rpartition(":") for one in servers.split(",")]
