"""Hadoop's file systems, by way of Spark's Java: ``hdfs:``, ``viewfs:``, ``s3a:``, ``abfss:``, …"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from headway.errors import FileError, InputError, Place
from headway.spark.storage.file_stores import (
    PUBLISH,
    AlreadyThere,
    NotThere,
    Publishing,
    StoreEntry,
    part_name,
    text_of,
)
from headway.spark.storage.locations import LOCAL, Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RENAMING = frozenset({LOCAL, "hdfs", "viewfs", "abfs", "abfss"})
"""Schemes whose renames are one step, of folders too"""
_PACKAGES = {
    "s3a": "org.apache.hadoop:hadoop-aws:{hadoop}",
    "abfs": "org.apache.hadoop:hadoop-azure:{hadoop}",
    "abfss": "org.apache.hadoop:hadoop-azure:{hadoop}",
    "gs": "com.google.cloud.bigdataoss:gcs-connector:VERSION",
    "oss": "org.apache.hadoop:hadoop-aliyun:{hadoop}",
    "cosn": "org.apache.hadoop:hadoop-cos:{hadoop}",
    "ofs": "org.apache.ozone:ozone-filesystem-hadoop3:VERSION",
}
_MISSING = "java.io.FileNotFoundException"
_SPELT = {"s3": "s3a", "s3n": "s3a", "wasb": "abfss", "wasbs": "abfss"}
"""older names, and what is written today"""
_NO_CLASS = re.compile(r"No (?:Abstract)?FileSystem (?:for scheme|configured for)|"
                       r"ClassNotFoundException: Class \S+ not found")  # fmt: skip


def hadoop_store(
    at: Location, spark: SparkSession | None, publish: Publishing | None = None
) -> HadoopStore:
    """The file system that holds ``at``, which is a URI. FileError where there is none."""
    session: Any = spark
    java = getattr(session, "_jvm", None) if _is_classic(session) else None
    if java is None:
        raise FileError(
            "Hadoop's file systems are reached through Spark's Java, which is not there",
            place=Place(at.text),
            got="no Spark session" if spark is None else "a session of Spark Connect",
            want="name a local path, or run in a session that is not remote",
        )
    settings = session._jsparkSession.sessionState().newHadoopConf()
    with _told(at, java):
        path = java.org.apache.hadoop.fs.Path(at.hadoop_path)
        files = java.org.apache.hadoop.fs.FileSystem.get(path.toUri(), settings)
    chosen = publish or _publishing(at, session, java, files)
    return HadoopStore(java, files, settings, chosen is Publishing.RENAME)


def _is_classic(session: Any) -> bool:
    """Spark Connect raises where it is asked for its Java."""
    return session is not None and not type(session).__module__.startswith("pyspark.sql.connect")


def _publishing(at: Location, session: Any, java: Any, files: Any) -> Publishing:
    key = f"{PUBLISH}{at.scheme}"
    said = session.conf.get(key, None) or session.sparkContext.getConf().get(key)
    if said is None:
        # A mount table may lead anywhere.
        scheme = _mounted(at, java, files) if at.scheme == "viewfs" else at.scheme
        return Publishing.RENAME if scheme in RENAMING else Publishing.MANIFEST
    try:
        return Publishing(said)
    except ValueError:
        raise InputError(
            "no way of publishing", at=f"--conf {key}", got=said, want="write rename or manifest"
        ) from None


def _mounted(at: Location, java: Any, files: Any) -> str:
    """The scheme behind the nearest folder that is there."""
    while at.name:
        with suppress(Py4JJavaError, PySparkException):
            found = files.resolvePath(java.org.apache.hadoop.fs.Path(at.hadoop_path))
            return str(found.toUri().getScheme())
        at = at.parent
    return "viewfs"


@dataclass(frozen=True)
class HadoopStore:
    """Made by :func:`hadoop_store`; belongs to the process that has the session."""

    _java: Any
    _files: Any
    _settings: Any
    renames_whole: bool

    def status(self, at: Location) -> StoreEntry | None:
        with _told(at, self._java):
            try:
                return _entry(self._files.getFileStatus(self._path(at)))
            except Py4JJavaError as error:
                if _is_a(error, _MISSING):
                    return None
                raise

    def exists(self, at: Location) -> bool:
        return self.status(at) is not None

    def read_bytes(self, at: Location) -> bytes:
        with _told(at, self._java):
            if self._files.getFileStatus(self._path(at)).isDirectory():
                raise FileError("this is a folder", place=Place(at.text))
            stream = self._files.open(self._path(at))
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def read_end(self, at: Location, size: int) -> bytes:
        with _told(at, self._java):
            length = self._files.getFileStatus(self._path(at)).getLen()
            stream = self._files.open(self._path(at))
            try:
                stream.seek(length - size)
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def read_text(self, at: Location) -> str:
        return text_of(self.read_bytes(at), at)

    def write_whole(self, at: Location, data: bytes | str, *, new: bool = False) -> None:
        content = data.encode() if isinstance(data, str) else data
        if not self.renames_whole:
            self._create(at, content, at, replaces=not new)  # there when it is closed
            return
        if new and self.exists(at):  # most stores would refuse below; some replace
            raise AlreadyThere("there is a file or folder of that name", place=Place(at.text))
        part = at.parent / part_name(at.name)
        try:
            self._create(part, content, at, replaces=False)
            self._rename(part, at, replaces=not new)
        except BaseException:
            with suppress(FileError):
                self.remove(part)
            raise

    def entries(self, at: Location) -> list[StoreEntry]:
        with _told(at, self._java):
            try:
                found = self._files.listStatus(self._path(at))
            except Py4JJavaError as error:
                if _is_a(error, _MISSING):
                    return []
                raise
            listed = sorted(map(_entry, found))
        if [entry.name for entry in listed] == [at.name] and not listed[0].is_folder:
            there = self.status(at)
            if there is not None and not there.is_folder:
                raise FileError("this is no folder", place=Place(at.text))
        return listed

    def remove(self, at: Location) -> None:
        with _told(at, self._java):
            self._files.delete(self._path(at), True)

    def rename(self, at: Location, to: Location) -> None:
        self._rename(at, to, replaces=True)

    def make_folder(self, at: Location) -> None:
        with _told(at, self._java):
            if not self._files.mkdirs(self._path(at)):
                raise FileError("cannot make this folder", place=Place(at.text))

    def _path(self, at: Location) -> Any:
        return self._path_class(at.hadoop_path)

    @cached_property
    def _path_class(self) -> Any:
        """Py4J asks Java for every part of such a name."""
        return self._java.org.apache.hadoop.fs.Path

    def _create(self, at: Location, content: bytes, meant: Location, *, replaces: bool) -> None:
        """Errors are about the file that is ``meant``."""
        with _told(meant, self._java):
            stream = self._files.create(self._path(at), replaces)
            try:
                stream.write(bytearray(content))
            except BaseException:
                with suppress(Py4JError):
                    stream.abort()  # an object store would keep what came so far
                raise
            stream.close()

    def _rename(self, at: Location, to: Location, *, replaces: bool) -> None:
        """``FileContext`` replaces in one step, where the scheme has one; ``FileSystem`` does what
        its class does."""
        with _told(at, self._java):
            context = self._context
            if context is not None:
                context.rename(self._path(at), self._path(to), self._options[replaces])
                return
            if self._files.rename(self._path(at), self._path(to)):
                return
            if replaces and self.exists(at) and self.exists(to):
                self._files.delete(self._path(to), False)
                if self._files.rename(self._path(at), self._path(to)):
                    return
        if not self.exists(at):
            raise NotThere("there is no such file or folder", place=Place(at.text))
        raise FileError("cannot be renamed", place=Place(at.text), got=f"as {to}")

    @cached_property
    def _options(self) -> tuple[Any, Any]:
        """Of a rename: that does not replace, and that does."""
        renames = self._java.org.apache.hadoop.fs.Options.Rename
        found = []
        for option in (renames.NONE, renames.OVERWRITE):
            given = self._java.java.lang.reflect.Array.newInstance(option.getClass(), 1)
            given[0] = option
            found.append(given)
        return found[0], found[1]

    @cached_property
    def _context(self) -> Any:
        """None where the scheme has none. Making one takes long."""
        contexts = self._java.org.apache.hadoop.fs.FileContext
        try:
            return contexts.getFileContext(self._files.getUri(), self._settings)
        except (Py4JJavaError, PySparkException):
            return None


def _entry(status: Any) -> StoreEntry:
    return StoreEntry(
        status.getPath().getName(),
        status.getLen(),
        status.isDirectory(),
        status.getModificationTime(),
    )


# ---------------------------------------------------------------- what Hadoop says


@contextmanager
def _told(at: Location, java: Any) -> Iterator[None]:
    """Java's errors as Headway's."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise _explained(at, error, java) from None


