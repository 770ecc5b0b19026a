"""Running studies: what is missing is computed, the rest is taken from the folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headway.experiments.cell_store import CellStore
from headway.experiments.findings import Findings
from headway.experiments.run_cells import Advance, CellDone, told_of
from headway.experiments.study import CellWork, Study, works_of

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
