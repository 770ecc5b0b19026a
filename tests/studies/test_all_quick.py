"""`headway reproduce --quick` on Spark, killed half way and resumed: what it leaves behind."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.cli.running import headway
from tests.studies.quick_run import COMMAND, KILLED, KILLED_AFTER, RUN, QuickRun, cell_files

from headway_studies import run_studies
from headway_studies.cell_store import CellStore
from headway_studies.registry import STUDIES
from headway_studies.run_studies import run_one
from headway_studies.study import NO_REASON, CellWork, Verdict, works_of

DIFFER = Counter(
    {
        ("basic-costs", "figures 9 to 12"): 1,
        ("basic-costs", "section 6.1.1"): 1,
        ("aedsms-example", "figure 2"): 1,
        ("tasks", "table 1, deadlines"): 1,
        ("output1-latency", "figure 16"): 2,
        ("v2v-rates", "figure 17"): 6,
        ("position-error", "figure 21"): 5,
        ("admission", "figures 6 to 8"): 1,
        ("admission", "figure 6"): 1,
        ("admission", "figure 7"): 1,
        ("admission", "figure 8"): 1,
        ("hard-tasks", "figure 9"): 1,
        ("methods", "table 6"): 3,
        ("methods", "theorem 1"): 1,
        ("cities", "section 6.4"): 1,
        ("cities", "figure 17"): 2,
        ("hvlb-tables", "table 2, HPRV of (B)"): 1,
        ("hvlb-example", "figure 5, computed ranks"): 1,
        ("communication", "figure 9"): 2,
        ("failures", "figure 10"): 1,
    }
)
"""how many claims of a figure differ from the papers on the quick grids"""
AGAIN = (
    "sedf-section-2", "sedf-example", "aedsms-example", "er-edf-example", "admission",
    "hvlb-tables", "hvlb-example", "precision", "cores",
)  # fmt: skip
"""studies small enough to be run again as a whole"""
DRIVES = {"output1-latency", "crashes", "tracking"}
"""a cell of these is many drives: test_short_studies.py and test_tracking.py run one of each twice,
on a short drive"""


@pytest.fixture(scope="module")
def verdicts(quick_run: QuickRun) -> dict[str, dict[str, Any]]:
    """What the command wrote, by study."""
    text = (quick_run.folder / "verdicts.json").read_text(encoding="utf-8")
    return {one["name"]: one for one in json.loads(text)}


def test_every_study_was_run(quick_run: QuickRun, verdicts: dict[str, dict[str, Any]]) -> None:
    assert quick_run.code == 0, quick_run.told
    assert list(verdicts) == list(RUN)
    for name, one in verdicts.items():
        assert one["failed"] == []
        assert one["lacks"] is None
        assert one["claims"]
        assert one["cells"] == len(STUDIES[name].cells(True))


def test_the_kill_was_in_the_middle_and_nothing_was_run_twice(quick_run: QuickRun) -> None:
    now = cell_files(quick_run.folder)
    half = [path for path in quick_run.finished if path.is_relative_to(quick_run.folder / KILLED)]
    assert KILLED_AFTER <= len(half) < len(STUDIES[KILLED].cells(True))
    assert KILLED in AGAIN
    assert {path: now[path] for path in quick_run.finished} == quick_run.finished


def test_only_the_known_differences(verdicts: dict[str, dict[str, Any]]) -> None:
    found = [
        (name, claim)
        for name, one in verdicts.items()
        for claim in one["claims"] or ()
        if claim["verdict"] == Verdict.DIFFERS
    ]
    expected = Counter({one: count for one, count in DIFFER.items() if one[0] in RUN})
    assert Counter((name, claim["figure"]) for name, claim in found) == expected
    assert all(claim["why"] not in ("", NO_REASON) for _, claim in found)


def test_a_second_run_computes_nothing_and_says_the_same(
    quick_run: QuickRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(quick_run.folder, tmp_path / "copy")

    def never(folder: Path, work: CellWork) -> None:
        raise AssertionError(f"{work} was run again")

    monkeypatch.setattr(run_studies, "run_one", never)
    before = written(copy)
    outcome = headway(*COMMAND, "--plain", "--out", copy)
    assert outcome.exit_code == 0, outcome.output
    assert written(copy) == before
    assert len(before) > 2 * len(RUN)


def written(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_one_process_without_a_kill_gives_the_same_bytes(
    quick_run: QuickRun, tmp_path: Path
) -> None:
    outcome = headway("reproduce", *AGAIN, "--quick", "--plain", "--out", tmp_path)
    assert outcome.exit_code == 0, outcome.output
    for name in AGAIN:
        rows = (quick_run.folder / name / "rows.parquet").read_bytes()
        assert rows == (tmp_path / name / "rows.parquet").read_bytes()


@pytest.mark.parametrize("name", [name for name in RUN if name not in {*AGAIN, *DRIVES}])
def test_a_cell_gives_the_same_bytes_again(name: str, quick_run: QuickRun, tmp_path: Path) -> None:
    """Those of longer studies: one cell, in this process instead of a Spark worker."""
    study, here = STUDIES[name], CellStore(tmp_path)
    if study.lacks():
        pytest.skip(str(study.lacks()))
    last = works_of(study, quick=True)[-1]
    assert run_one(tmp_path, last).error == ""
    ours, theirs = (
        pq.read_table(store.path(last)).replace_schema_metadata(None)  # how long each took
        for store in (here, CellStore(quick_run.folder))
    )
    assert ours.equals(theirs)
