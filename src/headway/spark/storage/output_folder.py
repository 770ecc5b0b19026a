"""The folder of a batch's results on any file system: whole or not there.

It keeps the rules of :mod:`headway.engine.run_folder`: a folder with something in it is refused
unless told otherwise, what bears no mark of Headway's is never touched, and a journal knows what a
run that was killed has left. What is complete gets visible in one of two ways:

* Where the store renames whole, all is written beside its name (``alarm.parquet.part``) and
  renamed when everything is complete; the summary last.
* Elsewhere (object stores), data is written under its name at once, and ``summary.json`` is the
  manifest: written last, in one step, it lists under ``data`` every file that counts. A run that
  replaces an earlier one adds its files beside the old ones, and removes those when the manifest
  names the new ones. What the manifest does not list is not there, for those who read it.
"""

from __future__ import annotations

import json
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from headway.engine.run_folder import (
    JOURNAL,
    MARK,
    PART,
    RENAMING,
    SUMMARY,
    KilledRun,
    names_in_summary,
    not_empty,
    not_ours,
    summary_text,
)
from headway.errors import FileError, Place
from headway.spark.storage.file_stores import FileStore, LocalStore, NotThere, is_part_of
from headway.spark.storage.locations import Location

DATA = "data"
"""in the summary of a store that does not rename: the files of each folder"""
_HIDDEN = ("_", ".")


class OutputFolder:
    """Use it in a ``with`` statement: leaving it by an exception leaves nothing behind."""

    def __init__(
        self, folder: Location, store: FileStore | None = None, *, force: bool = False
    ) -> None:
        """Without a store it is a local folder."""
        self.folder = folder
        self.store = store or LocalStore()
        self._by_name = self.store.renames_whole
        self.mark = "" if self._by_name else uuid.uuid4().hex[:8]
        """for names of files that an earlier run may have given too: see ``marked``"""
        self._journal: list[object] = []
        self._names: list[str] = []
        self._texts: dict[str, str] = {}
        self._found = _Found.of(folder, self.store)
        if self._found.results and not force:
            raise not_empty(folder.text, self._found.results)
        if self._found.foreign_summary:
            raise not_ours((folder / SUMMARY).text)  # before anything is computed
        if self._found.made:
            self.store.make_folder(folder)

    def part(self, name: str) -> Location:
        """Where something is to be written until all is complete: by Spark's writers, in the mode
        ``append``, or as files with names that have the ``mark``. FileError where something lies in
        its way that Headway did not write."""
        found, at = self._found, self._written(name)
        if name not in self._names:
            if self._by_name and at.name in found.names and name not in found.killed.parts:
                raise not_ours(at.text)
            if name in found.names and name not in found.ours:
                raise not_ours((self.folder / name).text)
        self._note(name)
        self._discard(name)
        if name not in self._names:
            self._names.append(name)
        return at

    def written(self, name: str) -> list[Location]:
        """The files of this run's data, as far as they are complete by now."""
        return [self._written(name) / file for file in self._new_files(name)]

    def drop(self, name: str) -> None:
        """A part that is not to be there after all."""
        self._discard(name)
        self._names.remove(name)

    def write_text(self, name: str, text: str) -> None:
        """A small file, there with the rest."""
        at = self.part(name)
        if self._by_name:
            self.store.write_whole(at, text)
        else:
            self._texts[name] = text  # replacing an earlier one now would be too early

    def write_summary(self, data: dict[str, Any]) -> str:
        """As the last file; adds the names of all to it. Gives the text."""
        listed: dict[str, object] = {"files": [*self._names, SUMMARY]}
        if not self._by_name:
            folders = [name for name in self._names if name not in self._texts]
            listed[DATA] = {name: self._new_files(name) for name in folders}
        text = summary_text({**data, **listed, **MARK})
        self.write_text(SUMMARY, text)
        return text

    @property
    def names(self) -> list[str]:
        """The files of this run, in the order they were begun."""
        return list(self._names)

    def __enter__(self) -> OutputFolder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            if self._by_name:
                self._rename_all()
            else:
                self._publish()
            return
        with suppress(FileError):
            for name in self._names:
                self._discard(name)
            if self._journal and not (self._by_name and self._found.killed.renamed):
                self.store.remove(self.folder / JOURNAL)
            if self._found.made and not self.store.entries(self.folder):
                self.store.remove(self.folder)

    # ------------------------------------------------------------ the journal

    def _note(self, entry: object) -> None:
        """The whole journal in one step: object stores cannot append. The first one takes over
        that of a run that was killed, whose parts are of no use to anybody."""
        if not self._journal:
            self._journal = [MARK, *self._found.killed.parts]
            if self._found.killed.renamed or not self._by_name:
                self._journal.append(RENAMING)
            self._write_journal()
            for name in self._found.leftovers:
                self.store.remove(self.folder / name)
            for name in self._found.killed.parts:
                self._discard(name)
        if entry not in self._journal:
            self._journal.append(entry)
            self._write_journal()

    def _write_journal(self) -> None:
        lines = "".join(f"{json.dumps(entry)}\n" for entry in self._journal)
        self.store.write_whole(self.folder / JOURNAL, lines)

    # ------------------------------------------------------------ getting visible

    def _rename_all(self) -> None:
        """The earlier summary goes first and the new one comes last: in between there is none."""
        if self._journal:
            self._note(RENAMING)
        earlier = [name for name in (SUMMARY, *self._found.ours) if name in self._found.ours]
        for name in dict.fromkeys([*earlier, *self._names]):
            self.store.remove(self.folder / name)
        for name in self._names:
            self.store.rename(self._written(name), self.folder / name)
        self._close_journal()

    def _publish(self) -> None:
        """From the moment that the summary is there, it is what counts; what went before is
        removed after that."""
        for name, text in self._texts.items():
            if name != SUMMARY:
                self.store.write_whole(self.folder / name, text)
        if SUMMARY in self._texts:
            self.store.write_whole(self.folder / SUMMARY, self._texts[SUMMARY])
        for name in self._found.ours:
            if name not in self._names:
                self.store.remove(self.folder / name)
            elif name not in self._texts:
                for file in self._found.listed(name):
                    self.store.remove(self.folder / name / file)
        self._close_journal()

    def _close_journal(self) -> None:
        if self._journal:
            self.store.remove(self.folder / JOURNAL)

    def _written(self, name: str) -> Location:
        return self.folder / (name + PART if self._by_name else name)

    def _discard(self, name: str) -> None:
        """What this run, or one that was killed, has written for a name."""
        if self._by_name:
            self.store.remove(self._written(name))
            return
        self._texts.pop(name, None)
        at = self.folder / name
        there = self.store.status(at)
        if there is None or (not there.is_folder and name in self._found.counted):
            return
        if name not in self._found.counted:
            self.store.remove(at)
            return
        for entry in self.store.entries(at):
            if entry.name not in self._found.listed(name):
                self.store.remove(at / entry.name)

    def _new_files(self, name: str) -> list[str]:
        entries = self.store.entries(self._written(name))
        names = [entry.name for entry in entries if not entry.name.startswith(_HIDDEN)]
        older = frozenset() if self._by_name else self._found.listed(name)
        return [one for one in names if one not in older]


