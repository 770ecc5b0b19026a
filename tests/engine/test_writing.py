"""Results as files: exact columns, names that collide, rows that are no JSON, folders."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.engine.support import run

from headway.compiler import compile_query
from headway.engine.jobs import Arrival
from headway.engine.operators.operator_base import DropKind, Dropped
from headway.engine.result_tables import RunWriter, output_table, side_table
from headway.engine.results import (
    OutputRecord,
    RunResult,
    SideOutput,
    Totals,
    VehicleRun,
    summary_data,
)
from headway.engine.run_folder import RunFolder, files_of_run
from headway.errors import FileError
from headway.files import parse_query
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND
from headway.model.schema import schema

QUERY = """
query: writing
sources:
  speed: {schema: {v: double}, rate: 1 per 10 ms}
operators:
  fast: {filter: v > 30, from: speed, cost: 1 ms}
outputs:
  late: {from: fast, deadline: 5 ms}
"""


def plan_and_result(v: float = 31.0) -> tuple[Plan, RunResult]:
    plan = compile_query(parse_query(QUERY).query)
    arrivals = [Arrival(10 * MILLISECOND * i, "speed", (10_000 * i, v)) for i in range(3)]
    return plan, run(plan, arrivals)


def at(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)


def test_an_output_says_how_it_stood_to_its_deadline() -> None:
    """The first tuple is completed on its deadline, the second one nanosecond after it."""
    record = OutputRecord("alarm", 1_500, 1.0, True, [(7, 1.5), (8, None)], [8_500, 9_501])
    assert output_table(record, schema(v="double")).to_pylist() == [
        {
            "timestamp": at(7),
            "v": 1.5,
            "deadline": at(8),
            "completed": at(9),
            "latency": 1_500,
            "missed": False,
        },
        {
            "timestamp": at(8),
            "v": None,
            "deadline": at(9),
            "completed": at(10),
            "latency": 1_501,
            "missed": True,
        },
    ]


def test_columns_of_the_query_keep_their_names() -> None:
    record = OutputRecord("alarm", 0, 1.0, True, [(7, True, 1)], [7_000])
    table = output_table(record, schema(missed="boolean", missed_="int"))
    assert table.column_names == [
        *("timestamp", "missed", "missed_"),
        *("deadline", "completed", "latency", "missed__"),
    ]


def test_outputs_keep_their_names(tmp_path: Path) -> None:
    plan, result = plan_and_result()
    with RunFolder(tmp_path / "out") as folder:
        writer = RunWriter(folder, plan, named=True, traced=True)
        for vehicle in ("a", "b"):
            writer.add(VehicleRun(vehicle, result))
        writer.close()
    table = pq.read_table(tmp_path / "out" / "late.parquet")
    assert table["vehicle"].to_pylist() == ["a", "a", "a", "b", "b", "b"]
    assert pq.read_table(tmp_path / "out" / "late_.parquet").num_rows == 0
    trace = pq.read_table(tmp_path / "out" / "trace.parquet").to_pylist()
    assert [(row["kind"], row["operators"]) for row in trace[:2]] == [
        ("run", ["fast"]),
        ("output", None),
    ]


def test_dropped_rows_are_json_whatever_is_in_them() -> None:
    plan, _ = plan_and_result()
    rows = [(1, float("nan")), (2, -float("inf")), (1 << 70, b"x"), ("odd",), ()]
    side = SideOutput([(1_000, Dropped("speed", DropKind.REJECTED, row, "why")) for row in rows])
    side.dropped.append((2_000, Dropped("fast", DropKind.FAILED, (3, 4.0), "why")))
    found = side_table(side, DropKind.REJECTED, plan).to_pylist()
    assert [json.loads(row["row"]) for row in found] == [
        {"timestamp": 1, "v": "nan"},
        {"timestamp": 2, "v": "-inf"},
        {"timestamp": 1 << 70, "v": "b'x'"},
        ["odd"],
        [],
    ]
    assert [row["timestamp"] for row in found] == [at(1), at(2), None, None, None]
    (failed,) = side_table(side, DropKind.FAILED, plan).to_pylist()
    assert json.loads(failed["row"]) == {"timestamp": 3, "v": 4.0}
    assert failed["time"] == at(2)


def test_totals_are_over_all_tuples_of_all_vehicles() -> None:
    totals = Totals()
    for vehicle in ("a", "b"):
        totals.add(VehicleRun(vehicle, plan_and_result()[1]))
    data = summary_data(totals.summary)
    assert (data["arrived"], data["decisions"], data["miss_ratio"]) == (6, 6, 0.0)
    assert data["outputs"][0]["tuples"] == 6
    assert data["outputs"][0]["latency_99_ns"] == MILLISECOND
    assert totals.hard_misses == []


def test_an_empty_output_has_no_latency() -> None:
    totals = Totals()
    totals.add(VehicleRun(None, plan_and_result(v=3.0)[1]))
    (output,) = totals.summary.outputs
    assert (output.tuples, output.latency_max, output.miss_ratio) == (0, 0, 0.0)


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    def fail() -> None:
        with RunFolder(tmp_path / "deep" / "out") as folder:
            folder.write_text("summary.json", "{}")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not (tmp_path / "deep" / "out").exists()
    with RunFolder(tmp_path / "deep" / "out") as folder:
        folder.write_text("summary.json", "{}")
        names = sorted(path.name for path in folder.folder.iterdir())
        assert names == ["_headway.part", "summary.json.part"]
    (summary,) = (tmp_path / "deep" / "out").iterdir()
    assert (summary.name, summary.read_text()) == ("summary.json", "{}")
    with pytest.raises(FileError, match=r"not empty; got summary\.json; name another one"):
        RunFolder(tmp_path / "deep" / "out")


def test_an_earlier_summary_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    summary, mark = tmp_path / "summary.json", '"written_by": "headway"'
    for text in ("", "[]", '{"files": 3}', "{}", '{"files": ["../x", "/etc/passwd", "..", 1]}'):
        summary.write_text(text.replace("}", f", {mark}}}"))
        assert files_of_run(summary) == []
    summary.write_text(f'{{"files": ["a.parquet", "../b", "."], {mark}}}')
    assert files_of_run(summary) == ["a.parquet"]


# ---------------------------------------------------------------- what is not Headway's


def results(folder: Path, *names: str, force: bool = False) -> None:
    with RunFolder(folder, force=force) as run:
        for name in names:
            run.write_text(name, "result")
        run.write_summary({})


def contents(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def test_a_foreign_summary_is_not_believed(tmp_path: Path) -> None:
    """It lists files, as summaries of many programs do; nothing of them is touched."""
    listed = {"thesis.txt": "years", "summary.json": '{"files": ["thesis.txt", "summary.json"]}'}
    for name, text in listed.items():
        (tmp_path / name).write_text(text)
    assert files_of_run(tmp_path / "summary.json") == []
    with pytest.raises(FileError, match=r"summary\.json: here lies something that no run of Head"):
        results(tmp_path, "alarm.parquet", force=True)
    assert contents(tmp_path) == listed


def test_force_replaces_only_what_an_earlier_run_wrote(tmp_path: Path) -> None:
    results(tmp_path, "old.parquet", "both.parquet")
    (tmp_path / "mine.parquet").write_text("mine")
    results(tmp_path, "both.parquet", force=True)
    assert set(contents(tmp_path)) == {"both.parquet", "summary.json", "mine.parquet"}
    with pytest.raises(FileError, match=r"mine\.parquet: here lies something .*; move it away"):
        results(tmp_path, "new.parquet", "mine.parquet", force=True)
    assert set(contents(tmp_path)) == {"both.parquet", "summary.json", "mine.parquet"}
    assert contents(tmp_path)["mine.parquet"] == "mine"


@pytest.mark.parametrize("force", [False, True])
def test_a_foreign_part_is_never_deleted(tmp_path: Path, force: bool) -> None:
    foreign = tmp_path / "late.parquet.part"
    foreign.mkdir()
    (foreign / "data").write_text("mine")
    (tmp_path / "film.part").write_text("downloading")
    before = contents(tmp_path)
    with pytest.raises(FileError, match=r"late\.parquet\.part: here lies something that no run"):
        results(tmp_path, "early.parquet", "late.parquet", force=force)
    assert contents(tmp_path) == before
    results(tmp_path, "other.parquet", force=force)
    assert before.items() <= contents(tmp_path).items()


@pytest.mark.parametrize("text", ["mine", "{}\n", '["late.parquet"]\n', '"late.parquet"\n'])
def test_a_foreign_journal_is_not_believed(tmp_path: Path, text: str) -> None:
    (tmp_path / "_headway.part").write_text(text)
    (tmp_path / "late.parquet.part").write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(FileError, match=r"_headway\.part: here lies something that no run"):
        results(tmp_path, "late.parquet")
    assert contents(tmp_path) == before


def test_a_journal_elsewhere_is_not_written_to(tmp_path: Path) -> None:
    target, out = tmp_path / "profile", tmp_path / "out"
    target.write_text(json.dumps({"written_by": "headway"}) + "\n")
    out.mkdir()
    (out / "_headway.part").symlink_to(target)
    with pytest.raises(FileError, match=r"_headway\.part: here lies something that no run"):
        results(out, "late.parquet")
    assert target.read_text() == json.dumps({"written_by": "headway"}) + "\n"


class Killed(BaseException):
    """Stands for the end of the process: nothing is cleaned up after it."""


def test_parts_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    killed = RunFolder(tmp_path)
    killed.part("big.parquet").mkdir()
    killed.part("late.parquet").write_text("half")
    results(tmp_path, "late.parquet")  # needs no --force: there are no results
    assert set(contents(tmp_path)) == {"late.parquet", "summary.json"}
    assert not (tmp_path / "big.parquet.part").exists()


def test_a_run_that_was_killed_while_renaming_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rename(path: Path, target: Path) -> Path:
        if path.name == "b.parquet.part":
            raise Killed
        path.rename(target)
        return target

    monkeypatch.setattr(Path, "replace", rename)
    with pytest.raises(Killed):
        results(tmp_path, "a.parquet", "b.parquet")
    monkeypatch.undo()
    assert set(contents(tmp_path)) == {
        *("_headway.part", "a.parquet", "b.parquet.part", "summary.json.part")
    }
    with pytest.raises(FileError, match="not empty"):
        results(tmp_path, "a.parquet")
    results(tmp_path, "a.parquet", "c.parquet", force=True)
    assert set(contents(tmp_path)) == {"a.parquet", "c.parquet", "summary.json"}
