"""Steps of a stream: computed by tasks, done when their record is there, repeated without a trace.

Here steps are given one by one, without a streaming query around them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.storage.hadoop_places import BUCKET, VIEWFS, mount

from headway.compiler import compile_query
from headway.engine.operators.operator_base import DropKind
from headway.errors import FileError
from headway.files import load_query
from headway.model.plan import Plan
from headway.model.quantities import SECOND
from headway.spark.batches.batch_sinks import Sink
from headway.spark.sources.intake import IntakePiece
from headway.spark.storage.locations import Location
from headway.spark.streams.micro_batches import GroupWork, MicroBatches, RowWay, StreamBounds
from headway.spark.streams.spark_way import SparkWay
from headway.spark.streams.ways import PLAIN_JOBS, DirectWay

BEGIN = 1_767_225_600_000_000
TIME = pa.timestamp("us", tz="UTC")
QUERY = """
query: steps
sources:
  speed: {schema: {v: double}, rate: 1 per 100 ms}
operators:
  mean: {aggregate: {total: sum(v), count: count(*)}, from: speed, window: 1 s}
outputs:
  means: {from: mean, deadline: 10 s, criticality: soft}
"""
STEPS = 4
VEHICLES = 7
SECONDS = 3
"""that a step takes in"""


@dataclass
class Given:
    """An intake of pieces that are there already."""

    given: Sequence[Mapping[str, DataFrame]]

    @property
    def stream(self) -> DataFrame:
        raise AssertionError("nothing is streamed here")

    def pieces(self, batch: DataFrame, number: int, mark: int = 0) -> Iterator[IntakePiece]:
        for place in range(mark, len(self.given)):
            yield IntakePiece(self.given[place], place + 1, last=place + 1 == len(self.given))

    def close(self) -> None:
        """Nothing waits."""


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    for key, value in PLAIN_JOBS.items():
        own.conf.set(key, value)
    return own


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    path = tmp_path_factory.mktemp("query") / "query.yaml"
    path.write_text(QUERY)
    return compile_query(load_query(path).query)


def rows_of(step: int) -> list[tuple[str, int, float]]:
    """Two tuples a second of each vehicle."""
    return [
        (f"car{car}", BEGIN + (step * SECONDS * 2 + half) * 500_000 + car, float(half + car))
        for half in range(SECONDS * 2)
        for car in range(VEHICLES)
    ]


def given(session: SparkSession, step: int) -> dict[str, DataFrame]:
    vehicles, times, values = zip(*rows_of(step), strict=True)
    table = pa.table(
        {
            "vehicle": pa.array(vehicles, pa.string()),
            "timestamp": pa.array(times, TIME),
            "v": pa.array(values, pa.float64()),
        }
    )
    return {"speed": session.createDataFrame(table)}


def expected(steps: int = STEPS) -> Counter[tuple[Any, ...]]:
    """Vehicle, the oldest timestamp in the window, total, count."""
    sums: dict[tuple[str, int], tuple[int, float, int]] = {}
    for step in range(steps):
        for car, time, value in rows_of(step):
            window = (time - BEGIN) // 1_000_000
            oldest, total, count = sums.get((car, window), (time, 0.0, 0))
            sums[car, window] = min(oldest, time), total + value, count + 1
    return Counter((car, *numbers) for (car, _), numbers in sums.items())


def work_of(plan: Plan, output: Location, checkpoint: Location, **bounds: Any) -> GroupWork:
    return GroupWork(
        name="soft-means",
        plan=plan,
        began=0,
        output=output,
        checkpoint=checkpoint,
        sides={kind.value: f"{kind}.parquet" for kind in DropKind},
        bounds=StreamBounds(**{"partitions": 2, **bounds}),
    )


def at(folder: Path) -> tuple[Location, Location]:
    return Location.of(folder / "out"), Location.of(folder / "mark")


def direct(session: SparkSession, work: GroupWork) -> RowWay:
    return DirectWay(session, work)


def through_spark(session: SparkSession, work: GroupWork) -> RowWay:
    return SparkWay(session, work, Sink(), "run", lambda name, rows: None)


def taken_up(
    session: SparkSession, work: GroupWork, ways: Callable[..., RowWay] = direct
) -> MicroBatches:
    batches = MicroBatches(session, work, ways(session, work))
    batches.take_up()
    return batches


def run(batches: MicroBatches, session: SparkSession, *numbers: int) -> None:
    for number in numbers:
        batches.run(session.range(0), number, Given([given(session, number)]))


def means(folder: Path) -> Counter[tuple[Any, ...]]:
    """All that can be seen."""
    found: Counter[tuple[Any, ...]] = Counter()
    for path in (folder / "means.parquet").glob("*.parquet"):
        if path.name[0] != ".":
            table = pq.ParquetFile(path).read()
            times = table["timestamp"].cast(pa.int64()).to_pylist()
            rest = (table[name].to_pylist() for name in ("total", "count"))
            found.update(zip(table["vehicle"].to_pylist(), times, *rest, strict=True))
    return found


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.parquet/.*"))


# -------------------------------------------------------------------- whatever the partitions


@pytest.mark.parametrize("ways", [direct, through_spark])
def test_partitions_may_change_between_steps(
    session: SparkSession, plan: Plan, tmp_path: Path, ways: Callable[..., RowWay]
) -> None:
    """Each step in a process of its own: states are moved, and nothing is lost."""
    output, checkpoint = at(tmp_path)
    for number, partitions in enumerate((2, 3, 1, 2)):
        work = work_of(plan, output, checkpoint, partitions=partitions)
        batches = taken_up(session, work, ways)
        run(batches, session, number)
        assert batches.shown is not None
        assert batches.shown.partitions == partitions
        assert sum(load.vehicles for load in batches.shown.loads) == VEHICLES
    batches.finish()
    assert means(tmp_path / "out") == expected()
    assert batches.shown is not None
    assert batches.shown.tallies["means"].tuples == expected().total()
    assert batches.shown.counts["tuples"] == STEPS * len(rows_of(0))
    assert hidden(tmp_path / "out") == []
    assert list((tmp_path / "out").glob("means.parquet/end*"))


@pytest.mark.parametrize("scheme", [VIEWFS, BUCKET])
def test_states_and_files_on_another_file_system(
    session: SparkSession, plan: Plan, tmp_path: Path, scheme: str
) -> None:
    """``bucket:`` stands for an object store: what counts is said by a log that Spark reads."""
    uri = mount(session, scheme, tmp_path / "store")
    output, checkpoint = Location.of(f"{uri}/out"), Location.of(f"{uri}/mark")
    work = work_of(plan, output, checkpoint, partitions=2)
    run(taken_up(session, work, through_spark), session, 0)
    left = tmp_path / "store" / "out" / "means.parquet"
    if scheme == BUCKET:
        (some, *_) = left.glob("*.parquet")
        (left / "part-left.parquet").write_bytes(some.read_bytes())
    batches = taken_up(session, work_of(plan, output, checkpoint, partitions=3), through_spark)
    assert not (left / "part-left.parquet").exists(), "of a step that never was done"
    run(batches, session, 1, 2, 3)
    batches.finish()
    read = session.read.parquet((output / "means.parquet").spark_path)
    found = read.selectExpr("vehicle", "unix_micros(timestamp)", "total", "count").collect()
    assert Counter(map(tuple, found)) == expected()


# -------------------------------------------------------------------- repeated steps


def test_a_repeated_batch_with_a_record_is_only_published(
    session: SparkSession, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = work_of(plan, *at(tmp_path))
    run(taken_up(session, work), session, 0, 1)
    seen = means(tmp_path / "out")
    record = json.loads((tmp_path / "mark/_states/soft-means/1.json").read_text())["record"]
    hidden_name, final, *_ = record["files"][0]
    (tmp_path / "out" / final).rename(tmp_path / "out" / hidden_name)  # killed before
    assert means(tmp_path / "out") != seen
    again = taken_up(session, work)
    monkeypatch.setattr(DirectWay, "reports", None)  # nothing may be computed
    run(again, session, 1)
    assert means(tmp_path / "out") == seen
    (tmp_path / "out" / final).unlink()
    with pytest.raises(FileError, match=f"{final}: a file of a micro-batch that is done is gone"):
        run(again, session, 1)


def test_a_batch_without_its_record_is_computed_again(
    session: SparkSession, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the tasks were done and before the record was there."""
    work = work_of(plan, *at(tmp_path))
    batches = taken_up(session, work)
    run(batches, session, 0)
    seen = means(tmp_path / "out")
    with monkeypatch.context() as patched:
        patched.setattr("headway.spark.state.batch_manifest.BatchRecords.commit", _killed)
        with pytest.raises(KeyboardInterrupt):
            run(batches, session, 1)
    assert len(hidden(tmp_path / "out")) == 2, "a file of each partition"
    assert means(tmp_path / "out") == seen
    again = taken_up(session, work)
    assert hidden(tmp_path / "out") == [], "swept"
    run(again, session, 1, 2, 3)
    again.finish()
    assert means(tmp_path / "out") == expected()


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_pieces_of_a_batch_are_done_one_by_one(
    session: SparkSession, plan: Plan, tmp_path: Path
) -> None:
    work = work_of(plan, *at(tmp_path))
    pieces = [given(session, number) for number in range(3)]
    first = taken_up(session, work)
    with pytest.raises(Exception, match="no data for source"):
        first.run(session.range(0), 0, Given([pieces[0], pieces[1], {}]))
    again = taken_up(session, work)
    assert again.shown is not None
    assert (again.shown.step, again.shown.mark, again.shown.last) == (1, 2, False)
    again.run(session.range(0), 0, Given(pieces))
    assert again.shown is not None
    assert (again.shown.step, again.shown.last) == (2, True)
    again.finish()
    assert means(tmp_path / "out") == expected(3)


