"""Where a micro-batch's rows are seen: under names of the batch, when it is done and not before.

What tasks write is hidden (a dot in front); the record of the batch says what it will be called.
Publishing gives it that name. It may be cut off anywhere and begun again: what has its name
already is left alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import quote, unquote

from headway.errors import FileError, Place
from headway.spark.state.batch_manifest import BatchRecord, WrittenFile
from headway.spark.state.task_files import PART
from headway.spark.storage.file_stores import FileStore, NotThere
from headway.spark.storage.locations import Location

_AT_ONCE = 16


@dataclass(frozen=True)
class RenamedFiles:
    """For file systems that rename in one step."""

    output: Location
    store: FileStore

    def publish(self, files: Collection[WrittenFile]) -> None:
        """FileError for a file that is neither under the one name nor under the other."""
        _all(self._rename, files)
        folders = {one.hidden.rpartition("/")[0] for one in files}
        for folder in sorted(one for one in folders if one.endswith(PART)):
            self.store.remove(self.output / folder)  # one that a writer of Spark filled

    def withdraw(self, files: Collection[WrittenFile]) -> None:
        """More input comes: windows that the end closed are open again."""
        _all(lambda one: self.store.remove(self.output / one.final), files)

    def sweep(self, group: str, outputs: Iterable[str], sides: Iterable[str]) -> None:
        """Removes what attempts of the group left behind; none of them may be running."""
        for folders, prefix in ((outputs, ""), (sides, f"{group}-")):
            left = re.compile(rf"\.{re.escape(prefix)}(batch-\d+|end)\b[^/]*{re.escape(PART)}")
            for folder in folders:
                at = self.output / folder
                for entry in self.store.entries(at):
                    if left.fullmatch(entry.name):
                        self.store.remove(at / entry.name)

    def _rename(self, one: WrittenFile) -> None:
        final = self.output / one.final
        try:
            self.store.rename(self.output / one.hidden, final)
        except NotThere:
            if not self.store.exists(final):
                raise FileError(
                    "a file of a micro-batch that is done is gone",
                    place=Place(final.text),
                    want="put it back from a copy, or start afresh with a new --checkpoint and a "
                    "new --output",
                ) from None


@dataclass(frozen=True)
class LoggedFiles:
    """For file systems that cannot rename in one step: files have their names from the beginning,
    and which of them count is said by a log in the form of Spark's own file sink, so every reader
    of Spark sees whole steps only. A step is the file ``_spark_metadata/N``; every tenth is
    ``N.compact`` and says all before it again."""

    output: Location
    store: FileStore

    def publish(self, folder: str, record: BatchRecord) -> None:
        """The files of one output."""
        mine = [one for one in record.files if one.final.startswith(f"{folder}/")]
        lines = [self._line(one) for one in mine]
        name = str(record.step)
        if _is_compact(record.step):
            lines = [*self._before(folder, record.step), *lines]
            name = f"{name}.compact"
        at = self.output / folder / SPARK_LOG / name
        self.store.write_whole(at, "\n".join(["v1", *lines]))

    def withdraw(self, folder: str, record: BatchRecord) -> None:
        for name in (str(record.step), f"{record.step}.compact"):
            self.store.remove(self.output / folder / SPARK_LOG / name)

    def names(self, folder: str) -> list[str]:
        """The files that are there, whether they count or not."""
        entries = self.store.entries(self.output / folder)
        plain = [one for one in entries if not one.is_folder and one.name[0] not in "_."]
        return [f"{folder}/{one.name}" for one in plain]

    def sweep(self, folder: str) -> None:
        """Removes files of tries that never became a step."""
        there = self.names(folder)
        if not there:
            return
        log = [one.name for one in self.store.entries(self.output / folder / SPARK_LOG)]
        steps = [int(name.partition(".")[0]) for name in log if name[0] not in "._"]
        lines = self._before(folder, max(steps) + 1) if steps else []
        counts = {unquote(json.loads(line)["path"]).rpartition("/")[2] for line in lines}
        for name in there:
            if name.rpartition("/")[2] not in counts:
                self.store.remove(self.output / name)

    def _before(self, folder: str, step: int) -> list[str]:
        """What the log says of the steps before this one."""
        lines: list[str] = []
        # back to the last that says all before it, which is one of the ten before
        for number in range(step - 1, max(-1, step - 1 - COMPACT_EACH), -1):
            name = f"{number}.compact" if _is_compact(number) else str(number)
            text = self.store.read_text(self.output / folder / SPARK_LOG / name)
            lines = [*(line for line in text.splitlines()[1:] if line), *lines]
            if _is_compact(number):
                break
        return lines

    def _line(self, one: WrittenFile) -> str:
        at = self.output / one.final
        status = self.store.status(at)
        return json.dumps(
            {
                "path": quote(at.hadoop_path, safe="/:@=+,~"),
                "size": one.size,
                "isDir": False,
                "modificationTime": 0 if status is None else status.modified,
                "blockReplication": 1,
                "blockSize": 128 << 20,
                "action": "add",
            },
            separators=(",", ":"),
        )


SPARK_LOG = "_spark_metadata"
COMPACT_EACH = 10


def _is_compact(step: int) -> bool:
    return (step + 1) % COMPACT_EACH == 0


def _all(call: Callable[[WrittenFile], None], files: Collection[WrittenFile]) -> None:
    if len(files) < 4:
        for one in files:
            call(one)
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(call, files):
            pass
