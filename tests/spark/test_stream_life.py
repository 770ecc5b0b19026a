"""The life of a stream with a state: what it tells, delayed uploads, and a query that changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.cli.running import headway

from headway.compiler import compile_query
from headway.errors import FileError
from headway.files import parse_query
from headway.model.plan import Plan
from headway.model.quantities import SECOND
from headway.spark.spark_results import SparkRun
from headway.spark.streams.run_metrics import BatchMetrics
from headway.spark.streams.stream_run import StreamRun

QUERY = """
query: watch
sources: {speed: {schema: {v: double}, rate: 10 per 1 s}}
operators:
  fast: {filter: v > 30, from: speed}
  sums: {aggregate: {v: sum(v)}, window: 10 s, from: fast}
outputs: {total: {from: sums, deadline: 2 s}}
"""
BEGIN = 1_767_225_600
DAY = 86_400


def plan_of(*changes: tuple[str, str]) -> Plan:
    text = QUERY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return compile_query(parse_query(text).query)


def write(given: Path, name: str, day: int, values: dict[int, float]) -> None:
    """A file with readings of one vehicle by second of the day, in the order of their arrival."""
    rows, arrived = [], 0
    for second, value in values.items():
        arrived = max(arrived, second)
        times = [1_000_000 * (BEGIN + DAY * day + one) for one in (second, arrived)]
        rows.append(f"{times[0]},{times[1]},{value},car")
    (given / "speed").mkdir(parents=True, exist_ok=True)
    path = given / "speed" / f"{name}.csv"
    path.write_text("\n".join(["timestamp,arrived_at,v,vehicle", *rows, ""]))


def run(spark: SparkSession, folder: Path, plan: Plan | None = None, **options: Any) -> SparkRun:
    return StreamRun(
        spark,
        plan or plan_of(),
        folder / "in",
        folder / "out",
        checkpoint=folder / "mark",
        available_now=True,
        late_ok=True,
        **options,
    ).run()


def totals(folder: Path, output: str = "out") -> dict[tuple[int, int], float]:
    """(day, second) of a window's first tuple -> its sum"""
    table = pq.read_table(folder / output / "total.parquet")
    times = [int(one.timestamp()) - BEGIN for one in table["timestamp"].to_pylist()]
    return {divmod(at, DAY): v for at, v in zip(times, table["v"].to_pylist(), strict=True)}


def descriptions(spark: SparkSession) -> set[str]:
    """What Spark's page says of its jobs."""
    jobs: Any = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = [jobs.apply(place).description() for place in range(jobs.size())]
    return {one.get() for one in found if one.isDefined()}


def test_what_a_stream_tells_of_its_batches(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 0, {1: 40.0, 2: 41.0, 15: 50.0, 3: 42.0})
    told: list[BatchMetrics] = []
    run(spark, tmp_path, on_metrics=told.append)
    last = told[-1].data()
    assert last["headway.query"] == "watch"
    assert last["headway.late"] == 1, "42.0 came after the window's end"
    assert last["headway.total.tuples"] == 2
    assert last["headway.total.deadline_ms"] == 2000
    assert last["headway.total.judged"] == last["headway.total.misses"] == 0, "a replay"
    assert told[0].data()["headway.vehicles"] == 1
    shown = descriptions(spark)
    assert "headway watch: batch 0, output total" in shown
    assert "headway watch: end of the input, output total" in shown


def test_a_delayed_upload_is_late_or_one_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    for name, gap in (("late", None), ("apart", 3600 * SECOND)):
        folder = tmp_path / name
        write(folder / "in", "today", 1, {1: 40.0, 2: 50.0, 31: 60.0})
        run(spark, folder, upload_gap=gap)
        write(folder / "in", "yesterday", 0, {1: 31.0, 2: 32.0, 41: 33.0})
        outcome = run(spark, folder, upload_gap=gap)
        today = {(1, 1): 90.0, (1, 31): 60.0}
        if gap is None:
            assert totals(folder) == today
            assert outcome.dropped("late") == 3
        else:
            assert totals(folder) == {**today, (0, 1): 63.0, (0, 41): 33.0}
            assert outcome.dropped("late") == 0
    query = tmp_path / "query.yaml"
    query.write_text(QUERY)
    days = [(folder / "in" / "speed" / f"{day}.csv").read_text() for day in ("yesterday", "today")]
    (folder / "one").mkdir()
    joined = days[0] + days[1].partition("\n")[2]
    (folder / "one" / "speed.csv").write_text(joined)
    ways = {
        "vehicle": ("--engine", "vehicle", "--input", folder / "one"),
        "batch": ("--master", "local[2]", "--input", folder / "in"),
    }
    for way, options in ways.items():
        done = headway("run", query, *options, "--output", folder / way)
        assert done.exit_code < 2, done.output  # 1: windows of the car close too late for 2 s
        assert totals(folder, way) == totals(folder), "a batch sees both days at once"
    with pytest.raises(FileError, match="the checkpoint is of another upload gap; got none"):
        run(spark, tmp_path / "apart")


def test_an_adopted_threshold_goes_on_with_the_state(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 0, {1: 40.0, 2: 31.0})
    run(spark, tmp_path)
    assert totals(tmp_path) == {(0, 1): 71.0}, "what the end closed"
    write(tmp_path / "in", "b", 0, {3: 35.0, 4: 100.0})
    outcome = run(spark, tmp_path, plan_of(("v > 30", "v > 50")), adopt=True)
    assert totals(tmp_path) == {(0, 1): 171.0}, "the window was open, 35.0 is no longer fast"
    assert "adopted from here on: operators.fast.where: v > 30 -> v > 50" in outcome.notes


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        (
            [
                ("  sums:", "  quick: {filter: v > 90, from: fast}\n"
                 "  most: {aggregate: {v: max(v)}, window: 10 s, from: quick}\n  sums:"),
                ("outputs: {", "outputs: {most: {from: most, deadline: 2 s}, "),
            ],
            {(0, 1): 206.0},
        ),
        ([("rate: 10 per 1 s", "rate: 10 per 1 s, lateness: 1 s")], {(0, 1): 206.0}),
    ],
)  # fmt: skip
def test_states_are_taken_up_by_a_query_with_more(
    spark: SparkSession, tmp_path: Path, changes: list[tuple[str, str]], wanted: object
) -> None:
    write(tmp_path / "in", "a", 0, {1: 40.0, 2: 31.0})
    run(spark, tmp_path)
    write(tmp_path / "in", "b", 0, {3: 35.0, 4: 100.0})
    changed = plan_of(*changes)
    run(spark, tmp_path, changed, adopt=True)
    assert totals(tmp_path) == wanted
    if "most" in str(changes):
        most = pq.read_table(tmp_path / "out" / "most.parquet")
        assert most["v"].to_pylist() == [100.0], "it began with the second file"
    write(tmp_path / "in", "c", 0, {5: 60.0, 21: 70.0})
    run(spark, tmp_path, changed)
    assert totals(tmp_path) == {(0, 1): 266.0, (0, 21): 70.0}
