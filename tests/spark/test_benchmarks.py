"""The benchmarks' own checks: a wrong answer is noticed, and the sums are right."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Any:
    """They are scripts that find each other in their own folder."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("spark_fleet")


@pytest.fixture
def projection(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("spark_projection")


@pytest.mark.parametrize("case", ["map", "window", "join"])
def test_a_wrong_answer_is_noticed(fleet: Any, case: str) -> None:
    given = fleet.Fleet(case, 4_000, 8, 500)
    answer = given.answer()
    assert answer.num_rows > 10
    assert fleet.difference(given, answer, answer) == ""
    assert "instead of" in fleet.difference(given, answer.slice(1), answer)
    doubled = pa.concat_tables([answer, answer.slice(0, 1)])
    assert "instead of" in fleet.difference(given, doubled, answer)
    place = answer.schema.get_field_index("v")
    values = answer["v"].to_pylist()
    values[3] += 0.25
    wrong = answer.set_column(place, "v", pa.array(values))
    assert fleet.difference(given, wrong, answer).startswith("v: ")


def test_files_are_pieces_of_one_fleet(fleet: Any, tmp_path: Path) -> None:
    given = fleet.Fleet("join", 4_000, 8, 500)
    given.write(tmp_path)
    for source in ("speed", "heat"):
        assert len(list((tmp_path / "recording" / source).iterdir())) == given.files == 4
    tables = list(given.pieces("speed"))
    times = [value for table in tables for value in table["timestamp"].cast(pa.int64()).to_pylist()]
    assert times == sorted(times)
    assert len(times) == 2_000


def test_the_projection_adds_up(projection: Any) -> None:
    growth = [
        {"kind": "tasks", "partitions": parts, "rows_out": 1, "cpu_ms": 50 + 2 * parts}
        for parts in (2, 8, 32)
    ] + [{"kind": "rows", "partitions": 0, "rows_out": rows, "cpu_ms": 60} for rows in (10, 1000)]
    driver = projection.DriverCost.of(growth)
    assert driver.fixed == pytest.approx(50)
    assert driver.partition == pytest.approx(2)
    assert driver.million == pytest.approx(0, abs=1e-6)
    one = {"case": "window", "vehicles": 200, "bytes_in": 20, "bytes_out": 5,
           "programs": {"Headway": {"cpu_us": 7.0}}}  # fmt: skip
    wanted = projection.Wanted(10_000, 100, 5.0, 0.7, 1250)
    told = projection.project(one, driver, wanted)
    assert told["cores"] == 10
    assert told["driver_ms"] == pytest.approx(70)
    assert told["megabytes_s"] == pytest.approx(25)
    # (5 s x 0.7 - 50 ms) / 2 ms = 1,725 partitions, of 100,000 rows/s each
    assert told["limits"]["the driver"] == pytest.approx(172.5e6)
    assert next(iter(told["limits"])) == "10 cores"
    assert told["driver_rows_ms"] == pytest.approx(0, abs=1e-3)
    # 10 ms for a million rows: 5 million of them are in a micro-batch.
    told = projection.project(one, projection.DriverCost(50, 2, 10), wanted)
    assert told["driver_ms"] == pytest.approx(120)
    assert told["limits"]["the driver"] == pytest.approx(3450 / (2e-5 + 5e-5))


@pytest.mark.spark
def test_all_programs_give_the_same_answers(tmp_path: Path) -> None:
    """Headway's and those by hand, over a tiny fleet, in one Spark of their own."""
    command = [sys.executable, str(BENCHMARKS / "bench_spark_stream.py"), "map", "window", "join"]
    command += ["fusion", "--inside", "--rows", "2000", "--vehicles", "4", "--rounds", "1"]
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "numbers.json")],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Headway by the quickest of the others") == 4
    assert (tmp_path / "numbers.json").exists()
