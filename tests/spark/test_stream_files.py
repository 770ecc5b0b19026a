"""What a task of a stream writes: files that nobody sees, and a report that says what they are."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.engine.operators.operator_base import DropKind
from headway.model.quantities import MILLISECOND
from headway.model.query import Output
from headway.model.schema import schema
from headway.spark.accounting import Account
from headway.spark.session.spark_failures import explained
from headway.spark.state.batch_manifest import BatchRecord, BatchRecords
from headway.spark.state.step_task import (
    NativeRows,
    NewState,
    OutputRows,
    Produced,
    SideTuples,
)
from headway.spark.state.task_files import TaskFiles, TaskReport, report_from
from headway.spark.state.vehicle_steps import SIDE_TABLE
from headway.spark.storage.file_stores import LocalStore
from headway.spark.storage.locations import Location
from headway.spark.streams.publishing import RenamedFiles
from headway.spark.tallies import Tally, tally_from

NOW = 1_767_225_600_000_000
DEADLINE = 5 * MILLISECOND


class Gives:
    """A task that computes what it is given."""

    def __init__(self, *produced: Produced) -> None:
        self._produced = produced

    def rows(self, batches: Iterator[Any], part: int) -> Iterator[Produced]:
        del batches, part
        yield from self._produced


def alarms(*values: float) -> OutputRows:
    return OutputRows(
        "alarm",
        pa.table(
            {
                "vehicle": pa.array(["a"] * len(values), pa.string()),
                "timestamp": pa.array([NOW] * len(values), pa.int64()),
                "v": pa.array(values, pa.float64()),
            }
        ),
    )


def dropped(*wheres: str) -> SideTuples:
    told = [
        {"kind": "failed", "time": NOW, "where": where, "reason": "why", "row": "[]",
         "vehicle": "a"}
        for where in wheres
    ]  # fmt: skip
    return SideTuples(pa.Table.from_pylist(told, SIDE_TABLE))


def files(folder: Path, batch: str = "batch-0000000007", began: int = 0) -> TaskFiles:
    output = Output(name="alarm", stream="fast", deadline=DEADLINE)
    return TaskFiles(
        output=str(folder / "out"),
        states=str(folder / "states"),
        group="hard",
        batch=batch,
        token="t",
        accounts={"alarm": Account(output, schema(v="double"), began)},
        sides={kind.value: f"{kind}.parquet" for kind in DropKind},
    )


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs one attempt of a task, as a worker of Spark does, and gives its report."""
    attempts = iter(range(100))

    def run(writes: TaskFiles, *produced: Produced, part: int = 3) -> TaskReport:
        attempt = next(attempts)
        context = SimpleNamespace(partitionId=lambda: part, taskAttemptId=lambda: attempt)
        monkeypatch.setattr("pyspark.TaskContext.get", lambda: context)
        (told,) = writes.task(Gives(*produced), ())(iter(()))
        return report_from(told.column(0)[0].as_py())

    return run


def test_of_two_attempts_the_one_that_is_heard_of_counts(tmp_path: Path, task: Any) -> None:
    first = task(files(tmp_path), alarms(1.0, 2.0))
    second = task(files(tmp_path), alarms(1.0, 2.0))
    (one,), (other,) = first.files, second.files
    assert one.hidden != other.hidden
    assert one.final == other.final == "alarm.parquet/batch-0000000007-00003.parquet"
    folder = tmp_path / "out" / "alarm.parquet"
    assert all(path.name.startswith(".") for path in folder.iterdir()), "nobody sees them yet"
    assert (one.rows, one.size) == (2, (tmp_path / "out" / one.hidden).stat().st_size)
    published = RenamedFiles(Location.of(tmp_path / "out"), LocalStore())
    for _ in range(2):  # a repeated batch finds its files under their names
        published.publish([other])
    published.sweep("hard", ["alarm.parquet"], [])
    assert [path.name for path in folder.iterdir()] == ["batch-0000000007-00003.parquet"]
    assert pq.read_table(folder)["v"].to_pylist() == [1.0, 2.0]


def test_a_sweep_leaves_other_groups_alone(tmp_path: Path, task: Any) -> None:
    task(files(tmp_path), dropped("fast"))
    (left,) = (tmp_path / "out" / "failed.parquet").iterdir()
    published = RenamedFiles(Location.of(tmp_path / "out"), LocalStore())
    published.sweep("soft-mean", [], ["failed.parquet"])
    assert left.exists()
    published.sweep("hard", [], ["failed.parquet"])
    assert not left.exists()


