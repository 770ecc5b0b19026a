"""Running cells: in this process, or as a Spark job whose tasks call :func:`run_one`."""

from __future__ import annotations

import json
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from headway.experiments.cell_store import CellStore
from headway.experiments.studies import study_named
from headway.experiments.study import CellWork

LOOK_S = 0.5
"""between two looks at how many files of cells there are"""

Advance = Callable[[CellWork], None]
"""called for each cell that is done, or has failed"""
RunPieces = Callable[[Callable[[str], str], Sequence[str]], list[str]]


@dataclass(frozen=True, kw_only=True)
class CellDone:
    """``error`` is empty when the cell's file has been written."""

    study: str
    cell: str
    seconds: float
    error: str = ""


def run_one(folder: Path, work: CellWork) -> CellDone:
    """Runs a cell and writes its file. A cell that fails is told, and the others go on."""
    start = time.perf_counter()
    error = ""
    try:
        rows = study_named(work.study).run(work.parameters())
        CellStore(folder).write(work, rows, time.perf_counter() - start)
    except Exception as failure:  # noqa: BLE001 - told by name and place at the end of the run
        error = told_of(failure)
    seconds = time.perf_counter() - start
    return CellDone(study=work.study, cell=work.cell, seconds=seconds, error=error)


def told_of(failure: Exception) -> str:
    """What went wrong, and in which line."""
    where = traceback.extract_tb(failure.__traceback__)[-1]
    return f"{type(failure).__name__}: {failure} ({Path(where.filename).name}:{where.lineno})"


def run_here(store: CellStore, works: Sequence[CellWork], advance: Advance) -> list[CellDone]:
    """One after the other, without Spark."""
    done = []
    for work in works:
        done.append(run_one(store.folder, work))
        advance(work)
    return done


def run_on_spark(
    run_pieces: RunPieces, store: CellStore, works: Sequence[CellWork], advance: Advance
) -> list[CellDone]:
    """All cells as one job: ``run_pieces`` is
    :func:`headway.spark.batch.independent_work.run_pieces` in a session. The folder
    must be reachable under its path from every worker."""
    with _watched(store, works, advance):
        told = run_pieces(
            partial(_piece, str(store.folder)), [json.dumps(asdict(work)) for work in works]
        )
    return [CellDone(**json.loads(text)) for text in told]


def _piece(folder: str, piece: str) -> str:
    return json.dumps(asdict(run_one(Path(folder), CellWork(**json.loads(piece)))))


@contextmanager
def _watched(store: CellStore, works: Sequence[CellWork], advance: Advance) -> Iterator[None]:
    """Calls ``advance`` for each cell whose file appears."""
    over = threading.Event()
    waiting = set(works)

    def look() -> None:
        while not over.wait(LOOK_S):
            for work in [work for work in waiting if store.finished(work)]:
                waiting.discard(work)
                advance(work)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        for work in waiting:
            advance(work)
