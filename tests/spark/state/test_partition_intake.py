"""Tasks that read their tuples themselves find those of their own vehicles, as Spark deals them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.errors import FileError
from headway.model.schema import schema
from headway.spark.state.partition_files import belongs_to
from headway.spark.state.partition_intake import PartitionIntake
from headway.spark.state.vehicle_hashes import vehicle_hashes

SPEED = schema({"speed": "double", "gear": "bigint"})
COLUMNS = ["vehicle", "#at", "#position", "timestamp", "speed", "gear"]


def recorded(path: Path, *, seed: int, rows: int = 200, **others: Any) -> Path:
    draw = np.random.default_rng(seed)
    names = [None if one == 0 else f"car {one}" for one in draw.integers(0, 30, rows).tolist()]
    times = np.sort(draw.integers(0, 10_000_000, rows))
    columns = {
        "vehicle": pa.array(names, pa.string()),
        "timestamp": pa.array(times, pa.timestamp("us", tz="UTC")),
        "speed": pa.array(draw.random(rows)),
        "gear": pa.array(draw.integers(0, 6, rows), pa.int8()),
        **others,
    }
    pq.write_table(pa.table(columns), path, row_group_size=64)
    return path


def intake(partitions: int, *paths: Path) -> PartitionIntake:
    return PartitionIntake({"speed": tuple(map(str, paths))}, {"speed": SPEED}, partitions)


@pytest.mark.parametrize("partitions", [1, 2, 3, 8])
def test_every_tuple_is_read_by_the_task_of_its_vehicle(tmp_path: Path, partitions: int) -> None:
    paths = [recorded(tmp_path / f"{seed}.parquet", seed=seed) for seed in (1, 2)]
    whole = intake(1, *paths).tables(0)["speed"]
    assert whole.column_names == COLUMNS
    assert whole.column("#position").to_pylist() == [*range(1, 201), *range(1, 201)]
    found = []
    for part in range(partitions):
        mine = intake(partitions, *paths).tables(part)["speed"]
        hashes = vehicle_hashes(mine.column("vehicle").combine_chunks())
        assert belongs_to(part, partitions)(hashes).all()
        found += mine.to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, whole.to_pylist()))


def test_times_are_whole_microseconds_and_nobody_is_called_nothing(tmp_path: Path) -> None:
    came = pa.array(np.arange(200) + 5, pa.timestamp("us", tz="UTC"))
    path = recorded(tmp_path / "one.parquet", seed=3, arrived_at=came)
    rows = intake(1, path).tables(0)["speed"]
    assert rows.column("#at").to_pylist() == list(range(5, 205))
    assert rows.schema.field("timestamp").type == pa.int64()
    assert "" in set(rows.column("vehicle").to_pylist())
    assert rows.schema.field("gear").type == pa.int64(), "a narrower column fits"


def test_sources_without_a_tuple_are_left_out(tmp_path: Path) -> None:
    path = recorded(tmp_path / "none.parquet", seed=4, rows=0)
    assert intake(2, path).tables(0) == {}


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = recorded(tmp_path / "one.parquet", seed=5)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FileError, match=r"one\.parquet"):
        intake(1, path).tables(0)
