"""`headway reproduce`: restarts, determinism, failures that are told, bad input."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.cli.running import headway

from headway.drive.collision_warning import example
from headway.report import chart_pages
from headway.report.chart_pages import ZOOM
from headway.report.charts import HEIGHT, WIDTH
from headway_studies import cell_store, reproduction, run_studies
from headway_studies.cell_store import ABOVE, CODE_FILE, OURS_ABOVE, CellStore, code_fingerprint
from headway_studies.independent_work import run_pieces
from headway_studies.provenance import PRINTED, Origin, Provenance, assumed, changed, fitted
from headway_studies.registry import OURS, STUDIES, study_named
from headway_studies.report_files import by_origin, counted_by_origin
from headway_studies.run_studies import (
    Reproduced,
    prepare,
    reproduce,
    run_here,
    run_on_spark,
)
from headway_studies.study import (
    Cell,
    CellWork,
    Claim,
    Findings,
    Paper,
    Row,
    Study,
    Verdict,
    beyond,
    numbers,
    stated,
    works_of,
)
from headway_studies.study_charts import Picture, box

BASIC = STUDIES["basic"]


def store_in(folder: Path) -> CellStore:
    store = CellStore(folder)
    store.open()
    return store


def rows_file(folder: Path) -> bytes:
    return (folder / "basic" / "rows.parquet").read_bytes()


def undisturbed(folder: Path) -> bytes:
    reproduce(prepare(store_in(folder), [BASIC], quick=True), run_here)
    return rows_file(folder)


def test_spark_and_one_process_give_the_same_bytes(spark: SparkSession, tmp_path: Path) -> None:
    done: list[CellWork] = []
    prepared = prepare(store_in(tmp_path / "spark"), [BASIC], quick=True)
    (found,) = reproduce(prepared, partial(run_on_spark, partial(run_pieces, spark)), done.append)
    assert rows_file(tmp_path / "spark") == undisturbed(tmp_path / "plain")
    assert len(set(done)) == len(done) == found.cells == found.computed == len(BASIC.cells(True))


def test_finished_cells_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = undisturbed(tmp_path)

    def never(name: str) -> Study:
        raise AssertionError(f"{name} was run again")

    monkeypatch.setattr(run_studies, "study_named", never)
    (found,) = reproduce(prepare(store_in(tmp_path), [BASIC], quick=True), run_here)
    assert (found.computed, rows_file(tmp_path)) == (0, before)


def failing(cell: Cell) -> list[Row]:
    if cell["number"] == 1:
        raise ZeroDivisionError("one is too many")
    return [{"number": cell["number"]}]


def fine(cell: Cell) -> list[Row]:
    return [{"number": cell["number"]}]


FAILING = Study(
    name="failing",
    paper=Paper.NONE,
    figures=(),
    title="One of three cells fails",
    seconds=1,
    cells=lambda _: [{"number": number} for number in range(3)],
    run=failing,
    analyse=lambda rows: Findings(claims=()),
)


def test_a_cell_that_fails_is_named_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OURS, "failing", FAILING)
    outcome = headway("reproduce", "failing", "basic", "--plain", "--quick", "--out", tmp_path)
    assert outcome.exit_code == 1
    assert '{"number": 1}' in outcome.stderr
    assert "one is too many" in outcome.stderr
    assert "test_reproduce.py" in outcome.stderr
    assert len(list((tmp_path / "failing" / "cells").glob("*.parquet"))) == 2
    verdicts = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    assert [one["claims"] is None for one in verdicts] == [True, False]


def test_rows_that_cannot_be_analysed_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One study's fault does not take the report of the others with it."""

    def analyse(rows: Sequence[Row]) -> Findings:
        raise KeyError("colour")

    wrong = replace(FAILING, name="wrong", run=fine, analyse=analyse)
    monkeypatch.setitem(OURS, "wrong", wrong)
    outcome = headway("reproduce", "wrong", "basic", "--plain", "--quick", "--out", tmp_path)
    assert outcome.exit_code == 1
    told = "study wrong: its rows could not be analysed: KeyError: 'colour' (test_reproduce.py"
    assert told in outcome.stderr
    assert "wrong failed" in outcome.stdout
    verdicts = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    assert [one["claims"] is None for one in verdicts] == [True, False]
    assert "colour" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_cells_of_other_code_are_refused(tmp_path: Path) -> None:
    undisturbed(tmp_path)
    (tmp_path / CODE_FILE).write_text(json.dumps({"code": "older"}), encoding="utf-8")
    refused = headway("reproduce", "basic", "--plain", "--out", tmp_path)
    assert refused.exit_code == 2
    assert "another version" in refused.stderr
    assert len(list((tmp_path / "basic" / "cells").glob("*"))) == len(BASIC.cells(True))
    assert headway("reproduce", "basic", "--plain", "--force", "--out", tmp_path).exit_code == 0


