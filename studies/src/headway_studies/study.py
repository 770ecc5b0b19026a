"""A study of the papers: parameters, how one cell of its grid is run, what the rows show.

A new study is one file that defines ``STUDY``, and a line in :mod:`headway_studies.registry` (or,
in a package of its own, an entry point of the group ``headway.studies``). Cells are small mappings
that can be written as JSON, so that any process on any machine can run one; a row is one tidy
observation. A cell's rows depend on the cell alone: no clock, no state, no order. What a study
found are claims beside the papers', and the data of the pictures that show it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from headway_studies.provenance import Provenance
from headway_studies.study_charts import Picture


class Verdict(StrEnum):
    """How ours stands beside the paper's."""

    EQUAL = "equal"
    """the same numbers"""
    SAME = "same order and scale"
    """the same ordering, numbers within a factor of two"""
    DIFFERS = "differs"
    """with the reason"""
    BEYOND = "beyond the papers"
    """no paper says anything about it"""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One published statement or number, and what came out here."""

    figure: str
    published: str
    ours: str
    verdict: Verdict
    came: Provenance
    """how ours came about: no default, each claim says it"""
    why: str = ""

    def __post_init__(self) -> None:
        if self.verdict is Verdict.DIFFERS and not self.why:
            raise ValueError(f"{self.figure}: a difference must say why: {self.published}")


@dataclass(frozen=True, kw_only=True)
class Findings:
    """All that a study has to show."""

    claims: tuple[Claim, ...]
    pictures: tuple[Picture, ...] = ()


NO_REASON = "the reason has not been found"


def stated(
    figure: str,
    published: str,
    ours: str,
    *,
    came: Provenance,
    holds: bool,
    why: str = NO_REASON,
) -> Claim:
    """A statement of order or scale that was checked; ``why`` is told only where it fails."""
    verdict = Verdict.SAME if holds else Verdict.DIFFERS
    told = "" if holds else why
    return Claim(
        figure=figure, published=published, ours=ours, verdict=verdict, came=came, why=told
    )


def numbers(
    figure: str,
    published: str,
    ours: str,
    *,
    came: Provenance,
    equal: bool,
    why: str = NO_REASON,
) -> Claim:
    """Published numbers that ours must equal; ``why`` is told only where they do not."""
    verdict = Verdict.EQUAL if equal else Verdict.DIFFERS
    told = "" if equal else why
    return Claim(
        figure=figure, published=published, ours=ours, verdict=verdict, came=came, why=told
    )


def beyond(figure: str, asked: str, ours: str, *, came: Provenance) -> Claim:
    """A question that no paper answers."""
    return Claim(figure=figure, published=asked, ours=ours, verdict=Verdict.BEYOND, came=came)


Scalar = bool | int | float | str | None
Cell = Mapping[str, Scalar]
Row = Mapping[str, Scalar]


class Paper(StrEnum):
    """The four papers, by the names they have in the documentation."""

    S_EDF = "S-EDF"
    AEDSMS = "AEDSMS"
    ROP_EDF = "ROP-EDF"
    HVLB_CC = "HVLB_CC"
    NONE = "beyond the papers"


@dataclass(frozen=True, kw_only=True)
class Study:
    """``cells(quick)`` is the grid; ``run`` gives the rows of one cell; ``analyse`` takes the rows
    of all cells in the order of the grid."""

    name: str
    paper: Paper
    figures: tuple[str, ...]
    title: str
    seconds: int
    """about, for the whole grid on two cores"""
    cells: Callable[[bool], Sequence[Cell]]
    run: Callable[[Cell], Sequence[Row]]
    analyse: Callable[[Sequence[Row]], Findings]
    seed: int | None = None
    """None where nothing is random"""
    lacks: Callable[[], str | None] = lambda: None
    """what is missing on this machine to run it, and how to get it; None where nothing is"""

    def seconds_of_a_cell(self) -> float:
        """About: two cores share the whole grid."""
        return 2 * self.seconds / max(1, len(self.cells(False)))


@dataclass(frozen=True, kw_only=True)
class CellWork:
    """One cell of one study, as it is sent to whoever runs it."""

    study: str
    place: int
    """in the study's grid"""
    cell: str
    """as JSON, keys sorted"""

    @property
    def key(self) -> str:
        """The name of the cell's file: what it is, not where it stands in the grid."""
        return hashlib.sha256(f"{self.study} {self.cell}".encode()).hexdigest()[:20]

    def parameters(self) -> Cell:
        parsed: Cell = json.loads(self.cell)
        return parsed


def works_of(study: Study, *, quick: bool) -> list[CellWork]:
    """The study's cells in the order of its grid."""
    works = [
        CellWork(study=study.name, place=place, cell=json.dumps(dict(cell), sort_keys=True))
        for place, cell in enumerate(study.cells(quick))
    ]
    if len({work.key for work in works}) != len(works):
        raise ValueError(f"study {study.name}: two cells are the same")
    return works
