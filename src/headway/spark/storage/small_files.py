"""A folder of small files that tasks write: each whole, the same name replaces.

Tasks have Python and no Java: on this machine's file system (or one that all machines see) they
write themselves. For any other they send the content with their results, as Spark's accumulators
do, and the driver writes it. What a task that failed has sent does not count; it runs again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.accumulators import AccumulatorParam

from headway.spark.storage.file_stores import FileStore, LocalStore, file_store, marked
from headway.spark.storage.locations import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Sent = dict[str, bytes | None]
"""by name; None: it is to be removed"""


class _Latest(AccumulatorParam[Sent]):
    def zero(self, value: Sent) -> Sent:
        return {}

    def addInPlace(self, value1: Sent, value2: Sent) -> Sent:  # noqa: N802 - Spark's name
        value1.update(value2)
        return value1


class SmallFiles:
    """It may be copied to tasks; there, what a folder elsewhere holds is as it was when the task's
    function was made."""

    def __init__(self, folder: Location, spark: SparkSession | None = None, mark: str = "") -> None:
        """A session is needed for URIs only. The mark stands in the names of all files here."""
        self.folder, self._mark = folder, mark
        self._sent: Any = None
        self._store: FileStore | None = file_store(folder, spark)
        self._held: set[str] = set()
        if not folder.is_local:
            assert spark is not None  # or there would be no store
            self._sent = spark.sparkContext.accumulator({}, _Latest())
            self._held = set(self._listed())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_store": LocalStore() if self.folder.is_local else None}

    def put(self, name: str, content: bytes) -> None:
        """Replaces a file of that name."""
        if self._store is None:
            self._sent.add({name: content})
            return
        self._store.write_whole(self._at(name), content)
        self._held.add(name)

    def remove(self, name: str) -> None:
        """Nothing if it is not there."""
        if self._store is None:
            if name in self._held:
                self._sent.add({name: None})
            return
        self._store.remove(self._at(name))
        self._held.discard(name)

    def holds(self, name: str) -> bool:
        if self._store is None:
            return name in self._held
        if self._sent is None:
            return self._store.exists(self._at(name))
        self.take()
        return name in self._held

    def names(self) -> list[str]:
        """In the driver: those that are complete."""
        self.take()
        return self._listed()

    def read(self, name: str) -> bytes:
        """In the driver; NotThere if it is not."""
        assert self._store is not None
        return self._store.read_bytes(self._at(name))

    def _at(self, name: str) -> Location:
        return self.folder / marked(name, self._mark)

    def _listed(self) -> list[str]:
        """Without the mark; files without it are not of here."""
        assert self._store is not None
        names = [one.name for one in self._store.entries(self.folder) if one.name[0] != "."]
        plain = [name.replace(f"-{self._mark}.", ".") if self._mark else name for name in names]
        return [one for one, name in zip(plain, names, strict=True)
                if marked(one, self._mark) == name]  # fmt: skip

    def take(self) -> None:
        """In the driver: writes what tasks have sent. To be called before what they did counts."""
        if self._sent is None:
            return
        sent: Mapping[str, bytes | None] = dict(self._sent.value)
        for name, content in sent.items():
            if content is None:
                self.remove(name)
            else:
                self.put(name, content)
        for name in sent:  # more may have come in between
            if self._sent.value.get(name) is sent[name]:
                del self._sent.value[name]
