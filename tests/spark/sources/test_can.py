"""The data source ``headway_can``: batches and streams of logs, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles

from headway.errors import DataError
from headway.model.schema import schema
from headway.spark.sources import can_source
from headway.spark.sources.can_source import (
    CanOptions,
    CanReader,
    CanStream,
    default_schema,
    register,
)
from headway.spark.sources.checked_files import Quarantine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

can = pytest.importorskip("can", reason="python-can is not installed")
pytest.importorskip("cantools", reason="cantools is not installed")

DBC = """VERSION ""
BS_:
BU_: ECU
BO_ 256 SPEED: 2 ECU
 SG_ SPEED : 0|16@1+ (0.01,0) [0|655] "m/s" ECU
"""
FIELDS = schema(v="double", bus="int")
NAMES = ["timestamp", "v", "bus", "vehicle", "position"]


def write_log(path: Path, speeds: list[int]) -> None:
    """The last frame is of an address that the DBC does not have."""
    with can.Logger(path) as logger:
        for number, speed in enumerate(speeds):
            content = (100 * speed).to_bytes(2, "little")
            logger.on_message_received(_message(number, 256, content))
        logger.on_message_received(_message(len(speeds), 0x300, b"\0"))


def _message(second: int, address: int, content: bytes) -> object:
    return can.Message(
        timestamp=float(second),
        arbitration_id=address,
        data=content,
        is_extended_id=False,
        channel=0,
    )


def options(folder: Path, **more: str) -> dict[str, str]:
    (folder / "car.dbc").write_text(DBC, encoding="utf-8")
    (folder / "logs").mkdir(exist_ok=True)
    return {
        "path": str(folder / "logs"),
        "dbc": str(folder / "car.dbc"),
        "columns": "v=SPEED, bus=frame.bus",
        "vehicle": "A1",
        "quarantine": str(folder / "quarantine"),
        **more,
    }


def test_batch_and_stream(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    given = options(tmp_path, maxFilesPerTrigger="1")
    write_log(tmp_path / "logs" / "a.blf", [1, 2])
    write_log(tmp_path / "logs" / "b.asc", [3])
    (tmp_path / "logs" / "c.blf").write_bytes(b"LOGG, but not a log")
    expected = [(1.0, "A1", 1), (2.0, "A1", 2), (3.0, "A1", 1)]

    data = spark.read.format("headway_can").options(**given).load()
    assert data.columns == NAMES
    assert sorted(map(tuple, data.select("v", "vehicle", "position").collect())) == expected
    entries = Quarantine(tmp_path / "quarantine").entries()
    assert [Path(entry.input).name for entry in entries] == ["a.blf", "b.asc", "c.blf"]
    assert "1 of 0x300 on bus 0: no message of the DBC" in entries[0].reason
    assert "cannot be read as a CAN log" in entries[2].reason

    stream = spark.readStream.format("headway_can").options(**given).load()
    writer = stream.writeStream.format("memory").queryName("can_test")
    writer = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
    query = writer.start()
    query.awaitTermination()
    rows = spark.table("can_test").select("v", "vehicle", "position").collect()
    assert sorted(map(tuple, rows)) == expected


def test_a_stream_reads_each_log_once_whatever_comes_between(tmp_path: Path) -> None:
    reader = CanStream(CanOptions.of(options(tmp_path)), FIELDS, NAMES)
    begin = reader.initialOffset()
    assert reader.latestOffset(begin, ReadAllAvailable()) == begin
    write_log(tmp_path / "logs" / "b.asc", [1])
    first = reader.latestOffset(begin, ReadAllAvailable())
    write_log(tmp_path / "logs" / "a.asc", [2])  # earlier by name
    write_log(tmp_path / "logs" / "c.asc", [3])
    second = reader.latestOffset(first, ReadMaxFiles(1))
    third = reader.latestOffset(second, ReadAllAvailable())

    def speeds(start: dict[str, object], end: dict[str, object]) -> list[float]:
        parts = reader.partitions(start, end)
        return [v for p in parts for batch in reader.read(p) for v in batch.column("v").to_pylist()]

    assert (speeds(begin, first), speeds(first, second)) == ([1.0], [2.0])
    assert (speeds(second, third), speeds(third, third)) == ([3.0], [])
    assert speeds(begin, third) == [1.0, 2.0, 3.0]


def test_logs_of_arrays_are_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    given = options(tmp_path)
    folder = tmp_path / "logs" / "drive"
    folder.mkdir()
    count = 10
    arrays = {
        "t": np.arange(count, dtype=float),
        "address": np.full(count, 256),
        "data": np.array([(100 * n).to_bytes(2, "little") for n in range(count)], "S8"),
        "src": np.zeros(count, int),
    }
    for name, array in arrays.items():
        with (folder / name).open("wb") as file:
            np.save(file, array)
    monkeypatch.setattr(can_source, "FRAMES_PER_TASK", 4)
    reader = CanReader(CanOptions.of(given), FIELDS, NAMES)
    parts = reader.partitions()
    assert len(parts) == 3
    batches = [batch for part in parts for batch in reader.read(part)]
    assert [v for b in batches for v in b.column("v").to_pylist()] == list(map(float, range(10)))
    assert [p for b in batches for p in b.column("position").to_pylist()] == list(range(1, 11))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"dbc": "", "columns": ""},
            "the option 'dbc' is missing\nthe option 'columns' is missing",
        ),
        ({"bus": "one"}, "the option 'bus' is wrong; got 'one'; want a whole number"),
    ],
)
def test_wrong_options(tmp_path: Path, change: dict[str, str], told: str) -> None:
    with pytest.raises(DataError) as raised:
        CanOptions.of(options(tmp_path) | change)
    assert str(raised.value) == told


def test_without_a_schema_signals_are_doubles(tmp_path: Path) -> None:
    mapping = CanOptions.of(options(tmp_path, columns="SPEED, at=frame.address")).mapping
    assert default_schema(mapping).simpleString() == (
        "struct<timestamp:timestamp,SPEED:double,at:int,vehicle:string,position:bigint>"
    )
