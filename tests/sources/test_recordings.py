from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples

from headway.errors import DataError, FileError
from headway.model.query import Source
from headway.model.schema import Schema, schema
from headway.sources.parquet_file import BATCH_ROWS, StreamWriter
from headway.sources.recordings import (
    RecordedArrival,
    read_recording,
    read_stream,
    scan_recording,
)

CAR = schema(speed="double [m/s]", gear="int")
ALL = schema(b="boolean", i="int", l="bigint", f="float", d="double", s="string", t="timestamp")


def sources(*names: str, columns: Schema = CAR) -> list[Source]:
    return [Source(name=name, schema=columns) for name in names]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def table(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


# ------------------------------------------------------------ formats


def test_csv(tmp_path: Path) -> None:
    write(
        tmp_path / "car.csv",
        "gear,timestamp,extra,speed,arrived_at\n"
        "3,1970-01-01T00:00:01Z,?,1.5,1000005\n"
        "\n"
        ",1000001,?,,1970-01-01T00:00:02\n"
        "-1,1970-01-01T02:00:01.000002+02:00,?,nan,2000000\n",
    )
    assert repr(list(read_recording(tmp_path, sources("car")))) == repr(
        [
            RecordedArrival(1000005, "car", (1000000, 1.5, 3), None),
            RecordedArrival(2000000, "car", (1000001, None, None), None),
            RecordedArrival(2000000, "car", (1000002, float("nan"), -1), None),
        ]
    )


def test_a_folder_of_files_is_taken_in_order_of_arrival(tmp_path: Path) -> None:
    (tmp_path / "car").mkdir()
    write(tmp_path / "car" / "b.csv", "timestamp,speed,gear\n2,2.0,2\n5,5.0,5\n")
    write(tmp_path / "car" / "a.csv", "timestamp,speed,gear\n1,1.0,1\n5,5.5,6\n")
    write(tmp_path / "car" / "_SUCCESS", "")
    (tmp_path / "van.parquet").mkdir()  # as Spark writes it
    table(
        tmp_path / "van.parquet" / "part-0.parquet",
        timestamp=[3],
        speed=[3.0],
        gear=pa.array([3], pa.int32()),
    )
    found = [(one.source, one.row) for one in read_recording(tmp_path, sources("car", "van"))]
    assert found == [
        ("car", (1, 1.0, 1)),
        ("car", (2, 2.0, 2)),
        ("van", (3, 3.0, 3)),
        ("car", (5, 5.5, 6)),
        ("car", (5, 5.0, 5)),
    ]
    assert scan_recording(tmp_path, sources("car", "van")).tuples == {"car": 4, "van": 1}


def test_a_folder_of_several_kinds_is_refused(tmp_path: Path) -> None:
    (tmp_path / "car").mkdir()
    write(tmp_path / "car" / "a.csv", "")
    write(tmp_path / "car" / "b.jsonl", "")
    with pytest.raises(FileError, match=r"files of several kinds for source 'car'; got a.csv, b"):
        scan_recording(tmp_path, sources("car"))


def test_jsonl(tmp_path: Path) -> None:
    write(
        tmp_path / "car.jsonl",
        '{"timestamp": 5, "speed": 2, "gear": null, "vehicle": "v1"}\n\n'
        '{"timestamp": "1970-01-01T00:00:01Z", "speed": 2.5}\n',
    )
    assert list(read_recording(tmp_path, sources("car"))) == [
        RecordedArrival(5, "car", (5, 2.0, None), "v1"),
        RecordedArrival(1000000, "car", (1000000, 2.5, None), None),
    ]


def test_an_empty_jsonl_has_no_tuples(tmp_path: Path) -> None:
    write(tmp_path / "car.jsonl", "")
    assert list(read_recording(tmp_path, sources("car"))) == []


@pytest.mark.parametrize(
    "times",
    [
        pa.array([1000, 2000], pa.int64()),
        pa.array([1000, 2000], pa.timestamp("us", tz="UTC")),
        pa.array([1000, 2000], pa.timestamp("us", tz="Asia/Tokyo")),
        pa.array([1, 2], pa.timestamp("ms")),
        pa.array([1_000_000, 2_000_000], pa.timestamp("ns")),
    ],
    ids=lambda array: str(array.type),
)
def test_parquet_with_narrower_types(tmp_path: Path, times: Any) -> None:
    table(
        tmp_path / "car.parquet",
        timestamp=times,
        speed=pa.array([1.5, None], pa.float32()),
        gear=pa.array([1, 2], pa.int8()),
        vehicle=pa.array(["x", "y"]).dictionary_encode(),
    )
    assert list(read_recording(tmp_path, sources("car"))) == [
        RecordedArrival(1000, "car", (1000, 1.5, 1), "x"),
        RecordedArrival(2000, "car", (2000, None, 2), "y"),
    ]
    assert [one.vehicle for one in read_recording(tmp_path, sources("car"), "y")] == ["y"]


# ------------------------------------------------------------ order


def test_sources_are_merged_by_arrival_then_source_then_place(tmp_path: Path) -> None:
    header = "timestamp,arrived_at,speed,gear\n"
    write(tmp_path / "b.csv", header + "9,10,0,1\n8,10,0,2\n1,30,0,3\n")
    write(tmp_path / "a.csv", header + "7,10,0,4\n7,20,0,5\n7,30,0,6\n")
    read = list(read_recording(tmp_path, sources("b", "a")))
    assert [(one.arrived_at, one.source, one.row[2]) for one in read] == [
        (10, "b", 1),
        (10, "b", 2),
        (10, "a", 4),
        (20, "a", 5),
        (30, "b", 3),
        (30, "a", 6),
    ]


def test_a_file_out_of_order_is_refused_unless_the_vehicle_chosen_is_in_order(
    tmp_path: Path,
) -> None:
    text = "timestamp,vehicle,speed,gear\n5,x,0,1\n6,x,0,1\n3,y,0,1\n"
    path = write(tmp_path / "car.csv", text)
    with pytest.raises(DataError) as raised:
        list(read_recording(tmp_path, sources("car")))
    assert str(raised.value) == (
        f"{path}:4: arrived_at: a tuple arrives before the one in front of it; "
        "got 3 after 6 (microseconds); sort the file by arrival, stably"
    )
    assert [one.row[0] for one in read_recording(tmp_path, sources("car"), "x")] == [5, 6]


def test_files_are_read_piece_by_piece(tmp_path: Path) -> None:
    with StreamWriter(tmp_path / "car.parquet", CAR) as writer:
        for number in range(5 * BATCH_ROWS):
            writer.write((number, 0.5, number), number)
    read = read_recording(tmp_path, sources("car"))
    assert next(read).row == (0, 0.5, 0)
    before = pa.total_allocated_bytes()
    assert sum(1 for _ in read) == 5 * BATCH_ROWS - 1
    assert pa.total_allocated_bytes() <= before


# ------------------------------------------------------------ what is wrong is said


def test_missing_files_and_folders(tmp_path: Path) -> None:
    write(tmp_path / "cat.csv", "")
    with pytest.raises(FileError) as raised:
        read_recording(tmp_path, sources("car"))
    assert str(raised.value) == (
        f"{tmp_path}: no file for source 'car'; got cat.csv; "
        "write car.parquet, car.csv, car.jsonl, car.can, car.yaml"
    )
    with pytest.raises(FileError, match="there is no such folder"):
        read_recording(tmp_path / "none", sources("car"))
    for name in ("car.csv", "car.jsonl"):
        write(tmp_path / name, "")
    with pytest.raises(
        FileError, match=r"several files for source 'car'; got car\.csv, car\.jsonl"
    ):
        read_recording(tmp_path, sources("car"))


HEADER = "timestamp,speed,gear\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("car.csv", "", "{path}:1: no column 'timestamp'; got no columns"),
        (
            "car.csv",
            "timestamp,gear\n",
            "{path}:1: no column 'speed'; got the columns timestamp, gear; want double [m/s]",
        ),
        (
            "car.csv",
            HEADER + "1,2,3\n2,fast,3\n",
            "{path}:3: speed: not a value of its column; got 'fast'; want double [m/s]",
        ),
        (
            "car.csv",
            HEADER + "1,2,3.0\n",
            "{path}:2: gear: not a value of its column; got '3.0'; want int",
        ),
        ("car.csv", HEADER + "1,2,2147483648\n", "{path}:2: gear: not a value of its column"),
        ("car.csv", HEADER + "1,1_0,1\n", "{path}:2: speed: not a value of its column"),
        (
            "car.csv",
            HEADER + "noon,2,3\n",
            "{path}:2: timestamp: not a value of its column; got 'noon'; "
            "want timestamp: ISO 8601, or whole microseconds since the epoch",
        ),
        ("car.csv", HEADER + "99999999999999999999,2,3\n", "{path}:2: timestamp: not a value"),
        (
            "car.csv",
            HEADER + "1,2\n",
            "{path}:2: a line has another number of cells than the header; "
            "got 2 cells for 3 columns",
        ),
        ("car.csv", HEADER + ",2,3\n", "{path}:2: arrived_at: a tuple without a time of arrival"),
        ("car.csv", HEADER + '1,"2,3\n', "{path}: is not CSV in UTF-8"),
        ("car.jsonl", '{"timestamp": 1}\n', "{path}:1: no column 'speed'; got the columns timest"),
        ("car.jsonl", "[1]\n", "{path}:1: a line must be a JSON object; got [1]"),
        (
            "car.jsonl",
            '{"timestamp": 1, "speed": 1, "gear": 1}\n{"timestamp": 2, "speed"\n',
            "{path}:2:25: not JSON: Expecting ':' delimiter",
        ),
        (
            "car.jsonl",
            '{"timestamp": 1, "speed": true, "gear": 1}\n',
            "{path}:1: speed: not a value of its column; got True; want double [m/s]",
        ),
        (
            "car.jsonl",
            '{"timestamp": 1, "speed": 1, "gear": "1"}\n',
            "{path}:1: gear: not a value of its column; got '1'; want int",
        ),
        ("car.jsonl", "[" * 100_000 + "\n", "{path}:1: not readable JSON"),
    ],
)
def test_text_that_is_wrong(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises((DataError, FileError)) as raised:
        list(read_recording(tmp_path, sources("car")))
    assert str(raised.value).startswith(message.format(path=path))


@pytest.mark.parametrize("name", ["car.csv", "car.jsonl"])
def test_text_that_is_not_utf8(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="in UTF-8"):
        list(read_recording(tmp_path, sources("car")))


def test_parquet_with_the_wrong_columns(tmp_path: Path) -> None:
    path = table(tmp_path / "car.parquet", timestamp=[1], speed=["a"], gear=[1.5], b=[1])
    with pytest.raises(DataError) as raised:
        read_recording(tmp_path, sources("car"))
    assert str(raised.value).splitlines() == [
        f"{path}: speed: a column has the wrong type; got string; want double [m/s]",
        f"{path}: gear: a column has the wrong type; got double; want int",
    ]
    table(path, timestamp=[1], b=[1])
    with pytest.raises(DataError, match="no column 'speed'; got the columns timestamp, b"):
        read_recording(tmp_path, sources("car"))


def test_times_finer_than_a_microsecond(tmp_path: Path) -> None:
    times = pa.array([1], pa.timestamp("ns"))
    table(tmp_path / "car.parquet", timestamp=times, speed=[1.0], gear=pa.array([1], pa.int32()))
    with pytest.raises(DataError, match="timestamp: a value does not fit its column"):
        list(read_recording(tmp_path, sources("car")))


def test_parquet_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "car.parquet"
    with StreamWriter(path, CAR) as writer:
        for number in range(1000):
            writer.write((number, 0.5, number), number)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match="cannot be read as Parquet \\(is the file complete"):
        read_recording(tmp_path, sources("car"))
    path.write_bytes(b"PAR1" + bytes(200) + whole[204:])
    with pytest.raises((FileError, DataError)):
        list(read_recording(tmp_path, sources("car")))
    path.unlink()
    path.mkdir()
    with pytest.raises(FileError):
        read_recording(tmp_path, sources("car"))


