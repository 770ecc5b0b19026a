"""Files of a stream: a repeated batch replaces its own, a full disk leaves none behind."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.running import HELLO

from headway.compiler import compile_query
from headway.engine.operators.operator_base import DropKind
from headway.files import load_query
from headway.model.quantities import MILLISECOND
from headway.model.query import Output
from headway.model.schema import schema
from headway.spark.accounting import Account, Tally
from headway.spark.lowering.side_rows import SIDE_ARROW, SIDE_EXIT
from headway.spark.session.spark_failures import explained
from headway.spark.side_files import StreamSide, write_empty_side
from headway.spark.stream.stream_sinks import ParquetFiles, batch_name, write_tagged

NOW = 1_767_225_600_000_000


def tagged(values: list[float]) -> Any:
    struct = pa.StructArray.from_arrays(
        [pa.array([NOW] * len(values), pa.int64()), pa.array(values, pa.float64())],
        ["timestamp", "v"],
    )
    return pa.table(
        {
            "vehicle": pa.array(["a"] * len(values), pa.string()),
            "#exit": pa.array([0] * len(values), pa.int32()),
            "#late": pa.array([False] * len(values), pa.bool_()),
            "#row0": struct,
        }
    )


def tally(began: int = 0) -> Tally:
    output = Output(name="alarm", stream="fast", deadline=5 * MILLISECOND)
    return Tally(Account(output, schema(v="double"), began))


def test_a_repeated_batch_replaces_its_own_file(tmp_path: Path) -> None:
    for _ in range(2):
        write_tagged(tagged([1.0, 2.0]), [tally()], ParquetFiles(tmp_path), batch_name(7))
    write_tagged(tagged([3.0]), [tally()], ParquetFiles(tmp_path), batch_name(8))
    table = pq.read_table(tmp_path / "alarm.parquet")
    assert sorted(table["v"].to_pylist()) == [1.0, 2.0, 3.0]
    assert sorted(p.name for p in (tmp_path / "alarm.parquet").iterdir()) == [
        "batch-0000000007.parquet",
        "batch-0000000008.parquet",
    ]


def test_a_batch_without_rows_writes_nothing(tmp_path: Path) -> None:
    write_tagged(tagged([]), [tally()], ParquetFiles(tmp_path), batch_name(0))
    assert list(tmp_path.iterdir()) == []


def test_rows_whose_deadline_had_passed_are_not_judged(tmp_path: Path) -> None:
    replayed, live = tally(began=NOW + 1_000_000), tally(began=NOW)
    write_tagged(tagged([1.0, 2.0]), [replayed], ParquetFiles(tmp_path), batch_name(0))
    write_tagged(tagged([1.0, 2.0]), [live], ParquetFiles(tmp_path), batch_name(1))
    assert (replayed.summary().judged, replayed.summary().misses) == (0, 0)
    summary = live.summary()
    assert (summary.judged, summary.misses, summary.miss_ratio) == (2, 2, 1.0)
    assert summary.latency_99 == summary.latency_max > 0


def test_a_full_disk_leaves_what_was_written_and_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tagged(tagged([1.0]), [tally()], ParquetFiles(tmp_path), batch_name(0))
    whole = pq.write_table

    def full(table: Any, where: Any) -> None:
        whole(table, where)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(OSError, match="No space left") as failed:
        write_tagged(tagged([2.0]), [tally()], ParquetFiles(tmp_path), batch_name(1))
    monkeypatch.undo()
    assert "make room and run the same command again" in str(explained(failed.value))
    folder = tmp_path / "alarm.parquet"
    assert [path.name for path in folder.iterdir()] == ["batch-0000000000.parquet"]
    write_tagged(tagged([2.0]), [tally()], ParquetFiles(tmp_path), batch_name(1))
    assert sorted(pq.read_table(folder)["v"].to_pylist()) == [1.0, 2.0]


# -------------------------------------------------------------------- side outputs


def dropped(wheres: list[str]) -> Any:
    told = [
        {"kind": "failed", "time": NOW, "where": where, "port": None, "reason": "why",
         "timestamp": None, "row": "[]", "value": None}
        for where in wheres
    ]  # fmt: skip
    count = len(wheres)
    return pa.table(
        {
            "vehicle": pa.array(["a"] * count, pa.string()),
            "#exit": pa.array([SIDE_EXIT] * count, pa.int32()),
            "#side": pa.array(told, SIDE_ARROW),
        }
    )


def test_side_outputs_are_replaced_with_their_batch(tmp_path: Path) -> None:
    plan = compile_query(load_query(HELLO).query)
    write_empty_side(plan, tmp_path)
    side = StreamSide(plan, tmp_path, "hard")
    for _ in range(2):
        side.write(dropped(["fast", "kmh"]), batch_name(3))
    side.write(dropped(["fast"]), batch_name(4))
    assert pq.read_table(tmp_path / "failed.parquet")["where"].to_pylist() == [
        "fast",
        "kmh",
        "fast",
    ]
    assert {kind: pq.read_table(tmp_path / f"{kind}.parquet").num_rows for kind in DropKind} == {
        "late": 0, "failed": 3, "rejected": 0, "shed": 0
    }  # fmt: skip
    side.write(dropped([]), batch_name(4))
    assert pq.read_table(tmp_path / "failed.parquet").num_rows == 2