def _explained(at: Location, error: Exception, java: Any) -> FileError:
    text, place = _words(error), Place(at.text)
    if _NO_CLASS.search(text):
        return _no_class(at, str(java.org.apache.hadoop.util.VersionInfo.getVersion()))
    if _is_a(error, _MISSING):
        return NotThere("there is no such file or folder", place=place)
    if "FileAlreadyExistsException" in text:
        return AlreadyThere("there is a file or folder of that name", place=place)
    return FileError(
        f"cannot be read or written: {text}",
        place=place,
        want="see that the address and the rights are as they should be, or name another place",
    )


def _no_class(at: Location, hadoop: str) -> FileError:
    scheme = at.scheme
    if scheme in _SPELT:
        want = f"write {_SPELT[scheme]}://"
    elif scheme in _PACKAGES:
        package = _PACKAGES[scheme].format(hadoop=hadoop)
        want = f"add the package that brings it: --conf spark.jars.packages={package}"
    else:
        want = f"name the class that reads it: --conf spark.hadoop.fs.{scheme}.impl=CLASS"
    return FileError(
        f"this Spark has no file system for {scheme}:", place=Place(at.text), want=want
    )


def _words(error: Exception) -> str:
    """The first line that Java said, with its kind."""
    told = str(error.java_exception.toString() if isinstance(error, Py4JJavaError) else error)
    return told.strip().partition("\n")[0][:400] or type(error).__name__


def _is_a(error: Exception, name: str) -> bool:
    """Whether Java threw this class, or one below it."""
    if not isinstance(error, Py4JJavaError):
        return False
    kind = error.java_exception.getClass()
    while kind is not None:
        if kind.getName() == name:
            return True
        kind = kind.getSuperclass()
    return False