def test_more_input_takes_the_end_back(session: SparkSession, plan: Plan, tmp_path: Path) -> None:
    work = work_of(plan, *at(tmp_path))
    batches = taken_up(session, work)
    run(batches, session, 0)
    batches.finish()
    assert means(tmp_path / "out") == expected(1)
    later = taken_up(session, work)
    assert later.shown is not None
    assert later.shown.tallies["means"].tuples == expected(1).total(), "with the end"
    run(later, session, 1, 2, 3)
    later.finish()
    assert means(tmp_path / "out") == expected()


# -------------------------------------------------------------------- what is kept


def test_states_do_not_accumulate(session: SparkSession, plan: Plan, tmp_path: Path) -> None:
    work = work_of(plan, *at(tmp_path))
    batches = taken_up(session, work)
    counts = []
    for number in range(6):
        run(batches, session, number)
        counts.append(len(list((tmp_path / "mark/_states/soft-means").iterdir())))
    assert max(counts) <= 2 * (1 + 2), "two records, and a segment of each partition for both"
    (tmp_path / "mark/_states/soft-means/batch-0000000006-00000.x-1.state").write_bytes(b"left")
    run(batches, session, 6)
    assert not list((tmp_path / "mark/_states/soft-means").glob("*.x-1.state"))


def test_damage_is_named(session: SparkSession, plan: Plan, tmp_path: Path) -> None:
    work = work_of(plan, *at(tmp_path))
    run(taken_up(session, work), session, 0)
    folder = tmp_path / "mark/_states/soft-means"
    (state, *_) = sorted(folder.glob("*.state"))
    whole = state.read_bytes()
    state.write_bytes(whole[:-9])
    with pytest.raises(Exception, match=f"{state.name}: the state of a stream cannot be read"):
        run(taken_up(session, work), session, 1)
    state.write_bytes(whole[:-9] + bytes(9))
    with pytest.raises(Exception, match=f"{state.name}: .*a damaged state"):
        run(taken_up(session, work), session, 1)
    state.write_bytes(whole)
    record = folder / "0.json"
    text = record.read_text()
    record.write_text(text.replace('"step":0', '"step":3'))
    with pytest.raises(FileError, match=r"0\.json: the record of a micro-batch is damaged"):
        taken_up(session, work)
    record.write_text(text.replace('"version":1', '"version":9'))
    with pytest.raises(FileError, match="another version of Headway wrote; got version 9"):
        taken_up(session, work)
    record.unlink()
    with pytest.raises(FileError, match="the record of a micro-batch is gone"):
        run(taken_up(session, work), session, 1)