def test_a_study_that_cannot_run_here_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`all` goes on without it; by name it is an error; cells finished elsewhere are enough."""
    lacking = replace(FAILING, name="lacking", run=fine, lacks=lambda: "no recording: set DRIVE")
    monkeypatch.setattr(reproduction, "STUDIES", {"lacking": lacking, "basic": BASIC})
    monkeypatch.setitem(OURS, "lacking", lacking)
    outcome = headway("reproduce", "all", "--plain", "--quick", "--out", tmp_path)
    assert outcome.exit_code == 0
    assert "lacking not run here: no recording: set DRIVE" in " ".join(outcome.stdout.split())
    verdicts = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    assert [(one["lacks"], one["claims"] is None) for one in verdicts] == [
        ("no recording: set DRIVE", True),
        (None, False),
    ]
    assert "no recording: set DRIVE" in (tmp_path / "report.html").read_text(encoding="utf-8")

    refused = headway("reproduce", "lacking", "--plain", "--quick", "--out", tmp_path)
    assert refused.exit_code == 2
    assert "study lacking: no recording: set DRIVE" in refused.stderr
    assert "cannot run here" in headway("reproduce", "--list", "lacking").stdout
    mark = tmp_path / CODE_FILE
    older = mark.read_text(encoding="utf-8").replace(code_fingerprint(), "older")
    mark.write_text(older, encoding="utf-8")
    command = ("reproduce", "lacking", "--plain", "--quick", "--force", "--out")
    assert headway(*command, tmp_path).exit_code == 2
    assert mark.read_text(encoding="utf-8") == older  # nothing was thrown away
    assert len(list((tmp_path / "basic" / "cells").iterdir())) == len(BASIC.cells(True))
    assert headway(*command, tmp_path / "none").exit_code == 2
    assert not (tmp_path / "none").exists()
    mark.write_text(json.dumps({"code": code_fingerprint()}), encoding="utf-8")

    store = store_in(tmp_path)
    for work in works_of(lacking, quick=True):
        store.write(work, [{"number": work.place}])
    (found,) = reproduce(prepare(store, [lacking], quick=True), run_here)
    assert (found.computed, found.lacks, found.findings) == (0, None, Findings(claims=()))


def test_rows_of_several_kinds_keep_their_columns(tmp_path: Path) -> None:
    """One cell may give rows of one kind after rows of another."""
    store = store_in(tmp_path)
    works = works_of(FAILING, quick=True)
    for work in works:
        store.write(work, [{"kind": "a", "x": 1.5}, {"kind": "b", "y": work.place}])
    rows = store.merge(FAILING.name, works)
    assert [row["y"] for row in rows if row["kind"] == "b"] == [0, 1, 2]
    assert [row["x"] for row in rows if row["kind"] == "a"] == [1.5] * 3


def test_a_damaged_cell_is_named(tmp_path: Path) -> None:
    undisturbed(tmp_path)
    damaged = min((tmp_path / "basic" / "cells").glob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    outcome = headway("reproduce", "basic", "--plain", "--quick", "--out", tmp_path)
    assert outcome.exit_code == 2
    assert damaged.name in outcome.stderr
    assert "delete it" in outcome.stderr
    damaged.unlink()
    assert headway("reproduce", "basic", "--plain", "--quick", "--out", tmp_path).exit_code == 0


def test_timings_are_those_of_all_cells_whenever_they_were_run(tmp_path: Path) -> None:
    command = ("reproduce", "basic", "--plain", "--quick", "--out", tmp_path)

    def told() -> float:
        assert headway(*command).exit_code == 0
        timings = json.loads((tmp_path / "timings.json").read_text(encoding="utf-8"))
        return float(timings["basic"])

    first = told()
    assert first > 0
    assert told() == first
    store, works = store_in(tmp_path), works_of(BASIC, quick=True)
    store.write(works[0], BASIC.run(works[0].parameters()), seconds=1000.0)
    assert 1000 <= told() == pytest.approx(sum(map(store.seconds, works)), abs=0.01)


def basic_pictures(folder: Path) -> Sequence[Picture]:
    (found,) = reproduce(prepare(store_in(folder), [BASIC], quick=True), run_here)
    assert found.findings
    return found.findings.pictures


def test_pictures_as_png(tmp_path: Path) -> None:
    outcome = headway("reproduce", "basic", "--plain", "--quick", "--png", "--out", tmp_path)
    assert outcome.exit_code == 0
    pictures = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert pictures == [f"basic-{place}.png" for place in range(1, 5)]
    tables = (tmp_path / "verdicts.md").read_text(encoding="utf-8")
    assert [line for line in tables.splitlines() if line.startswith("![")] == [
        f"![{picture.title}](pictures/{name})"
        for name, picture in zip(pictures, basic_pictures(tmp_path), strict=True)
    ]
    head = (tmp_path / "pictures" / "basic-1.png").read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    width, height = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    assert ZOOM * WIDTH <= width < ZOOM * 1.3 * WIDTH
    assert height > ZOOM * HEIGHT


def test_what_draws_is_looked_for_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart_pages, "find_spec", lambda _: None)
    outcome = headway("reproduce", "basic", "--plain", "--out", tmp_path / "none")
    assert outcome.exit_code == 2
    assert "headway[plot]" in outcome.stderr
    assert not (tmp_path / "none").exists()


def test_cells_cannot_run_code_that_the_fingerprint_leaves_out() -> None:
    """Another process imports every study: of the layers above it sees what charts are, not how
    they are drawn."""
    program = (
        "import sys, headway_studies.registry\n"
        "print(*[name for name in sys.modules if name.startswith('headway')])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout.split()
    assert "headway_studies.registry" in loaded
    above = [name for name in loaded if name.startswith("headway.") and name.split(".")[1] in ABOVE]
    assert sorted(above) == ["headway.report", "headway.report.charts"]
    left_out = {file.removesuffix(".py") for file in OURS_ABOVE}
    assert not {name.removeprefix("headway_studies.") for name in loaded} & left_out


def test_cells_of_another_query_are_other_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(example("query.yaml").parent, tmp_path / "example")
    monkeypatch.setattr(cell_store, "example", folder.joinpath)
    assert code_fingerprint.__wrapped__() == code_fingerprint()
    vehicle = folder / "vehicle.yaml"
    vehicle.write_text(vehicle.read_text(encoding="utf-8") + "# faster\n", encoding="utf-8")
    assert code_fingerprint.__wrapped__() != code_fingerprint()


def test_bad_input(tmp_path: Path) -> None:
    unknown = headway("reproduce", "figure99", "--out", tmp_path / "none")
    assert unknown.exit_code == 2
    assert "there is no study `figure99`" in unknown.stderr
    assert "basic" in unknown.stderr
    assert not (tmp_path / "none").exists()
    master = headway("reproduce", "basic", "--master", "sparkle", "--out", tmp_path / "none")
    assert master.exit_code == 2
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert headway("reproduce", "basic", "--plain", "--out", tmp_path / "file").exit_code == 2


def test_the_list_names_every_study() -> None:
    listed = json.loads(headway("reproduce", "--list", "--json").stdout)
    assert [one["name"] for one in listed] == list(STUDIES)
    shown = headway("reproduce", "--list").stdout
    assert all(name in shown for name in STUDIES)


def test_a_broken_study_of_another_package_is_named_and_harms_nobody(tmp_path: Path) -> None:
    info = tmp_path / "half_done-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: half-done\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[headway.studies]\nhalf = no_such_module:STUDY\nother = headway_studies.registry:OURS\n"
    )

    def listed(*names: str) -> subprocess.CompletedProcess[str]:
        paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
        return subprocess.run(
            [sys.executable, "-m", "headway", "reproduce", *names, "--list", "--json"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            check=False,
        )

    every = listed()
    assert every.returncode == 0
    assert [one["name"] for one in json.loads(every.stdout)] == list(STUDIES)
    half, other = every.stderr.splitlines()
    assert "the study 'half' of the package half-done cannot be loaded: ModuleNotFound" in half
    assert "the study 'other' of the package half-done does not derive from headway_stu" in other
    refused = listed("basic", "half")
    assert refused.returncode == 2
    (problem,) = json.loads(refused.stdout)["problems"]
    assert problem["what"].startswith("the study 'half' of the package half-done cannot be loaded")
    assert problem["want"] == "correct or uninstall half-done, or choose another study"


def test_two_equal_cells_are_a_fault_of_the_study() -> None:
    twice = Study(**{**FAILING.__dict__, "cells": lambda _: [{"n": 1}, {"n": 1}]})
    with pytest.raises(ValueError, match="two cells are the same"):
        works_of(twice, quick=True)


def test_a_difference_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="must say why"):
        Claim(figure="figure 1", published="a", ours="b", verdict=Verdict.DIFFERS, came=PRINTED)


def test_a_provenance_says_what_is_not_from_the_paper() -> None:
    for wrong in (
        {"origin": Origin.ASSUMED},
        {"origin": Origin.PRINTED, "told": "a cost"},
        {"origin": Origin.FITTED, "told": "a cost"},
        {"origin": Origin.CHANGED, "told": "a rule", "tried": "another"},
    ):
        with pytest.raises(ValueError, match="provenance"):
            Provenance(**wrong)
    assert PRINTED.words == "printed"
    assert fitted("2 ms", tried="1 and 3 ms").words == "fitted: 2 ms (tried: 1 and 3 ms)"


def test_what_no_paper_says_is_not_counted_beside_the_papers() -> None:
    found = Reproduced(
        study=FAILING, cells=1, computed=0, failed=(), findings=Findings(claims=(
            numbers("a", "1", "1", came=PRINTED, equal=True),
            stated("b", "more", "less", came=changed("a rule"), holds=False, why="so"),
            beyond("c", "how many?", "two", came=assumed("a load")),
        )),
    )  # fmt: skip
    assert counted_by_origin([found]) == "of 2 beside the papers 1 printed, 1 changed"
    assert [row[-1] for row in by_origin([found]).rows] == ["1", "0", "1", "0"]
    assert counted_by_origin([]) == ""


def test_five_numbers_of_a_sample() -> None:
    found = box("x", [4.0, 1.0, 3.0, 2.0, 10.0])
    assert (found.least, found.lower, found.median, found.upper, found.greatest) == (1, 2, 3, 4, 10)


def test_study_named() -> None:
    assert study_named("basic") is BASIC
    assert os.fspath(CellStore(Path("x")).path(works_of(BASIC, quick=True)[0])).startswith(
        "x/basic"
    )