@dataclass(frozen=True)
class _Found:
    """What lies in the folder when a run begins."""

    made: bool
    """whether the folder is this run's"""
    names: frozenset[str] = frozenset()
    killed: KilledRun = field(default_factory=KilledRun)
    counted: dict[str, frozenset[str]] = field(default_factory=dict)
    """what the summary of an earlier run names, with the files in it"""
    ours: tuple[str, ...] = ()
    """names that a run of Headway wrote, complete or not"""
    results: tuple[str, ...] = ()
    """what is not to be replaced without being told"""
    leftovers: tuple[str, ...] = ()
    """parts of a run that was killed, and halves of its journal and its texts"""

    @classmethod
    def of(cls, folder: Location, store: FileStore) -> _Found:
        there = store.status(folder)
        if there is None:
            return cls(made=True)
        if not there.is_folder:
            raise FileError("cannot write here: this is a file", place=Place(folder.text),
                            want="name a folder that can be written to")  # fmt: skip
        names = frozenset(entry.name for entry in store.entries(folder))
        killed = _killed(folder, store) if JOURNAL in names else KilledRun()
        counted = _counted(folder, store) if SUMMARY in names else {}
        unfinished: set[str] = set()
        if not store.renames_whole:  # under their names, and yet nobody's results
            unfinished = {name for name in killed.renamed if name not in counted}
        parts = {name + PART for name in killed.parts}
        halves = {name for name in names if is_part_of(name, JOURNAL, *killed.parts, *parts)}
        return cls(
            made=False,
            names=names,
            killed=killed,
            counted=counted,
            ours=tuple(dict.fromkeys([*counted, *killed.renamed])),
            results=tuple(
                sorted(n for n in names if not n.endswith(PART) and n not in unfinished)
            ),
            leftovers=tuple(sorted(halves | parts & names)),
        )  # fmt: skip

    @property
    def foreign_summary(self) -> bool:
        return SUMMARY in self.names and SUMMARY not in self.ours

    def listed(self, name: str) -> frozenset[str]:
        return self.counted.get(name, frozenset())


def _killed(folder: Location, store: FileStore) -> KilledRun:
    journal = folder / JOURNAL
    if journal.is_local and journal.path.is_symlink():
        raise not_ours(journal.text)
    there = store.status(journal)
    if there is None or there.is_folder:
        raise not_ours(journal.text)
    return KilledRun.of(store.read_bytes(journal), journal.text)


def _counted(folder: Location, store: FileStore) -> dict[str, frozenset[str]]:
    """By the summary; a run that renamed lists no files, then all that is there counts."""
    summary = folder / SUMMARY
    try:
        content = store.read_bytes(summary)
        names = names_in_summary(content)
        data = json.loads(content).get(DATA) if names else None
    except (FileError, ValueError):
        return {}
    listed = data if isinstance(data, dict) else {}
    found = {}
    for name in names:
        files = listed.get(name)
        if not isinstance(files, list):
            files = [] if store.renames_whole else _all_in(folder / name, store)
        found[name] = frozenset(str(file) for file in files)
    return found


def _all_in(at: Location, store: FileStore) -> list[str]:
    there = store.status(at)
    return [entry.name for entry in store.entries(at)] if there and there.is_folder else []


def write_summary(folder: Location, store: FileStore, data: dict[str, Any]) -> str:
    """Into a folder that is written piece by piece; replaces the one that is there. Gives the
    text."""
    text = summary_text({**data, **MARK})
    store.write_whole(folder / SUMMARY, text)
    return text


def complete_files(folder: Location, store: FileStore) -> dict[str, list[Location]]:
    """For readers: the files of each output that count. NotThere before a run is complete."""
    data = json.loads(store.read_bytes(folder / SUMMARY))
    if isinstance(data.get(DATA), dict):
        return {
            name: [folder / name / file for file in files] for name, files in data[DATA].items()
        }
    found = {}
    for name in data["files"]:
        there = store.status(folder / name)
        if there is None:
            raise NotThere(
                "this is gone, and the summary names it", place=Place((folder / name).text)
            )
        if there.is_folder:
            inside = store.entries(folder / name)
            names = [entry.name for entry in inside if not entry.name.startswith(_HIDDEN)]
            found[name] = [folder / name / file for file in names]
    return found
