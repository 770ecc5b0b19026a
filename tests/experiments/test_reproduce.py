"""`headway reproduce`: restarts, determinism, failures that are told, bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.cli.running import headway

from headway.experiments import run_cells
from headway.experiments.cell_store import CODE_FILE, CellStore
from headway.experiments.findings import Claim, Findings, Verdict, box
from headway.experiments.reproduce import prepare, reproduce
from headway.experiments.run_cells import run_here, run_on_spark
from headway.experiments.studies import STUDIES, study_named
from headway.experiments.study import Cell, Paper, Row, Study, works_of
from headway.spark.cells import run_pieces

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


def test_a_killed_study_goes_on_and_gives_the_same_bytes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "headway.cli", "reproduce", "basic", "--plain"]
    disturbed = tmp_path / "disturbed"
    process = subprocess.Popen([*command, "--out", str(disturbed)], stdout=subprocess.DEVNULL)
    cells = disturbed / "basic" / "cells"
    while not cells.is_dir() or len(list(cells.glob("*.parquet"))) < 3:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = {path: path.stat().st_mtime_ns for path in cells.glob("*.parquet")}
    assert 3 <= len(finished) < len(BASIC.cells(False))

    subprocess.run([*command, "--out", str(disturbed)], check=True, stdout=subprocess.DEVNULL)

    assert rows_file(disturbed) == undisturbed(tmp_path / "undisturbed")
    assert all(path.stat().st_mtime_ns == moment for path, moment in finished.items())


def test_spark_and_one_process_give_the_same_bytes(spark: SparkSession, tmp_path: Path) -> None:
    store, done = store_in(tmp_path / "spark"), 0

    def advance() -> None:
        nonlocal done
        done += 1

    prepared = prepare(store, [BASIC], quick=True)
    (found,) = reproduce(prepared, partial(run_on_spark, partial(run_pieces, spark)), advance)
    assert rows_file(tmp_path / "spark") == undisturbed(tmp_path / "plain")
    assert done == found.cells == found.computed == len(BASIC.cells(True))


def test_finished_cells_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = undisturbed(tmp_path)

    def never(name: str) -> Study:
        raise AssertionError(f"{name} was run again")

    monkeypatch.setattr(run_cells, "study_named", never)
    (found,) = reproduce(prepare(store_in(tmp_path), [BASIC], quick=True), run_here)
    assert (found.computed, rows_file(tmp_path)) == (0, before)


def failing(cell: Cell) -> list[Row]:
    if cell["number"] == 1:
        raise ZeroDivisionError("one is too many")
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
    monkeypatch.setitem(STUDIES, "failing", FAILING)
    outcome = headway("reproduce", "failing", "basic", "--plain", "--quick", "--out", tmp_path)
    assert outcome.exit_code == 1
    assert '{"number": 1}' in outcome.stderr
    assert "one is too many" in outcome.stderr
    assert "test_reproduce.py" in outcome.stderr
    assert len(list((tmp_path / "failing" / "cells").glob("*.parquet"))) == 2
    verdicts = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
    assert [one["claims"] is None for one in verdicts] == [True, False]


def test_cells_of_other_code_are_refused(tmp_path: Path) -> None:
    undisturbed(tmp_path)
    (tmp_path / CODE_FILE).write_text(json.dumps({"code": "older"}), encoding="utf-8")
    refused = headway("reproduce", "basic", "--plain", "--out", tmp_path)
    assert refused.exit_code == 2
    assert "another version" in refused.stderr
    assert len(list((tmp_path / "basic" / "cells").glob("*"))) == len(BASIC.cells(True))
    assert headway("reproduce", "basic", "--plain", "--force", "--out", tmp_path).exit_code == 0


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


def test_two_equal_cells_are_a_fault_of_the_study() -> None:
    twice = Study(**{**FAILING.__dict__, "cells": lambda _: [{"n": 1}, {"n": 1}]})
    with pytest.raises(ValueError, match="two cells are the same"):
        works_of(twice, quick=True)


def test_a_difference_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="must say why"):
        Claim(figure="figure 1", published="a", ours="b", verdict=Verdict.DIFFERS)


def test_five_numbers_of_a_sample() -> None:
    found = box("x", [4.0, 1.0, 3.0, 2.0, 10.0])
    assert (found.least, found.lower, found.median, found.upper, found.greatest) == (1, 2, 3, 4, 10)


def test_study_named() -> None:
    assert study_named("basic") is BASIC
    assert os.fspath(CellStore(Path("x")).path(works_of(BASIC, quick=True)[0])).startswith(
        "x/basic"
    )
