"""A folder of results that appears whole or not at all, for every engine.

Every file (or folder of files, as Spark writes) is written under a name of its own with ``.part``
behind it and gets its name when all are complete. A folder that has something in it is refused
unless the user says otherwise; then what an earlier run left is replaced or removed, and all else
stays. What Headway wrote is known by its mark: the summary of a run names its files, and while a
run goes on a journal does, so that the parts of one that was killed are known too. Whatever bears
no mark is never removed or replaced, whoever asks for it.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from headway.errors import FileError, Place, Problem

SUMMARY = "summary.json"
PART = ".part"
JOURNAL = f"_headway{PART}"
MARK = {"written_by": "headway"}
"""stands in every summary and in the first line of every journal"""


class RunFolder:
    """Use it in a ``with`` statement: leaving it by an exception leaves nothing behind."""

    def __init__(self, folder: Path, *, force: bool = False) -> None:
        self.folder = folder
        self._names: list[str] = []
        self._made = not folder.exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            there = sorted(path.name for path in folder.iterdir() if path.suffix != PART)
        except (OSError, ValueError) as error:
            raise unwritable(folder, error) from None
        if there and not force:
            raise not_empty(folder, there)
        self._killed = _read_journal(folder / JOURNAL)
        self._journal_begun = False
        self._earlier = [*files_of_run(folder / SUMMARY), *self._killed.renamed]
        if SUMMARY in there and SUMMARY not in self._earlier:
            raise not_ours(folder / SUMMARY)  # before anything is computed

    def part(self, name: str) -> Path:
        """Where something is to be written until all is complete; nothing is there. FileError
        where something lies in its way that Headway did not write."""
        path = self.folder / (name + PART)
        try:
            if _lies_at(path) and name not in (*self._names, *self._killed.parts):
                raise not_ours(path)
            if _lies_at(self.folder / name) and name not in self._earlier:
                raise not_ours(self.folder / name)
            self._begin_journal()
            self._note(name)
            remove(path)
        except OSError as error:
            raise unwritable(path, error) from None
        self._names.append(name)
        return path

    def _begin_journal(self) -> None:
        """Takes over that of a run that was killed, whose parts are of no use to anybody."""
        if self._journal_begun:
            return
        self._journal_begun = True
        for name in self._killed.parts:
            remove(self.folder / (name + PART))
        journal = self.folder / JOURNAL
        if not journal.exists() or not journal.stat().st_size:
            self._note(MARK)

    def _note(self, entry: object) -> None:
        """One line in one step: of a process that is killed here, it is there or not."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        journal = os.open(self.folder / JOURNAL, flags, 0o666)
        line = json.dumps(entry).encode() + b"\n"
        try:
            if os.write(journal, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(journal)

    def drop(self, name: str) -> None:
        """A part that is not to be there after all."""
        remove(self.folder / (name + PART))
        self._names.remove(name)

    def write_text(self, name: str, text: str) -> None:
        try:
            self.part(name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise unwritable(self.folder / name, error) from None

    def write_summary(self, data: dict[str, Any]) -> str:
        """As the last file; adds the names of all to it. Gives the text."""
        text = summary_text({**data, "files": [*self._names, SUMMARY], **MARK})
        self.write_text(SUMMARY, text)
        return text

    @property
    def names(self) -> list[str]:
        """The files of this run, in the order they were begun."""
        return list(self._names)

    def _complete(self) -> None:
        try:
            if self._journal_begun:
                self._note(RENAMING)
            for name in dict.fromkeys([*self._earlier, *self._names]):
                path = self.folder / name
                if name not in self._names or path.is_dir():  # a file is replaced in one step
                    remove(path)
            for name in self._names:
                (self.folder / (name + PART)).replace(self.folder / name)
            if self._journal_begun:
                remove(self.folder / JOURNAL)
        except OSError as error:
            raise unwritable(self.folder, error) from None

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self._complete()
            return
        with suppress(OSError):
            for name in self._names:
                remove(self.folder / (name + PART))
            if self._journal_begun and not self._killed.renamed:
                remove(self.folder / JOURNAL)
            if self._made:
                self.folder.rmdir()


def write_whole(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Several files into a folder that is made where needed: all beside first, then each gets its
    name, so that a full disk leaves none half written. FileError when that cannot be done."""
    parts: dict[Path, Path] = {}
    path = folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            path = folder / name
            parts[path] = folder / f".{name}.{os.getpid()}{PART}"
            parts[path].write_bytes(content)
        for path, part in parts.items():
            part.replace(path)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL character
        for part in parts.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)
        raise unwritable(path, error) from None
    return list(parts)


def write_folder(folder: Path, contents: Mapping[Path, bytes]) -> None:
    """A folder with files below it, which was not there: made beside and renamed, so that it is
    there whole or not at all. FileError when that cannot be done."""
    beside = folder.parent / f".{folder.name}.{os.getpid()}{PART}"
    try:
        for path, content in contents.items():
            (beside / path).parent.mkdir(parents=True, exist_ok=True)
            (beside / path).write_bytes(content)
        beside.rename(folder)
    except OSError as error:
        with suppress(OSError):
            remove(beside)
        raise unwritable(folder, error) from None


def summary_text(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def files_of_run(summary: Path) -> list[str]:
    """The files that an earlier run of Headway says it wrote; none if it cannot be told, and none
    where the summary is not Headway's."""
    try:
        return names_in_summary(summary.read_bytes())
    except OSError:
        return []


def names_in_summary(content: bytes) -> list[str]:
    """As :func:`files_of_run`, of what stands in it."""
    try:
        data = json.loads(content)
        names = data["files"] if _is_marked(data) else []
    except (ValueError, KeyError, RecursionError):
        return []
    return _plain_names(names) if isinstance(names, list) else []


def not_empty(folder: Path | str, there: Sequence[str]) -> FileError:
    return FileError(
        Problem(
            "the output folder is not empty",
            place=Place(str(folder)),
            got=", ".join(there[:5]) + (", …" if len(there) > 5 else ""),
            want="name another one, or add --force to replace earlier results",
        )
    )


def _is_marked(data: object) -> bool:
    return isinstance(data, dict) and all(data.get(key) == value for key, value in MARK.items())


def _plain_names(names: list[object]) -> list[str]:
    """Those that stand for something in the folder itself."""
    plain = [name for name in names if isinstance(name, str) and Path(name).name == name]
    return [name for name in plain if name not in ("", "..")]


# ---------------------------------------------------------------- the journal of a run

RENAMING = {"renaming": True}
"""noted when all parts are complete: from here on files may bear their names"""


@dataclass(frozen=True)
class KilledRun:
    """What a run that was killed has left: names of parts, and of files that may have been
    renamed."""

    parts: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()

    @classmethod
    def of(cls, journal: bytes, path: Path | str) -> KilledRun:
        """FileError where something else bears the name of the journal."""
        entries = [_entry(line) for line in journal.splitlines(keepends=True)]
        if entries and not _is_marked(entries[0]):
            raise not_ours(path)
        names = tuple(_plain_names(entries))
        return cls(parts=names, renamed=names if RENAMING in entries else ())


def _read_journal(path: Path) -> KilledRun:
    if not _lies_at(path):
        return KilledRun()
    try:
        if path.is_symlink() or not path.is_file():
            raise not_ours(path)
        return KilledRun.of(path.read_bytes(), path)
    except OSError as error:
        raise unwritable(path, error) from None


def _entry(line: bytes) -> object:
    """A last line without its end was never finished, and what it names never begun."""
    try:
        return json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        return None


def _lies_at(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def not_ours(path: Path | str) -> FileError:
    return FileError(
        Problem(
            "here lies something that no run of Headway wrote",
            place=Place(str(path)),
            want="move it away, or name another folder",
        )
    )


def remove(path: Path) -> None:
    """A file or a folder; nothing if it is not there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


_REASON_OF_ARROW = re.compile(r"^.* Detail: \[errno \d+\] ", re.DOTALL)
"""what stands before the system's own words"""


def unwritable(path: Path, error: Exception) -> FileError:
    reason = _REASON_OF_ARROW.sub("", getattr(error, "strerror", None) or str(error))
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    return FileError(
        Problem(
            f"cannot write here: {reason}",
            place=Place(str(path)),
            want="make room on the disk and run the same command again"
            if full
            else "name a folder that can be written to",
        )
    )
