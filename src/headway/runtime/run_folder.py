"""A folder of results that appears whole or not at all.

Every file is written under a name of its own with ``.part`` behind it and gets its name when all
are complete. A folder that has something in it is refused unless the user says otherwise; then
files of the same name are replaced, what an earlier run left besides is removed, and all else
stays.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from headway.errors import FileError, Place, Problem

SUMMARY = "summary.json"
PART = ".part"


class RunFolder:
    """Use it in a ``with`` statement: leaving it by an exception leaves no file behind."""

    def __init__(self, folder: Path, *, force: bool = False) -> None:
        self.folder = folder
        self._names: list[str] = []
        self._earlier: list[str] = []
        self._made = not folder.exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            there = sorted(path.name for path in folder.iterdir())
        except (OSError, ValueError) as error:
            raise _unwritable(folder, error) from None
        if there and not force:
            raise FileError(
                Problem(
                    "the output folder is not empty",
                    place=Place(str(folder)),
                    got=", ".join(there[:5]) + (", …" if len(there) > 5 else ""),
                    want="name another one, or add --force to replace earlier results",
                )
            )
        if SUMMARY in there:
            self._earlier = files_of_run(folder / SUMMARY)

    def part(self, name: str) -> Path:
        """Where a file is to be written until it is complete."""
        self._names.append(name)
        return self.folder / (name + PART)

    def write_text(self, name: str, text: str) -> None:
        try:
            self.part(name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise _unwritable(self.folder / name, error) from None

    @property
    def names(self) -> list[str]:
        """The files of this run, in the order they were begun."""
        return list(self._names)

    def _complete(self) -> None:
        try:
            for name in self._earlier:
                path = self.folder / name
                if name not in self._names and path.is_file():
                    path.unlink()
            for name in self._names:
                (self.folder / (name + PART)).replace(self.folder / name)
        except OSError as error:
            raise _unwritable(self.folder, error) from None

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
                (self.folder / (name + PART)).unlink(missing_ok=True)
            if self._made:
                self.folder.rmdir()


def files_of_run(summary: Path) -> list[str]:
    """The files that an earlier run says it wrote; none if it cannot be told."""
    try:
        names = json.loads(summary.read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    if not isinstance(names, list):
        return []
    return [name for name in names if isinstance(name, str) and Path(name).name == name]


def _unwritable(path: Path, error: Exception) -> FileError:
    reason = getattr(error, "strerror", None) or str(error)
    return FileError(
        Problem(
            f"cannot write here: {reason}",
            place=Place(str(path)),
            want="name a folder that can be written to",
        )
    )