def test_the_driver_never_sees_rows(
    session: SparkSession, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On either way, what comes to the driver is a row for each task."""
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    seen: list[int] = []
    collect = Classic.collect

    def counted(self: Any) -> Any:
        rows = collect(self)
        seen.append(len(rows))
        return rows

    monkeypatch.setattr(Classic, "collect", counted)
    for name in ("toArrow", "toPandas", "toLocalIterator", "take", "head", "first", "tail"):
        monkeypatch.setattr(Classic, name, None)
    for ways in (direct, through_spark):
        work = work_of(plan, *at(tmp_path / ways.__name__))
        batches = taken_up(session, work, ways)
        run(batches, session, 0, 1)
        batches.finish()
        assert means(tmp_path / ways.__name__ / "out") == expected(2)
    assert seen
    assert max(seen) <= 2, "as many rows as partitions"


# -------------------------------------------------------------------- bounds


def test_forgotten_vehicles_are_counted(session: SparkSession, plan: Plan, tmp_path: Path) -> None:
    """In a replay by the newest arrival: the cars of the first step are silent afterwards."""
    work = work_of(plan, *at(tmp_path), forget=SECOND)
    batches = taken_up(session, work)
    run(batches, session, 0)
    later = session.createDataFrame(
        pa.table({"vehicle": ["late"], "timestamp": pa.array([BEGIN + 10**8], TIME), "v": [1.0]})
    )
    batches.run(session.range(0), 1, Given([{"speed": later}]))
    batches.run(session.range(0), 2, Given([{"speed": later}]))
    assert batches.shown is not None
    assert batches.shown.counts["forgotten"] == VEHICLES
    assert sum(load.vehicles for load in batches.shown.loads) == 1
