"""Files as a stream: read by Spark where that is right, in pieces that fit the slots."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.sources.intakes import RADAR, SPEED, TIME, drained, intake_of, write
from tests.spark.storage.hadoop_places import BUCKET, VIEWFS, mount

from headway.errors import DataError
from headway.model.schema import DataType, Field, Schema
from headway.spark.sources import file_intake
from headway.spark.sources.checked_files import CheckedFiles, Quarantine, Rejected
from headway.spark.sources.file_checks import AT_ONCE, CheckedFile, FileChecks, GivenFile
from headway.spark.sources.file_intake import Planned, Room, Spread, cut, in_step
from headway.spark.sources.intake import Limits, Pace
from headway.spark.sources.parquet_footers import Footer, footer_of
from headway.spark.sources.recorded_files import read_batch
from headway.spark.storage.locations import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def in_order(folder: Path) -> None:
    """Files come in the order of their names."""
    for number, path in enumerate(sorted(folder.iterdir())):
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


# -------------------------------------------------------------------- what is read


def test_every_kind_of_column_that_fits_is_read_by_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "in" / "speed"
    wide = {
        "byte": pa.array([1, 2], pa.int8()),
        "unsigned": pa.array([1, 2], pa.uint32()),
        "float": pa.array([1.0, 2.0], pa.float32()),
        "null": pa.nulls(2),
    }
    for name, column in wide.items():
        write(folder, f"{name}.parquet", v=column)
    times = {
        "plain": pa.array([1000, 2000], pa.int64()),
        "naive": pa.array([1000, 2000], pa.timestamp("us")),
        "milli": pa.array([1, 2], pa.timestamp("ms", tz="UTC")),
        "berlin": pa.array([1000, 2000], pa.timestamp("us", tz="Europe/Berlin")),
    }
    for name, column in times.items():
        write(folder, f"{name}.parquet", timestamp=column, v=pa.array([1.0, 2.0]))
    footers = {path.stem: footer_of(path, SPEED) for path in folder.iterdir()}
    assert {name for name, footer in footers.items() if footer.reading is None} == set()
    assert footers["plain"].reading == (("timestamp", "bigint"),)
    assert {(one.begin, one.end) for name, one in footers.items() if name in times} == {
        (1000, 2000)
    }
    (taken,) = drained(intake_of(spark, tmp_path / "in", tmp_path), tmp_path / "c")
    rows = [(int(row.timestamp.timestamp() * 1000), row.v) for row in taken.rows["speed"]]
    values = sorted(row[1] for row in rows if row[1] is not None)
    assert values == [1.0] * 7 + [2.0] * 7
    assert {moment for moment, value in rows if value == 1.0} == {0, 1}
    assert sorted(row.position for row in taken.rows["speed"]) == [1] * 8 + [2] * 8


def test_what_spark_cannot_read_is_read_by_python(spark: SparkSession, tmp_path: Path) -> None:
    """Nanoseconds, and columns that differ in their letters' case only."""
    folder = tmp_path / "in" / "speed"
    nano = write(folder, "nano.parquet", timestamp=pa.array([1000, 2000], pa.timestamp("ns")))
    case = write(folder, "case.parquet", V=pa.array(["a", "b"]))
    fine = write(folder, "fine.parquet", timestamp=pa.array([1, 2], pa.timestamp("ns")))
    assert [footer_of(path, SPEED).reading for path in (nano, case)] == [None, None]
    (taken,) = drained(intake_of(spark, tmp_path / "in", tmp_path), tmp_path / "c")
    assert taken.values("speed") == [0.0, 0.0, 1.0, 1.0]
    (entry,) = Quarantine(tmp_path / "quarantine").entries()
    assert entry.input == str(fine)
    assert "a value does not fit its column" in entry.reason


def test_positions_are_those_of_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in" / "speed"
    write(folder, "a.parquet", 0, 5)
    write(folder, "b.parquet", 2, 5)
    (taken,) = drained(intake_of(spark, tmp_path / "in", tmp_path), tmp_path / "c")
    batch = read_batch(spark, tmp_path / "in", [SPEED])["speed"]
    assert batch.columns == ["timestamp", "v", "arrived_at", "vehicle", "position"]
    assert sorted(taken.rows["speed"], key=str) == sorted(batch.collect(), key=str)