# ------------------------------------------------------------ writing


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out" / "car.parquet"
    with (
        pytest.raises(DataError, match="gear: a value is not of its column's type"),
        StreamWriter(path, CAR) as writer,
    ):
        writer.write((1, 0.5, "x"), 1)
    assert list(path.parent.iterdir()) == []
    with pytest.raises(RuntimeError), StreamWriter(path, CAR):
        raise RuntimeError
    assert list(path.parent.iterdir()) == []


def test_an_empty_stream_keeps_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "car.parquet"
    with StreamWriter(path, CAR, arrival=False):
        pass
    assert pq.read_schema(path).names == ["timestamp", "speed", "gear"]
    assert str(pq.read_schema(path).field("timestamp").type) == "timestamp[us, tz=UTC]"
    assert list(read_stream(path, CAR)) == []


LONG = st.integers(-(2**63), 2**63 - 1)
TIME = st.integers(-(2**53), 2**53)
ROWS = st.lists(
    st.tuples(
        TIME | st.none(),
        st.booleans() | st.none(),
        st.integers(-(2**31), 2**31 - 1) | st.none(),
        LONG | st.none(),
        st.floats(width=32) | st.none(),
        st.floats() | st.none(),
        st.text(st.characters(exclude_categories=["Cs"])) | st.none(),
        TIME | st.none(),
    ),
    max_size=20,
)


@examples(60)
@given(ROWS, st.data(), st.booleans())
def test_what_is_written_comes_back(rows: list[Any], data: st.DataObject, owned: bool) -> None:
    arrivals = sorted(data.draw(st.lists(TIME, min_size=len(rows), max_size=len(rows))))
    owners = ["v", None] if owned else [None]
    expected = [
        RecordedArrival(at, "all", row, owners[number % len(owners)])
        for number, (at, row) in enumerate(zip(arrivals, rows, strict=True))
    ]
    with tempfile.TemporaryDirectory() as folder:
        with StreamWriter(Path(folder) / "all.parquet", ALL, vehicle=owned) as writer:
            for one in expected:
                writer.write(one.row, one.arrived_at, one.vehicle)
        read: Iterator[RecordedArrival] = read_recording(Path(folder), sources("all", columns=ALL))
        assert repr(list(read)) == repr(expected)
