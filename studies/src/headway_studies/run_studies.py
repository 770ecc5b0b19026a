"""Running studies: what is missing is computed, the rest is taken from the folder.

Cells run in this process, or as a Spark job whose tasks call :func:`run_one`.
"""

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

from headway_studies.cell_store import CellStore
from headway_studies.registry import study_named
from headway_studies.study import CellWork, Findings, Study, works_of

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
    :func:`headway_studies.independent_work.run_pieces` in a session. The folder must be
    reachable under its path from every worker."""
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


RunCells = Callable[[CellStore, Sequence[CellWork], Advance], list[CellDone]]


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """A study and what it found; ``findings`` is None where a cell failed or could not be run."""

    study: Study
    cells: int
    computed: int
    """in this run; the others had been finished before"""
    failed: tuple[CellDone, ...]
    findings: Findings | None
    seconds: float = 0.0
    """that its cells took, one after the other, in this run and before"""
    lacks: str | None = None
    """what is missing on this machine to run it"""
    confused: str | None = None
    """why the rows of its cells could not be analysed, although all of them are there"""


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What is to be run, and what of it has been finished before."""

    store: CellStore
    studies: tuple[Study, ...]
    works: dict[str, list[CellWork]]
    missing: list[CellWork]
    """the studies that take longest come first, so that none is left alone at the end"""
    lacking: dict[str, str]
    """studies whose missing cells cannot be run on this machine, and what they lack"""
    seconds: dict[str, float]
    """that a cell of each study takes, about"""


def prepare(store: CellStore, studies: Sequence[Study], *, quick: bool) -> Reproduction:
    """Looks into the folder; computes nothing."""
    works = {study.name: works_of(study, quick=quick) for study in studies}
    lacking = {
        study.name: lack
        for study in studies
        if store.missing(works[study.name]) and (lack := study.lacks())
    }
    runnable = [study for study in studies if study.name not in lacking]
    seconds = {study.name: study.seconds_of_a_cell() for study in studies}
    longest = sorted(runnable, key=lambda study: -seconds[study.name])
    return Reproduction(
        store=store,
        studies=tuple(studies),
        works=works,
        missing=[work for study in longest for work in store.missing(works[study.name])],
        lacking=lacking,
        seconds=seconds,
    )


def reproduce(
    reproduction: Reproduction, run: RunCells, advance: Advance = lambda _: None
) -> list[Reproduced]:
    """Computes what is missing and analyses every study whose cells are all there."""
    store = reproduction.store
    done = run(store, reproduction.missing, advance)
    return [_analysed(reproduction, study, done) for study in reproduction.studies]


def _analysed(reproduction: Reproduction, study: Study, done: Sequence[CellDone]) -> Reproduced:
    works = reproduction.works[study.name]
    mine = [cell for cell in done if cell.study == study.name]
    failed = tuple(cell for cell in mine if cell.error)
    findings, seconds, confused = None, 0.0, None
    if not reproduction.store.missing(works):
        rows = reproduction.store.merge(study.name, works)
        seconds = sum(reproduction.store.seconds(work) for work in works)
        try:
            findings = study.analyse(rows)
        except Exception as failure:  # noqa: BLE001 - told by name; the other studies are reported
            confused = told_of(failure)
    return Reproduced(
        study=study,
        cells=len(works),
        computed=sum(not cell.error for cell in mine),
        failed=failed,
        findings=findings,
        seconds=seconds,
        lacks=reproduction.lacking.get(study.name),
        confused=confused,
    )