def test_a_task_without_rows_writes_nothing(tmp_path: Path, task: Any) -> None:
    report = task(files(tmp_path))
    assert (report.part, report.files, report.tallies, report.state) == (3, [], {}, None)
    assert list(tmp_path.iterdir()) == []


def test_rows_that_spark_computed_are_taken_apart() -> None:
    native = NativeRows({"a": schema(v="double"), "b": schema(w="int")})
    first = pa.array([{"timestamp": 1, "v": 2.0}, None, None],
                     pa.struct([("timestamp", pa.int64()), ("v", pa.float64())]))  # fmt: skip
    second = pa.array([None, {"timestamp": 3, "w": 4}, {"timestamp": 5, "w": None}],
                      pa.struct([("timestamp", pa.int64()), ("w", pa.int32())]))  # fmt: skip
    batch = pa.RecordBatch.from_pydict(
        {"vehicle": ["x", "y", "z"], "#exit": [0, 1, 1], "#row0": first, "#row1": second}
    )
    found = [one for one in native.rows(iter([batch]), 0) if isinstance(one, OutputRows)]
    assert [(one.output, one.rows.to_pylist()) for one in found] == [
        ("a", [{"vehicle": "x", "timestamp": 1, "v": 2.0}]),
        ("b", [{"vehicle": "y", "timestamp": 3, "w": 4},
               {"vehicle": "z", "timestamp": 5, "w": None}]),
    ]  # fmt: skip


def test_rows_whose_deadline_had_passed_are_not_judged(tmp_path: Path, task: Any) -> None:
    replayed = task(files(tmp_path, began=NOW + 1_000_000), alarms(1.0, 2.0)).tallies["alarm"]
    live = task(files(tmp_path, began=NOW), alarms(1.0, 2.0)).tallies["alarm"]
    assert (replayed.tuples, replayed.replayed, replayed.misses, replayed.worst) == (2, 2, 0, 0)
    assert (live.tuples, live.replayed, live.misses) == (2, 0, 2)
    assert live.percentile(0.99) == live.worst > 0
    assert live.newest == NOW
    both = Tally()
    for one in (replayed, live):
        both.merge(tally_from(one.data()))
    assert (both.tuples, both.replayed, both.misses, both.worst) == (4, 2, 2, live.worst)
    assert both.percentile(0.5) == live.worst, "of those that were judged"


def test_a_full_disk_leaves_no_half_file(
    tmp_path: Path, task: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(pq.ParquetWriter):  # type: ignore[misc]
        def write_table(self, *_: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "ParquetWriter", Full)
    with pytest.raises(OSError, match="No space left") as failed:
        task(files(tmp_path), alarms(1.0))
    assert "make room and run the same command again" in str(explained(failed.value))
    assert list((tmp_path / "out" / "alarm.parquet").iterdir()) == []


def test_side_outputs_are_files_of_their_kind(tmp_path: Path, task: Any) -> None:
    report = task(files(tmp_path), dropped("fast", "kmh", "fast"), dropped("kmh"))
    assert report.side == {("failed", "fast"): 2, ("failed", "kmh"): 2}
    (one,) = report.files
    assert one.final == "failed.parquet/hard-batch-0000000007-00003.parquet"
    table = pq.ParquetFile(tmp_path / "out" / one.hidden).read()
    assert table["where"].to_pylist() == ["fast", "kmh", "fast", "kmh"]
    assert table.column_names[-1] == "vehicle"


def test_a_state_is_a_file_of_its_attempt(tmp_path: Path, task: Any) -> None:
    counts = {"vehicles": 5, "held": 1}
    state = NewState(3, b"bytes", whole=True, fingerprint="p", counts=counts, newest=NOW)
    report = task(files(tmp_path), state)
    assert report.state is not None
    assert (tmp_path / "states" / report.state.name).read_bytes() == b"bytes"
    assert (report.state.size, report.state.whole, report.counts) == (5, True, counts)
    record = BatchRecord(step=0, batch=0, states=((), (report.state,)), fingerprint="p")
    records = BatchRecords(Location.of(tmp_path / "states"), LocalStore())
    records.commit(record)
    assert records.newest() == record
    task(files(tmp_path), state)  # another attempt, of which nobody hears
    records.sweep(record, None)
    assert {path.name for path in (tmp_path / "states").iterdir()} == {"0.json", report.state.name}
