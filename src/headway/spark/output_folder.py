"""The folder that a batch on Spark writes: outputs appear when all of them are complete.

Spark writes each output as a folder of Parquet files, ``NAME.parquet``; under another name until
the run is over.
"""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from headway.errors import FileError, Place, Problem
from headway.runtime.run_folder import PART, SUMMARY, files_of_run


class OutputFolder:
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

    def write_summary(self, data: dict[str, Any]) -> str:
        """Adds the names of all files to it; gives the text."""
        files = [*self._names, SUMMARY]
        text = json.dumps({**data, "files": files}, indent=1, ensure_ascii=False) + "\n"
        try:
            self.part(SUMMARY).write_text(text, encoding="utf-8")
        except OSError as error:
            raise unwritable(self.folder / SUMMARY, error) from None
        return text

    def __enter__(self) -> OutputFolder:
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

    def _complete(self) -> None:
        try:
            for name in dict.fromkeys([*self._earlier, *self._names]):
                remove(self.folder / name)
            for name in self._names:
                (self.folder / (name + PART)).replace(self.folder / name)
        except OSError as error:
            raise unwritable(self.folder, error) from None


def remove(path: Path) -> None:
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
