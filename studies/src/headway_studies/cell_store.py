"""Where finished cells lie: one Parquet file each, whole or not there, so that a study that was
killed goes on where it stopped.

    DIR/headway.json            which code computed the cells
    DIR/STUDY/cells/KEY.parquet rows of one cell
    DIR/STUDY/rows.parquet      all rows in the order of the grid

Whoever runs a cell writes its file under another name and renames it. The merged file depends on
the rows alone: not on how many ran at once, nor on what was killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import headway
import headway_studies
from headway.drive.collision_warning import example
from headway.errors import FileError, Place
from headway_studies.study import CellWork, Row

CODE_FILE = "headway.json"
SECONDS = "seconds"
ABOVE = ("report", "cli")
"""layers of Headway that see rows at most"""
OURS_ABOVE = (
    "independent_work.py",
    "report_files.py",
    "report_page.py",
    "reproduce_command.py",
    "reproduction.py",
    "study_chart_drawing.py",
)
"""files of this package that do"""


@cache
def code_fingerprint() -> str:
    """Of every source file a cell can run, and of the example it runs on: rows of other code must
    not be mixed with ours. The layers above see only rows, so a new picture does not cost an hour
    of computing."""
    application = example("query.yaml").parent
    return (
        _code_of(Path(headway.__file__).parent, (*ABOVE, "examples"))
        + _code_of(Path(headway_studies.__file__).parent, OURS_ABOVE)
        + digest_of(application, application.glob("*.yaml"))
    )


def _code_of(package: Path, left_out: Sequence[str]) -> str:
    return digest_of(
        package,
        (
            path
            for path in package.rglob("*.py")
            if path.relative_to(package).parts[0] not in left_out
        ),
    )


def digest_of(root: Path, paths: Iterable[Path]) -> str:
    """Of names and contents."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class CellStore:
    """The folder of finished cells."""

    folder: Path

    def open(self, *, force: bool = False) -> None:
        """Makes the folder; refuses one whose cells were computed by other code, unless ``force``
        throws those away."""
        mark = self.folder / CODE_FILE
        try:
            if mark.exists():
                if self._is_marked():
                    return
                if not force:
                    raise FileError(
                        "the cells in this folder were computed by another version of Headway",
                        place=Place(str(self.folder)),
                        want="name another folder with --out, or throw them away with --force",
                    )
                for cells in self.folder.glob("*/cells"):
                    shutil.rmtree(cells)
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(mark, json.dumps({"code": code_fingerprint()}).encode())
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise FileError(f"cannot be used: {reason}", place=Place(str(self.folder))) from None

    def is_ours(self) -> bool:
        """Whether there are cells here, and by this code."""
        try:
            return self._is_marked()
        except (OSError, ValueError):
            return False  # open() says what is wrong with it

    def _is_marked(self) -> bool:
        """By this code; OSError or ValueError where the mark cannot be read."""
        mark = json.loads((self.folder / CODE_FILE).read_text(encoding="utf-8"))
        return bool(mark == {"code": code_fingerprint()})

    def path(self, work: CellWork) -> Path:
        return self.folder / work.study / "cells" / f"{work.key}.parquet"

    def finished(self, work: CellWork) -> bool:
        return self.path(work).exists()

    def missing(self, works: Iterable[CellWork]) -> list[CellWork]:
        return [work for work in works if not self.finished(work)]

    def write(self, work: CellWork, rows: Sequence[Row], seconds: float = 0.0) -> None:
        """The cell's file: whole, or not there; in its metadata, how long it took."""
        path = self.path(work)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        timed = _table(rows).replace_schema_metadata({SECONDS: f"{seconds:.4f}"})
        pq.write_table(timed, part)
        part.replace(path)

    def seconds(self, work: CellWork) -> float:
        """How long a finished cell took."""
        return float(pq.read_schema(self.path(work)).metadata[SECONDS.encode()])

    def merge(self, study: str, works: Sequence[CellWork]) -> list[Row]:
        """All rows of finished cells, in the order of the grid, also written to rows.parquet."""
        tables = [_read(self.path(work)).replace_schema_metadata(None) for work in works]
        filled = [table for table in tables if table.num_rows]
        merged = pa.concat_tables(filled, promote_options="permissive") if filled else pa.table({})
        target = self.folder / study / "rows.parquet"
        part = target.with_suffix(".part")
        pq.write_table(merged.combine_chunks(), part)
        part.replace(target)
        rows: list[Row] = merged.to_pylist()
        return rows


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise FileError(
            f"is damaged: {error}",
            place=Place(str(path)),
            want="delete it and run the command again: only this cell is computed anew",
        ) from None


def _table(rows: Sequence[Row]) -> pa.Table:
    """With the columns of all rows: those of one cell may be of several kinds."""
    names = dict.fromkeys(key for row in rows for key in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def write_whole(path: Path, content: bytes) -> None:
    """The file as it was or as it is to be, never half of it."""
    part = path.with_suffix(".part")
    part.write_bytes(content)
    part.replace(path)
