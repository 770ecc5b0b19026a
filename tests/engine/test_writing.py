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
        assert [path.name for path in folder.folder.iterdir()] == ["summary.json.part"]
    assert (tmp_path / "deep" / "out" / "summary.json").read_text() == "{}"
    with pytest.raises(FileError, match=r"not empty; got summary\.json; name another one"):
        RunFolder(tmp_path / "deep" / "out")


def test_an_earlier_summary_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    for text in ("", "[]", '{"files": 3}', "{}", '{"files": ["../x", "/etc/passwd", "..", 1]}'):
        summary.write_text(text)
        assert files_of_run(summary) == []
    summary.write_text('{"files": ["a.parquet", "../b", "."]}')
    assert files_of_run(summary) == ["a.parquet"]
