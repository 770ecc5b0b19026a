"""Where a micro-batch's rows are seen: under names of the batch, when it is done and not before.

What tasks write is hidden (a dot in front); the record of the batch says what it will be called.
Publishing gives it that name. It may be cut off anywhere and begun again: what has its name
already is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from headway.errors import FileError, Place
from headway.spark.state.batch_manifest import WrittenFile
from headway.spark.state.task_files import PART
from headway.spark.storage.file_stores import FileStore, NotThere
from headway.spark.storage.locations import Location

_AT_ONCE = 16
_BATCH = "batch-"


def batch_name(number: int) -> str:
    return f"{_BATCH}{number:010d}"


@dataclass(frozen=True)
class RenamedFiles:
    """For file systems that rename in one step."""

    output: Location
    store: FileStore

    def publish(self, files: Collection[WrittenFile]) -> None:
        """FileError for a file that is neither under the one name nor under the other."""
        _all(self._rename, files)

    def withdraw(self, files: Collection[WrittenFile]) -> None:
        """More input comes: windows that the end closed are open again."""
        _all(lambda one: self.store.remove(self.output / one.final), files)

    def sweep(self, group: str, outputs: Iterable[str], sides: Iterable[str]) -> None:
        """Removes what attempts of the group left behind; none of them may be running."""
        for folders, prefix in ((outputs, ""), (sides, f"{group}-")):
            left = re.compile(
                rf"\.{re.escape(prefix)}({_BATCH}\d+|end)-\d+\.[^/]*{re.escape(PART)}"
            )
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


def _all(call: Callable[[WrittenFile], None], files: Collection[WrittenFile]) -> None:
    if len(files) < 4:
        for one in files:
            call(one)
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(call, files):
            pass
