"""What the driver does with files, on any file system: small files whole, folders, names.

A file that is written here is there with all its content, or it is not there. Data of any size is
written by tasks and by Spark's writers, never through here.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from headway.engine.run_folder import unwritable
from headway.errors import FileError, Place
from headway.spark.storage.locations import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PART = ".part"
PUBLISH = "spark.headway.publish."
"""with a scheme behind it: a setting of Spark that says how it publishes, where that does not
follow from the scheme"""


class Publishing(StrEnum):
    """How what is complete gets visible: by its name, or by a file that lists it."""

    RENAME = "rename"
    MANIFEST = "manifest"


class NotThere(FileError):
    """There is no such file or folder."""


class AlreadyThere(FileError):
    """There is one already, and it was not to be replaced."""


@dataclass(frozen=True, slots=True, order=True)
class StoreEntry:
    """Something in a folder."""

    name: str
    size: int
    """bytes; without meaning for a folder"""
    is_folder: bool
    modified: int
    """milliseconds since the epoch"""


class FileStore(Protocol):
    """A file system. What cannot be done is a FileError that says where and why."""

    @property
    def renames_whole(self) -> bool:
        """Whether a rename, of a folder too, is one step that others see done or not begun. Object
        stores copy instead: what must appear at once needs a file that lists it there."""

    def status(self, at: Location) -> StoreEntry | None:
        """Of a file or folder; None if there is none."""

    def exists(self, at: Location) -> bool: ...

    def read_bytes(self, at: Location) -> bytes:
        """NotThere if it is not."""

    def read_end(self, at: Location, size: int) -> bytes:
        """The last ``size`` bytes of a file that has at least so many."""

    def read_text(self, at: Location) -> str:
        """NotThere if it is not; FileError if it is not UTF-8."""

    def write_whole(self, at: Location, data: bytes | str, *, new: bool = False) -> None:
        """Replaces a file of that name in one step; ``new``: AlreadyThere if there is one, also
        where two write at the same time and the store can tell. Makes the folders above it."""

    def entries(self, at: Location) -> list[StoreEntry]:
        """What is in a folder, by name; nothing if there is no such folder."""

    def remove(self, at: Location) -> None:
        """A file, or a folder with all in it; nothing if it is not there."""

    def rename(self, at: Location, to: Location) -> None:
        """Replaces a file of the new name; a folder of that name must be empty. NotThere if there
        is nothing to rename."""

    def make_folder(self, at: Location) -> None:
        """And those above it; nothing if it is there."""


def file_store(
    at: Location, spark: SparkSession | None = None, publish: Publishing | None = None
) -> FileStore:
    """The store that holds ``at``; ``publish`` says what else would follow from the scheme.
    FileError for a scheme that has no class here, and for URIs without Spark's Java."""
    if at.is_local:
        return LocalStore(renames_whole=publish is not Publishing.MANIFEST)
    from headway.spark.storage.hadoop_store import hadoop_store

    return hadoop_store(at, spark, publish)


def part_name(name: str) -> str:
    """A name of its own for what will be called ``name`` when it is complete; hidden from Spark."""
    return f".{name}.{uuid.uuid4().hex[:12]}{PART}"


def is_part_of(name: str, *names: str) -> bool:
    """Whether it is the :func:`part_name` of one of these."""
    found = _PART_NAME.fullmatch(name)
    return found is not None and found["name"] in names


_PART_NAME = re.compile(rf"\.(?P<name>.+)\.[0-9a-f]{{12}}{re.escape(PART)}", re.DOTALL)


def remove_parts(folder: Location, store: FileStore, *names: str) -> None:
    """What processes that were killed while they wrote these files have left. Nobody may be writing
    them."""
    for entry in store.entries(folder):
        if is_part_of(entry.name, *names):
            store.remove(folder / entry.name)


def marked(name: str, mark: str) -> str:
    """The name of a file with a mark before its suffix."""
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}-{mark}{dot}{suffix}" if mark else name


def text_of(content: bytes, at: Location) -> str:
    """FileError if it is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise FileError("this is no text in UTF-8", place=Place(at.text)) from None


@dataclass(frozen=True)
class LocalStore:
    """This machine's files. Nothing here waits for the disk: a pipeline outlives its process, not
    the loss of power of its machine."""

    renames_whole: bool = True

    def status(self, at: Location) -> StoreEntry | None:
        with _told(at):
            try:
                return _entry(at.path)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def exists(self, at: Location) -> bool:
        return self.status(at) is not None

    def read_bytes(self, at: Location) -> bytes:
        with _told(at):
            return at.path.read_bytes()

    def read_end(self, at: Location, size: int) -> bytes:
        with _told(at), at.path.open("rb") as file:
            file.seek(-size, os.SEEK_END)
            return file.read()

    def read_text(self, at: Location) -> str:
        return text_of(self.read_bytes(at), at)

    def write_whole(self, at: Location, data: bytes | str, *, new: bool = False) -> None:
        content = data.encode() if isinstance(data, str) else data
        path = at.path
        part = path.with_name(part_name(path.name))
        with _told(at, writing=True, new=new):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(content)
                if new:
                    os.link(part, path)  # a rename would replace what is there
                else:
                    part.replace(path)
            finally:
                with suppress(OSError):
                    part.unlink(missing_ok=True)

    def entries(self, at: Location) -> list[StoreEntry]:
        found = []
        with _told(at):
            try:
                paths = sorted(at.path.iterdir())
            except FileNotFoundError:
                return []
            for path in paths:
                with suppress(FileNotFoundError):  # it went in between
                    found.append(_entry(path))
        return found

    def remove(self, at: Location) -> None:
        with _told(at, writing=True):
            try:
                if at.path.is_dir() and not at.path.is_symlink():
                    shutil.rmtree(at.path)
                else:
                    at.path.unlink(missing_ok=True)
            except FileNotFoundError:
                pass  # somebody else removed it

    def rename(self, at: Location, to: Location) -> None:
        with _told(at, writing=True):
            at.path.replace(to.path)

    def make_folder(self, at: Location) -> None:
        with _told(at, writing=True):
            at.path.mkdir(parents=True, exist_ok=True)


def _entry(path: Path) -> StoreEntry:
    there = path.stat() if path.exists() else path.lstat()  # a link to nothing is something too
    is_folder = path.is_dir()
    return StoreEntry(path.name, there.st_size, is_folder, there.st_mtime_ns // 1_000_000)


@contextmanager
def _told(at: Location, *, writing: bool = False, new: bool = False) -> Iterator[None]:
    """Python's errors as Headway's."""
    place = Place(at.text)
    try:
        yield
    except FileNotFoundError:
        raise NotThere("there is no such file or folder", place=place) from None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL character
        if new and isinstance(error, FileExistsError):
            raise AlreadyThere("there is a file or folder of that name", place=place) from None
        if writing:
            raise unwritable(at.path, error) from None
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(f"cannot be read: {reason}", place=place) from None
