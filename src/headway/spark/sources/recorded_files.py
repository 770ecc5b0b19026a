"""Recordings as DataFrames: for each source a file, a folder of files, or topics of Kafka.

A file is ``NAME.parquet``, ``NAME.csv`` or ``NAME.jsonl``, a folder ``NAME`` holds such files.
Both can be read as a batch or as a stream (each once, in the order they appear), and again from
the beginning, which is what makes restarts exact. In a folder, a file that breaks the schema is
left out and named where there is a quarantine; a source of one file has nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway.errors import EnvironmentMissing, FileError, InputError, Place, Problem
from headway.model.query import Query, Source
from headway.sources.recordings import find_file, suffixes
from headway.spark.lowering.frames import conformed
from headway.spark.session.spark_session import refusal_of
from headway.spark.sources.checked_files import (
    CheckedFiles,
    Quarantine,
    Rejected,
    sound_parquet,
    text_schema,
)
from headway.spark.sources.intake import Intake, Limits, StreamedTuples
from headway.spark.sources.kafka_source import read_kafka

PARQUET = ".parquet"
_ROW = "_metadata.row_index"
MOST_BYTES = 64 << 20
"""of files in a micro-batch of a query with one source: the driver collects what it gives. Several
sources of different rates would run apart, and what waits for the slower one fills the state."""
_BINARY = "path string, modificationTime timestamp, length bigint, content binary"


@dataclass(frozen=True)
class Files:
    """The files of one source: all that match ``pattern`` in ``folder``."""

    source: Source
    folder: Path
    pattern: str
    suffix: str

    def paths(self) -> list[Path]:
        hidden = ("_", ".")
        return sorted(p for p in self.folder.glob(self.pattern) if not p.name.startswith(hidden))

    @property
    def several(self) -> bool:
        return "*" in self.pattern


def find_files(folder: Path, source: Source, *, streaming: bool = False) -> Files:
    """Where a source's tuples are; FileError if nowhere, or in files of several kinds. A folder
    that is streamed may still be empty."""
    name = source.name
    beside = [path for suffix in suffixes() if (path := folder / f"{name}{suffix}").exists()]
    if folder.is_dir() and (folder / name).is_dir() and not beside:
        return _folder(folder / name, source, streaming)
    path = find_file(folder, name)
    if path.is_dir():  # what Spark writes
        return Files(source, path, f"*{PARQUET}", PARQUET)
    return Files(source, folder, path.name, path.suffix)


def _folder(folder: Path, source: Source, streaming: bool) -> Files:
    there = {path.suffix for path in folder.iterdir() if not path.name.startswith(("_", "."))}
    known = sorted(there.intersection(suffixes()))
    if len(known) > 1 or (not known and not streaming):
        raise FileError(
            f"files of several kinds for source {source.name!r}"
            if known
            else f"no files for source {source.name!r}",
            place=Place(str(folder)),
            got=", ".join(sorted(there)) or "an empty folder",
            want=f"files of one kind of {', '.join(suffixes())}",
        )
    suffix = known[0] if known else PARQUET
    return Files(source, folder, f"*{suffix}", suffix)


def read_batch(
    spark: SparkSession,
    folder: Path,
    sources: Iterable[Source],
    *,
    quarantine: Quarantine | None = None,
    without: Collection[str] = (),
) -> dict[str, DataFrame]:
    """All tuples there are, by source; ``without`` those of some files."""
    return {
        source.name: _batch(spark, find_files(folder, source), quarantine, without)
        for source in sources
    }


def _batch(
    spark: SparkSession, files: Files, quarantine: Quarantine | None, without: Collection[str]
) -> DataFrame:
    found = [path for path in map(Path.absolute, files.paths()) if str(path) not in without]
    if files.suffix == PARQUET:
        if quarantine is not None and files.several:
            found = sound_parquet(found, files.source.name, files.source.schema, quarantine)
        if not found:
            return spark.createDataFrame([], text_schema(files.source.schema))
        data = spark.read.parquet(*(_escaped(str(path)) for path in found))
        return conformed(data, files.source.schema, _where(files), F.col(_ROW))
    listed = spark.createDataFrame([(str(path),) for path in found], "path string")
    spread = listed.repartition(min(len(found), 64))
    schema = files.source.schema
    held = quarantine if files.several else None
    read = CheckedFiles(files.source, held, remember=False).reader()
    return spread.mapInArrow(read, text_schema(schema))


def read_stream(
    spark: SparkSession,
    folder: Path,
    sources: Iterable[Source],
    *,
    files_per_batch: int | None = None,
    quarantine: Quarantine | None = None,
    rejected: Rejected | None = None,
) -> dict[str, DataFrame]:
    """The files that are there and those that will come, by source; ``files_per_batch`` of each
    at a time. Tuples that do not fit their schema go to ``rejected``."""
    sources = list(sources)
    limit: dict[str, int] = {}
    if files_per_batch is not None:
        limit = {"maxFilesPerTrigger": files_per_batch}
    elif len(sources) == 1:
        limit = {"maxBytesPerTrigger": MOST_BYTES}
    return {
        source.name: _stream(
            spark, find_files(folder, source, streaming=True), limit, quarantine, rejected
        )
        for source in sources
    }


def _stream(
    spark: SparkSession,
    files: Files,
    limit: Mapping[str, int],
    quarantine: Quarantine | None,
    rejected: Rejected | None,
) -> DataFrame:
    reader = spark.readStream.option("pathGlobFilter", files.pattern).options(**limit)
    folder = _escaped(str(files.folder.absolute()))
    checked = CheckedFiles(
        files.source,
        quarantine if files.several else None,  # a source of one file has nothing to go on with
        rejected,
    )
    found = reader.format("binaryFile").schema(_BINARY).load(folder).select("path")
    return found.mapInArrow(checked.reader(), text_schema(files.source.schema))


def _where(files: Files) -> str:
    one = files.folder / files.pattern
    return str(one if not files.several else files.folder)


def _escaped(path: str) -> str:
    """Spark reads paths as patterns."""
    return "".join(f"\\{letter}" if letter in "[]{}*?\\" else letter for letter in path)


# ---------------------------------------------------------------- a run's inputs


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
                    raise InputError(f"{name} is for Kafka", got=f"--input {text}",
                                want=f"--input {KAFKA}HOST:PORT")  # fmt: skip
            return cls(Path(text))
        servers = text.removeprefix(KAFKA).rstrip("/")
        if not all(host and port.isdecimal() for host, _, port in _addresses(servers)):
            raise InputError("no address of Kafka", at="--input", got=text,
                        want=f"write {KAFKA}HOST:PORT, more of them after commas")  # fmt: skip
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
        return StreamedTuples(
            self.read_stream(spark, sources, quarantine, rejected, limits.files_per_batch)
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
