"""Streams in a session of the user's: DataFrames, queries that are started, and what is refused."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from tests.contract.engines import table
from tests.contract.examples import recording_of
from tests.contract.recordings import Answer, Recording, comparable, differences, meaning
from tests.waiting import PATIENCE_S, until

from headway.compiler import compile_query
from headway.errors import DataError, FileError, InputError, UnsupportedError
from headway.files import parse_query
from headway.model.plan import Plan
from headway.spark import stream
from headway.spark.streams.asked_stream import RunningStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERY = """
query: library
sources:
  speed: {schema: {v: "double [m/s]", wheel: bigint}, rate: 1 per 100 ms, delay: 5 ms,
          lateness: 50 ms}
operators:
  moving: {filter: v > 5, from: speed}
  ratio: {map: {r: 100 / wheel, n: wheel}, from: moving}
  mean: {aggregate: {v: avg(v), n: count(*)}, from: moving, by: [wheel], window: 500 ms}
outputs:
  ratio: {from: ratio, deadline: 1 s}
  mean: {from: mean, deadline: 1 s}
"""
"""wheel 0 divides by zero: NULL, also where a session is ANSI"""


@pytest.fixture
def users(spark: SparkSession) -> SparkSession:
    """A session as a user may have it: ANSI, and far from UTC."""
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "true")
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    return session


@pytest.fixture(scope="module")
def plan() -> Plan:
    return compile_query(parse_query(QUERY).query)


@pytest.fixture(scope="module")
def recording(plan: Plan) -> Recording:
    return recording_of(plan.query, random.Random(11), steps=60)


def halves(recording: Recording) -> tuple[Recording, Recording]:
    middle = sorted(one.arrived_at for one in recording.tuples)[len(recording.tuples) // 2]
    return (
        Recording(tuple(one for one in recording.tuples if one.arrived_at <= middle)),
        Recording(tuple(one for one in recording.tuples if one.arrived_at > middle)),
    )


def add_file(plan: Plan, part: Recording, folder: Path, number: int) -> None:
    """``wheel`` is narrower in the files than in the query."""
    folder.mkdir(exist_ok=True)
    found = table(part, plan.query.sources[0])
    place = found.schema.get_field_index("wheel")
    found = found.set_column(place, "wheel", found.column("wheel").cast(pa.int16()))
    path = folder / f"{number}.parquet"
    pa.parquet.write_table(found, folder / f".{number}.part")
    (folder / f".{number}.part").rename(path)
    os.utime(path, (1_600_000_000 + number,) * 2)  # Spark reads the oldest file first


def arriving(session: SparkSession, folder: Path) -> DataFrame:
    schema = session.read.parquet(str(folder)).schema
    reader = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def rows(folder: Path, plan: Plan, output: str) -> Answer:
    """Of files that a stream wrote, by any reader."""
    (stream_name,) = (one.stream for one in plan.query.outputs if one.name == output)
    names = ["vehicle", *(field.name for field in dict(plan.schemas)[stream_name].columns)]
    files = sorted(folder.glob("*.parquet"))
    answer: Answer = Counter()
    if not files:
        return answer
    found = pa.dataset.dataset([str(path) for path in files]).to_table(columns=names)
    columns = [
        column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        if pa.types.is_timestamp(column.type)
        else column
        for column in found.columns
    ]
    for vehicle, *row in zip(*(column.to_pylist() for column in columns), strict=True):
        answer[vehicle, output, comparable(row)] += 1
    return answer


def meant(plan: Plan, recording: Recording, *outputs: str) -> Answer:
    whole = meaning(plan, recording)
    return Counter({key: count for key, count in whole.items() if key[1] in outputs})


def test_outputs_without_state_are_dataframes(
    users: SparkSession, plan: Plan, recording: Recording, tmp_path: Path
) -> None:
    add_file(plan, recording, tmp_path / "speed", 0)
    outputs = stream(plan, {"speed": arriving(users, tmp_path / "speed")})
    assert list(outputs) == ["ratio"]
    assert "mean" not in outputs
    data = outputs["ratio"]
    assert data.isStreaming
    assert data.columns == ["vehicle", "timestamp", "r", "n"]
    written = str(tmp_path / "out")
    query = data.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query.trigger(availableNow=True).start(written).awaitTermination()
    expected = meant(plan, recording, "ratio")
    assert any(row[1] is None for _, _, row in expected)  # divided by zero
    assert differences(expected, rows(Path(written), plan, "ratio")) == []


def test_a_stream_with_state_is_started_stopped_and_goes_on(
    users: SparkSession, plan: Plan, recording: Recording, tmp_path: Path
) -> None:
    before = dict(users.conf.getAll)
    first, rest = halves(recording)
    folder, out = tmp_path / "speed", tmp_path / "out"
    add_file(plan, first, folder, 0)

    def started() -> RunningStream:
        outputs = stream(plan, {"speed": arriving(users, folder)})
        return outputs.start(output=out, checkpoint=tmp_path / "checkpoint")

    running = started()
    until(lambda: not running.isActive or any(one.tuples for one in running.lastProgress))
    assert running.isActive
    with pytest.raises(FileError, match="another run writes here"):
        started()
    running.stop()
    assert running.exception() is None
    add_file(plan, rest, folder, 1)
    again = started()
    expected = meant(plan, recording, "ratio")
    until(lambda: not again.isActive or rows(out / "ratio.parquet", plan, "ratio") == expected)
    assert again.exception() is None
    again.stop()
    summary = {one.output: one.tuples for one in again.summary.outputs}
    assert summary["ratio"] == expected.total()
    assert dict(users.conf.getAll) == before


def test_what_is_there_and_its_end(
    users: SparkSession, plan: Plan, recording: Recording, tmp_path: Path
) -> None:
    for number, part in enumerate(halves(recording)):
        add_file(plan, part, tmp_path / "speed", number)
    running = stream(plan, {"speed": arriving(users, tmp_path / "speed")}).start(
        output=tmp_path / "out", checkpoint=tmp_path / "checkpoint", available_now=True
    )
    assert running.awaitTermination(PATIENCE_S)
    for output in ("ratio", "mean"):
        expected = meant(plan, recording, output)
        got = rows(tmp_path / "out" / f"{output}.parquet", plan, output)
        assert expected
        assert differences(expected, got) == []


# ---------------------------------------------------------------- what is refused


def test_what_does_not_fit_is_named(spark: SparkSession, plan: Plan) -> None:
    live = spark.readStream.format("rate").load().selectExpr("timestamp", "value AS wheel")
    with pytest.raises(DataError, match="no column 'v'"):
        stream(plan, {"speed": live})
    with pytest.raises(DataError, match="this DataFrame is no stream"):
        stream(plan, {"speed": spark.range(1)})
    with pytest.raises(InputError, match="did you mean 'speed'"):
        stream(plan, {"sped": live})
    with pytest.raises(DataError, match="this is no DataFrame"):
        stream(plan, {"speed": [1, 2]})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="this is no query"):
        stream(17, {"speed": live})  # type: ignore[arg-type]


def test_an_output_with_state_is_no_dataframe(spark: SparkSession) -> None:
    live = spark.readStream.format("rate").load()
    given = live.selectExpr("timestamp", "cast(value AS double) v", "value AS wheel")
    outputs = stream(parse_query(QUERY), {"speed": given})
    with pytest.raises(UnsupportedError, match="keeps a state beside the micro-batches"):
        outputs["mean"]
    with pytest.raises(InputError, match="it has ratio, mean"):
        outputs["means"]