def test_a_file_without_a_time_of_arrival(spark: SparkSession, tmp_path: Path) -> None:
    times = pa.array([1000, None], TIME)
    bad = write(tmp_path / "in" / "speed", "bad.parquet", timestamp=times)
    with pytest.raises(DataError, match=r"bad.parquet:2: arrived_at: a tuple without a time"):
        footer_of(bad, SPEED)
    without = tmp_path / "in" / "speed" / "without.parquet"
    table = pq.read_table(bad)
    pq.write_table(table, without, write_statistics=False)
    with pytest.raises(DataError, match=r"without.parquet:2: arrived_at: a tuple without a time"):
        footer_of(without, SPEED)
    (taken,) = drained(intake_of(spark, tmp_path / "in", tmp_path), tmp_path / "c")
    assert taken.rows["speed"] == []
    assert len(Quarantine(tmp_path / "quarantine").entries()) == 2


def test_tuples_that_do_not_fit_are_rejected(spark: SparkSession, tmp_path: Path) -> None:
    short = Schema((Field("label", DataType.STRING, length=3),))
    source = replace(SPEED, schema=short)
    folder = tmp_path / "in" / "speed"
    write(folder, "a.parquet", v=None, label=pa.array(["abc", "abcd"]))
    write(
        folder, "b.parquet", v=None, label=pa.array(["x", "y"]),
        timestamp=pa.array([None, 5], TIME), arrived_at=pa.array([4, 5], TIME),
    )  # fmt: skip
    (folder / "plain.txt").write_text("not of the source")
    intake = intake_of(spark, tmp_path / "in", tmp_path, source)
    for run in ("c", "again"):  # read again, the same are listed
        assert len(drained(intake, tmp_path / run)) == 1
        assert Rejected(tmp_path / "rejected").counts() == {"speed": 2}, run
    listed = pq.read_table(tmp_path / "rejected")
    assert sorted(listed.column("row").to_pylist()) == [
        '{"timestamp": 1000, "label": "abcd"}',
        '{"timestamp": null, "label": "x"}',
    ]


