"""What the footers of a source's files tell before any tuple is read, held against the tuples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from headway.model.query import Source
from headway.model.schema import DataType, Field, Schema
from headway.spark.lowering.given_sources import fits, in_order
from headway.spark.lowering.source_questions import KnownTuples, SourceQuestions
from headway.spark.sources.recorded_files import Recording, read_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPEED = Source(name="speed", schema=Schema(fields=(Field("v", DataType.DOUBLE),)), lateness=1000)
MOMENT = pa.timestamp("us", tz="UTC")
Times = list[int | None]


def file(folder: Path, times: Times, arrived: Times | None = None, **how: Any) -> None:
    (folder / "speed").mkdir(exist_ok=True)
    kind = how.pop("kind", MOMENT)
    columns = {"timestamp": pa.array(times, pa.int64()).cast(kind), "v": [1.0] * len(times)}
    if arrived is not None:
        columns["arrived_at"] = pa.array(arrived, MOMENT)
    count = len(list((folder / "speed").iterdir()))
    pq.write_table(pa.table(columns), folder / "speed" / f"{count}.parquet", **how)


def answers(recording: Recording, known: dict[str, KnownTuples]) -> dict[str, bool]:
    data = {"speed": in_order(recording["speed"], SPEED)}
    questions = SourceQuestions(data, known)
    told = questions.known_of("speed")
    questions.ask("speed", "misfit", ~F.expr(fits(SPEED)), told.misfits(SPEED))
    for since in (30, 31):
        young = F.unix_micros("timestamp") >= since
        questions.ask("speed", f"since {since}", young, told.any_since(since))
    return {what: questions.any("speed", what) for what in ("misfit", "since 30", "since 31")}


@pytest.mark.parametrize("newest", [(30, 20), (None, 30)], ids=["all timed", "a gap"])
def test_footers_answer_as_the_tuples_do(
    spark: SparkSession, tmp_path: Path, newest: tuple[int | None, int]
) -> None:
    file(tmp_path, [10, 20, newest[0], 5], [11, 21, 31, 6], row_group_size=2)
    file(tmp_path, [newest[1], 7], kind=pa.int64())
    file(tmp_path, [])
    found = read_batch(spark, tmp_path, [SPEED])
    assert found.known["speed"] == KnownTuples(6, newest[0] is not None, 30, delayed=True)
    assert found.rows == 6
    assert answers(found, found.known) == answers(found, {})


def test_what_footers_leave_open(spark: SparkSession, tmp_path: Path) -> None:
    file(tmp_path, [10, 20])
    file(tmp_path, [30], write_statistics=False)
    found = read_batch(spark, tmp_path, [SPEED])
    assert found.known["speed"] == KnownTuples(3, None, None, delayed=False)
    assert answers(found, found.known) == {"misfit": False, "since 30": True, "since 31": False}


def test_nobody_keeps_the_longest_text() -> None:
    text = Field("t", DataType.STRING, length=3)
    source = Source(name="s", schema=Schema(fields=(text,)))
    assert KnownTuples(1, timed=True).misfits(source) is None


def test_without_tuples_there_is_no_question(spark: SparkSession, tmp_path: Path) -> None:
    file(tmp_path, [])
    found = read_batch(spark, tmp_path, [SPEED])
    known = found.known["speed"]
    assert (known.any_since(0), known.misfits(SPEED), known.late()) == (False, False, False)


def test_a_column_of_arrivals_without_one(spark: SparkSession, tmp_path: Path) -> None:
    file(tmp_path, [10, 20], [None, None])
    assert read_batch(spark, tmp_path, [SPEED]).known["speed"].late() is False


def test_places_that_nobody_wants_are_not_computed(spark: SparkSession, tmp_path: Path) -> None:
    """Naming one column of a file's metadata makes Spark compute all of them."""
    file(tmp_path, [10, 20])
    for placed in ({"speed"}, set[str]()):
        data = read_batch(spark, tmp_path, [SPEED], placed=placed)["speed"]
        plan = str(data.where("v > 0").select("v")._jdf.queryExecution().executedPlan())
        assert ("row_index" in plan) is bool(placed)


def test_texts_say_nothing(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "speed.csv").write_text("timestamp,v\n10,1.0\n")
    found = read_batch(spark, tmp_path, [SPEED])
    assert (found.known, found.rows) == ({}, None)
