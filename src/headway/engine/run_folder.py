"""A folder of results that appears whole or not at all, for every engine.

Every file (or folder of files, as Spark writes) is written under a name of its own with ``.part``
behind it and gets its name when all are complete. A folder that has something in it is refused
unless the user says otherwise; then what has the same name is replaced, what an earlier run left
besides is removed, and all else stays. Parts that a killed run left are nobody's.
"""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from headway.errors import FileError, Place, Problem

SUMMARY = "summary.json"
PART = ".part"


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
            raise FileError(
                Problem(
                    "the output folder is not empty",
                    place=Place(str(folder)),
                    got=", ".join(there[:5]) + (", …" if len(there) > 5 else ""),
                    want="name another one, or add --force to replace earlier results",
                )
            )
        self._earlier = files_of_run(folder / SUMMARY) if SUMMARY in there else []

    def part(self, name: str) -> Path:
        """Where something is to be written until all is complete; nothing is there."""
        path = self.folder / (name + PART)
        remove(path)
        self._names.append(name)
        return path

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
        text = summary_text({**data, "files": [*self._names, SUMMARY]})
        self.write_text(SUMMARY, text)
        return text

    @property
    def names(self) -> list[str]:
        """The files of this run, in the order they were begun."""
        return list(self._names)

    def _complete(self) -> None:
        try:
            for name in dict.fromkeys([*self._earlier, *self._names]):
                path = self.folder / name
                if name not in self._names or path.is_dir():  # a file is replaced in one step
                    remove(path)
            for name in self._names:
                (self.folder / (name + PART)).replace(self.folder / name)
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
            if self._made:
                self.folder.rmdir()


def write_summary(folder: Path, data: dict[str, Any]) -> str:
    """Into a folder that is written piece by piece; replaces the one that is there. Gives the
    text."""
    text = summary_text(data)
    part = folder / f".{SUMMARY}{PART}"
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(folder / SUMMARY)
    except OSError as error:
        raise unwritable(folder, error) from None
    return text


def summary_text(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def files_of_run(summary: Path) -> list[str]:
    """The files that an earlier run says it wrote; none if it cannot be told."""
    try:
        names = json.loads(summary.read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    if not isinstance(names, list):
        return []
    plain = [name for name in names if isinstance(name, str) and Path(name).name == name]
    return [name for name in plain if name not in ("", "..")]


def remove(path: Path) -> None:
    """A file or a folder; nothing if it is not there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def unwritable(path: Path, error: Exception) -> FileError:
    reason = getattr(error, "strerror", None) or str(error)
    return FileError(
        Problem(
            f"cannot write here: {reason}",
            place=Place(str(path)),
            want="name a folder that can be written to",
        )
    )
