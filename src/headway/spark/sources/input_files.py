"""Where a source's tuples lie: a file, or a folder of files, on any file system.

A file is ``NAME.parquet``, ``NAME.csv``, …, a folder ``NAME`` holds such files of one kind, and a
folder ``NAME.parquet`` is what Spark writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pyspark.sql import SparkSession

from headway.errors import FileError, Place
from headway.model.query import Source
from headway.sources.recordings import suffixes
from headway.spark.storage.file_stores import FileStore, StoreEntry, file_store
from headway.spark.storage.locations import Location

PARQUET = ".parquet"
_HIDDEN = ("_", ".")


@dataclass(frozen=True)
class Files:
    """The files of one source: all that match ``pattern`` in ``folder``, which is absolute."""

    source: Source
    folder: Location
    pattern: str
    suffix: str

    @property
    def several(self) -> bool:
        """Whether there may be more of them; a source of one file has nothing else."""
        return "*" in self.pattern

    @property
    def where(self) -> str:
        """What messages call it."""
        return (self.folder if self.several else self.folder / self.pattern).text

    def holds(self, file: Location) -> bool:
        return file.parent == self.folder and self._is_one(file.name)

    def entries(self, spark: SparkSession | None = None) -> list[StoreEntry]:
        """Those that are there now, by name."""
        there = file_store(self.folder, spark).entries(self.folder)
        return [entry for entry in there if self._is_one(entry.name)]

    def locations(self, spark: SparkSession | None = None) -> list[Location]:
        return [self.folder / entry.name for entry in self.entries(spark)]

    def _is_one(self, name: str) -> bool:
        if not self.several:
            return name == self.pattern
        return fnmatchcase(name, self.pattern) and not name.startswith(_HIDDEN)


def find_files(
    folder: Location | Path,
    source: Source,
    *,
    streaming: bool = False,
    spark: SparkSession | None = None,
) -> Files:
    """FileError if they are nowhere, or in files of several kinds. A folder that is streamed may
    still be empty."""
    place, name = Location.of(folder).absolute, source.name
    store = file_store(place, spark)
    there = {entry.name: entry for entry in store.entries(place)}
    if not there and not _is_folder(store, place):
        raise FileError("there is no such folder", place=Place(str(folder)))
    known = [f"{name}{suffix}" for suffix in suffixes()]
    found = [one for one in known if one in there]
    if not found and name in there and there[name].is_folder:
        return _folder(store, place / name, source, streaming)
    if not found:
        raise FileError(
            f"no file for source {name!r}",
            place=Place(str(folder)),
            got=", ".join(list(there)[:20]) or "an empty folder",
            want=f"write {', '.join(known)}",
        )
    if len(found) > 1:
        raise FileError(
            f"several files for source {name!r}",
            place=Place(str(folder)),
            got=", ".join(found),
            want="keep one of them",
        )
    (only,) = found
    if there[only].is_folder:  # what Spark writes
        return Files(source, place / only, f"*{PARQUET}", PARQUET)
    return Files(source, place, only, Path(only).suffix)


def _is_folder(store: FileStore, place: Location) -> bool:
    status = store.status(place)
    return status is not None and status.is_folder


def _folder(store: FileStore, folder: Location, source: Source, streaming: bool) -> Files:
    names = [entry.name for entry in store.entries(folder)]
    there = {Path(name).suffix for name in names if not name.startswith(_HIDDEN)}
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
