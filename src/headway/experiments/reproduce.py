"""Running studies: what is missing is computed, the rest is taken from the folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headway.experiments.cell_store import CellStore
from headway.experiments.findings import Findings, Verdict
from headway.experiments.run_cells import Advance, CellDone
from headway.experiments.study import CellWork, Study, works_of

RunCells = Callable[[CellStore, Sequence[CellWork], Advance], list[CellDone]]


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """A study and what it found; ``findings`` is None where a cell failed."""

    study: Study
    cells: int
    computed: int
    """in this run; the others had been finished before"""
    failed: tuple[CellDone, ...]
    findings: Findings | None

    @property
    def verdict(self) -> Verdict | None:
        """The worst of its claims; None where a cell failed."""
        if self.findings is None:
            return None
        order = (Verdict.DIFFERS, Verdict.SAME, Verdict.EQUAL, Verdict.BEYOND)
        found = {claim.verdict for claim in self.findings.claims}
        return next(verdict for verdict in order if verdict in found)


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What is to be run, and what of it has been finished before."""

    store: CellStore
    studies: tuple[Study, ...]
    works: dict[str, list[CellWork]]
    missing: list[CellWork]
    """the studies that take longest come first, so that none is left alone at the end"""


def prepare(store: CellStore, studies: Sequence[Study], *, quick: bool) -> Reproduction:
    """Looks into the folder; computes nothing."""
    works = {study.name: works_of(study, quick=quick) for study in studies}
    longest = sorted(studies, key=lambda study: -study.seconds / max(1, len(works[study.name])))
    missing = [work for study in longest for work in store.missing(works[study.name])]
    return Reproduction(store=store, studies=tuple(studies), works=works, missing=missing)


def reproduce(
    reproduction: Reproduction, run: RunCells, advance: Advance = lambda: None
) -> list[Reproduced]:
    """Computes what is missing and analyses every study whose cells are all there."""
    store = reproduction.store
    done = run(store, reproduction.missing, advance)
    return [_analysed(reproduction, study, done) for study in reproduction.studies]


def _analysed(reproduction: Reproduction, study: Study, done: Sequence[CellDone]) -> Reproduced:
    works = reproduction.works[study.name]
    mine = [cell for cell in done if cell.study == study.name]
    failed = tuple(cell for cell in mine if cell.error)
    findings = None
    if not reproduction.store.missing(works):
        findings = study.analyse(reproduction.store.merge(study.name, works))
    return Reproduced(
        study=study,
        cells=len(works),
        computed=len(mine) - len(failed),
        failed=failed,
        findings=findings,
    )
