"""Every registered study: cells, rows, findings; and that wrong rows are not called equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from tests.studies.quick_run import RUN, QuickRun, say_something

from headway_studies.registry import STUDIES
from headway_studies.study import NO_REASON, Paper, Row, Verdict, works_of

EXACT = ("sedf-example", "tasks", "er-edf-example", "hvlb-tables", "hvlb-example")
EXPLAINED = {
    ("tasks", "table 1, deadlines"),
    ("hvlb-tables", "table 2, HPRV of (B)"),
    ("hvlb-example", "figure 5, computed ranks"),
}
"""where a paper contradicts itself, or hangs on a digit that it does not print: the only
differences an exact study may have"""


def test_all_are_registered_in_the_order_of_the_papers() -> None:
    assert all(name == study.name for name, study in STUDIES.items())
    places = [list(Paper).index(study.paper) for study in STUDIES.values()]
    assert places == sorted(places)


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("quick", [True, False])
def test_cells_are_plain_and_distinct(name: str, quick: bool) -> None:
    study = STUDIES[name]
    works = works_of(study, quick=quick)  # refuses two equal cells
    assert works
    for work, cell in zip(works, study.cells(quick), strict=True):
        assert work.parameters() == dict(cell)
    assert study.cells(quick) == study.cells(quick)
    assert study.title
    assert study.figures
    assert study.seconds > 0


@pytest.mark.parametrize("name", RUN)
def test_findings_say_something_and_give_reasons(name: str, quick_run: QuickRun) -> None:
    if not (quick_run.folder / name).exists():
        pytest.skip(STUDIES[name].lacks() or "")
    say_something(quick_run.findings(name))


@pytest.mark.parametrize("name", EXACT)
def test_exact_studies_are_equal_but_for_what_is_explained(name: str, quick_run: QuickRun) -> None:
    for claim in quick_run.findings(name).claims:
        if claim.verdict is Verdict.DIFFERS:
            assert (name, claim.figure) in EXPLAINED
            assert claim.why != NO_REASON
        else:
            assert claim.verdict in (Verdict.EQUAL, Verdict.BEYOND)


def test_the_figures_that_must_be_equal_are(quick_run: QuickRun) -> None:
    """Figures 4 to 7 of the papers have no difference at all."""
    for name, figures in {
        "sedf-example": ("figure 6", "figure 7"),
        "er-edf-example": ("figure 5",),
        "hvlb-example": ("figure 4", "figure 5", "figure 6"),
    }.items():
        claims = quick_run.findings(name).claims
        verdicts = {claim.figure: claim.verdict for claim in claims if claim.figure in figures}
        assert verdicts == dict.fromkeys(figures, Verdict.EQUAL)


# ---------------------------------------------------------------- the checks can fail

Change = Callable[[dict[str, Any]], dict[str, Any]]


def corrupted(rows: Sequence[Row], chosen: Mapping[str, object], change: Change) -> list[Row]:
    """The rows with one of them changed, the first that has what is wanted."""
    found = [dict(row) for row in rows]
    place = next(
        place
        for place, row in enumerate(found)
        if all(row.get(key) == value for key, value in chosen.items())
    )
    found[place] = change(found[place])
    return [dict(row) for row in found]


def later(key: str, by: float = 1.0) -> Change:
    return lambda row: row | {key: row[key] + by}


@pytest.mark.parametrize(
    ("name", "chosen", "change", "figure"),
    [
        ("sedf-example", {"what": "slot", "policy": "s-edf"}, later("start"), "figure 7"),
        ("sedf-example", {"what": "output", "policy": "fifo+"}, later("end"), "figure 7"),
        ("sedf-example", {"what": "train"}, later("end"), "figure 6"),
        ("hvlb-example", {"what": "alpha", "place": 180}, later("end"), "figure 5"),
        ("hvlb-example", {"what": "task", "name": "n9"}, later("end"), "figure 4"),
        ("hvlb-example", {"what": "message", "on": "l2"}, lambda r: r | {"on": "l1"}, "figure 4"),
        ("er-edf-example", {"what": "left", "start": 12.0}, later("left", 0.1), "figure 5"),
        ("hvlb-tables", {"what": "rank", "name": "n3"}, later("value", 0.1), "table 2, rank"),
        ("hvlb-tables", {"what": "comp", "name": "n7"}, later("value"), "table 1"),
        ("tasks", {"what": "task", "name": "T5"}, lambda r: r | {"place": "node1"}, "table 1"),
    ],
)
def test_wrong_rows_are_not_called_equal(
    name: str, chosen: Mapping[str, object], change: Change, figure: str, quick_run: QuickRun
) -> None:
    before = [c.verdict for c in quick_run.findings(name).claims if c.figure == figure]
    found = STUDIES[name].analyse(corrupted(quick_run.rows(name), chosen, change))
    after = [claim.verdict for claim in found.claims if claim.figure == figure]
    assert Verdict.DIFFERS not in before
    assert Verdict.DIFFERS in after


@pytest.mark.parametrize(
    ("name", "chosen", "change"),
    [
        ("admission", {"policy": "rop-edf-2", "task": "H1"}, later("miss_ratio", 0.5)),
        ("hard-tasks", {"policy": "rop-edf-1", "hard": True}, later("late", 5)),
        ("methods", {"method": "rop-edf-1", "question": "requested"}, later("missed", 1)),
        ("precision", {"what": "hole"}, later("hole")),
        ("hvlb-example", {"ranks": "computed, exact", "algorithm": "hvlb-cc-b"}, later("same", -1)),
    ],
)
def test_a_single_miss_breaks_a_statement(
    name: str, chosen: Mapping[str, object], change: Change, quick_run: QuickRun
) -> None:
    before = [claim.verdict for claim in quick_run.findings(name).claims]
    found = STUDIES[name].analyse(corrupted(quick_run.rows(name), chosen, change))
    after = [claim.verdict for claim in found.claims]
    assert after.count(Verdict.DIFFERS) > before.count(Verdict.DIFFERS)