@pytest.mark.parametrize("kind", [VIEWFS, BUCKET])
def test_files_elsewhere(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    held = tmp_path / "held"
    write(held / "in" / "speed", "a [1].parquet", 0, 3)
    write(held / "in" / "speed", "b.parquet", 3, 3, v=pa.array([7, 8, 9], pa.int32()))
    write(held / "in" / "speed", "c.parquet", 6, 3, v=None)
    (held / "in" / "speed" / "half.parquet").write_bytes(b"PAR1 and no more PAR1")
    (held / "in" / "radar").mkdir()
    (held / "in" / "radar" / "a.csv").write_text("timestamp,d\n1,0.5\n2,1.5\n")
    (held / "in" / "radar" / "b.csv").write_text("timestamp,d\n1,0.5\n2,far\n")
    place = Location.of(mount(spark, kind, held)) / "in"
    intake = intake_of(spark, place, tmp_path, SPEED, RADAR)
    (taken,) = drained(intake, tmp_path / "c")
    assert taken.values("speed") == [0.0, 1.0, 2.0, 7.0, 8.0, 9.0]
    assert taken.values("radar") == [0.5, 1.5]
    told = {Path(one.input).name: one for one in Quarantine(tmp_path / "quarantine").entries()}
    assert told.keys() == {"b.csv", "c.parquet", "half.parquet"}
    assert all(one.input.startswith(f"{kind}://") for one in told.values())
    at = (place / "radar" / "b.csv").text
    assert told["b.csv"].reason.startswith(f"{at}:3: d: not a value of its column; got 'far'")
    assert "no column 'v'" in told["c.parquet"].reason
    assert "cannot be read as Parquet" in told["half.parquet"].reason
    batch = read_batch(spark, place, [SPEED], quarantine=Quarantine(tmp_path / "q"))["speed"]
    assert sorted(row.v for row in batch.collect()) == taken.values("speed")


# -------------------------------------------------------------------- how much at a time


def test_many_small_files_are_shared_out(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(10):
        write(tmp_path / "in" / "speed", f"{number}.parquet", number * 10, 10)
        text = tmp_path / "in" / "radar"
        text.mkdir(exist_ok=True)
        (text / f"{number}.csv").write_text(f"timestamp,d\n{number},0.5\n")
    limits = Limits(slots=lambda: 8)
    (alone,) = drained(intake_of(spark, tmp_path / "in", tmp_path, limits=limits), tmp_path / "a")
    assert alone.tasks["speed"] > 1
    both = intake_of(spark, tmp_path / "in", tmp_path, SPEED, RADAR, limits=limits)
    (taken,) = drained(both, tmp_path / "b")
    assert taken.tasks["speed"] > 1
    assert taken.tasks["radar"] == 8
    assert taken.values("speed") == alone.values("speed") == [float(v) for v in range(100)]


def test_one_file_of_a_query_without_state_is_dealt_out(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "in" / "speed", "a.parquet", 0, 1000)
    monkeypatch.setattr(file_intake, "_MOST_BYTES_PER_TASK", 1000)
    monkeypatch.setattr(file_intake, "SMALL_BYTES", 0)
    limits = Limits(slots=lambda: 4)
    for spread, count in ((False, 1), (True, 4)):
        intake = intake_of(spark, tmp_path / "in", tmp_path, limits=replace(limits, spread=spread))
        (taken,) = drained(intake, tmp_path / f"c{spread}")
        assert taken.tasks["speed"] == count
        assert len(taken.rows["speed"]) == 1000


def test_pieces_follow_the_slots(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [
        write(tmp_path / "in" / "speed", f"{number}.parquet", number * 10, 10).stat().st_size
        for number in range(7)
    ]
    in_order(tmp_path / "in" / "speed")
    monkeypatch.setattr(file_intake, "BYTES_PER_SLOT", max(sizes))
    slots = [1]

    def growing() -> int:
        return slots[0]

    intake = intake_of(spark, tmp_path / "in", tmp_path, limits=Limits(slots=growing))
    found = []
    spark_batches: set[int] = set()

    def on_batch(batch: object, number: int) -> None:
        spark_batches.add(number)
        for piece in intake.pieces(batch, number):  # type: ignore[arg-type]
            rows = sorted(row.v for row in piece.sources["speed"].collect())
            found.append((piece.mark, piece.last, rows[0], len(rows)))
            slots[0] *= 2  # executors came

    writer = intake.stream.writeStream.option("checkpointLocation", str(tmp_path / "c"))
    writer.trigger(availableNow=True).foreachBatch(on_batch).start().awaitTermination()
    assert spark_batches == {0}
    assert found == [(1, False, 0.0, 10), (3, False, 10.0, 20), (7, True, 30.0, 40)]
    slots[0] = 1
    rest = drained(intake, tmp_path / "again", mark=5)
    assert [(taken.mark, taken.last, min(taken.values("speed"))) for taken in rest] == [
        (6, False, 50.0),
        (7, True, 60.0),
    ]
    assert drained(intake, tmp_path / "done", mark=7) == []


def test_no_file_is_one_piece_without_tuples(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "in" / "speed", "bad.parquet", v=None)
    intake = intake_of(spark, tmp_path / "in", tmp_path)
    (taken,) = drained(intake, tmp_path / "c")
    assert (taken.mark, taken.last, taken.rows) == (1, True, {"speed": []})
    nothing = spark.range(0).select("id")
    (piece,) = intake.pieces(nothing, 7)
    assert piece.last
    assert piece.sources["speed"].columns[0] == "timestamp"


def given(source: str, name: str, size: int, rows: int, end: int | None) -> CheckedFile:
    file = GivenFile(source, Location.of(f"/in/{source}/{name}"), size, 0)
    return CheckedFile(file, Footer(rows, 1, 0, end, ()), sound=True)


def test_sources_advance_together() -> None:
    """Radar's files are of ten seconds, speed's of one."""
    speed = [given("speed", str(n), 1, 1000, (n + 1) * 1_000_000) for n in range(30)]
    radar = [given("radar", str(n), 1, 1000, (n + 1) * 10_000_000) for n in range(3)]
    sources = {"speed": SPEED, "radar": RADAR}

    def names(files: list[list[CheckedFile]]) -> str:
        queues: dict[str, Iterator[CheckedFile]] = dict(zip(sources, map(iter, files), strict=True))
        return "".join(one.file.source[0] for one in in_step(queues, sources))

    told = names([speed, radar])
    assert told == "sr" + "s" * 9 + "sr" + "s" * 9 + "sr" + "s" * 9
    # Nothing is known but the rates: speed has ten times as many tuples.
    untold = [
        [replace(one, footer=replace(one.footer, end=None)) for one in files if one.footer]
        for files in (speed, radar)
    ]
    assert names(untold) == told


def test_a_piece_has_room_for_so_much() -> None:
    files = [given("speed", str(n), 10, 100, n) for n in range(6)]
    other = [given("radar", str(n), 10, 1, n) for n in range(2)]

    def sizes(some: list[CheckedFile], room: Room) -> list[int]:
        return [len(one) for one in cut(iter(some), lambda: replace(room))]

    free = Room(1e9, None, None, lambda one: one.footer.rows if one.footer else 0)
    assert sizes(files, free) == [6]
    assert sizes(files, replace(free, bytes=25)) == [2, 2, 2]
    assert sizes(files, replace(free, bytes=1)) == [1] * 6
    assert sizes(files, replace(free, rows=250)) == [2, 2, 2]
    assert sizes([files[0], other[0], files[1], other[1]], replace(free, files_of_each=1)) == [2, 2]
    broken = [replace(one, sound=False) for one in files]
    assert sizes(broken, replace(free, bytes=1)) == [6]
    assert sizes([], free) == []


def test_tasks_follow_size_and_slots() -> None:
    small = [given("speed", str(n), 1000, 10, n) for n in range(10)]
    assert Spread.of(small[:1], 8).tasks == 1
    assert Spread.of(small, 8).tasks == 3
    assert Spread.of(small * 10, 8).tasks == 8
    large = [given("speed", "a", 64 << 20, 10**6, 1)]
    assert Spread.of(large, 8).tasks == 8
    assert Spread.of(large, 8).few_large
    assert not Spread.of(large, 1).few_large
    assert Spread.of([], 8).tasks == 1


def test_sparks_plan_is_taken_where_nothing_is_gained_by_another(spark: SparkSession) -> None:
    small = [given("speed", str(n), 1000, 10, n) for n in range(10)]
    data = spark.range(1)

    def is_right(files: list[CheckedFile], partitions: int, slots: int = 8) -> bool:
        return Planned(data, partitions).is_right(files, Spread.of(files, slots))

    assert is_right(small, 2)
    assert not is_right(small, 1), "three tasks are quicker"
    assert is_right(small, 1, slots=1)
    large = [replace(one, file=replace(one.file, size=1 << 20)) for one in small]
    assert not is_right(large, 10), "it would read columns that nobody asks for"
    assert not is_right([replace(small[0], sound=False)], 1)
    assert small[0].footer
    times = replace(small[0].footer, reading=(("timestamp", "bigint"),))
    assert not is_right([replace(small[0], footer=times)], 1)


# -------------------------------------------------------------------- so many a second


def test_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    pace = Pace(100.0, clock=lambda: now[0])
    waited: list[float] = []

    def wait(seconds: float | None = None) -> bool:
        assert seconds is not None
        waited.append(seconds)
        now[0] += seconds
        return False

    monkeypatch.setattr(pace._closed, "wait", wait)
    for rows in (50, 100, 10):
        pace.wait(rows)
    assert waited == [0.5, 1.0]
    now[0] += 60
    pace.wait(100)
    pace.wait(100)
    assert waited == [0.5, 1.0, 1.0], "what was not used is not made up for"
    pace.close()
    unlimited = Pace(None)
    unlimited.wait(1e12)
    assert unlimited.rows_at_once is None


def test_a_rate_cuts_pieces(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / "in" / "speed", f"{number}.parquet", number * 10, 10)
    limits = Limits(max_rate=20.0)
    intake = intake_of(spark, tmp_path / "in", tmp_path, limits=limits)
    intake.close()  # nobody waits in a test
    found = drained(intake, tmp_path / "c")
    assert [len(taken.rows["speed"]) for taken in found] == [20, 20]


def test_of_a_long_backlog_not_all_is_looked_at_first(spark: SparkSession) -> None:
    asked: list[int] = []

    def backlog() -> Iterator[GivenFile]:
        for number in range(10 * AT_ONCE):
            asked.append(number)
            yield GivenFile("speed", Location.of(f"/in/speed/{number}.csv"), 1, number)

    checks = FileChecks(spark, {"speed": CheckedFiles(SPEED, None)}, lambda: 1)
    queue = checks.each({"speed": backlog()})["speed"]
    assert next(queue).sound
    assert len(asked) == AT_ONCE
