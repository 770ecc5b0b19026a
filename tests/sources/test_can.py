"""CAN frames and a DBC to tuples: logs of several kinds, and what cannot be decoded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headway.errors import DataError, FileError
from headway.model.quantities import MILLISECOND, Rate
from headway.model.query import Source
from headway.model.schema import Schema, schema
from headway.sources.can_log import (
    ARRAYS,
    CanDecoder,
    CanFrame,
    CanMapping,
    Undecodable,
    find_logs,
    read_frames,
)
from headway.sources.recordings import read_recording

can = pytest.importorskip("can", reason="python-can is not installed")
pytest.importorskip("cantools", reason="cantools is not installed")

DBC = """VERSION ""
BS_:
BU_: ECU
BO_ 256 SPEED: 4 ECU
 SG_ SPEED : 0|16@1+ (0.01,0) [0|655] "m/s" ECU
 SG_ GEAR : 16|8@1+ (1,0) [0|3] "" ECU
BO_ 257 DOOR: 1 ECU
 SG_ OPEN : 0|1@1+ (1,0) [0|1] "" ECU
VAL_ 256 GEAR 0 "PARK" 1 "DRIVE" ;
"""
COLUMNS = (("v", "SPEED"), ("gear", "GEAR"), ("open", "OPEN"), ("name", "frame.message"))
FIELDS = schema(v="double", gear="string", open="boolean", name="string")


def dbc(folder: Path) -> Path:
    path = folder / "car.dbc"
    path.write_text(DBC, encoding="utf-8")
    return path


def messages() -> list[object]:
    """Two that can be decoded, one too short, one unknown, one remote; a second apart from 1 s."""
    content = [
        (256, b"\xe8\x03\x01\x00"),
        (257, b"\x01"),
        (256, b"\x01"),
        (0x333, b"\x00"),
    ]
    found = [
        can.Message(
            timestamp=1.0 + number,
            arbitration_id=address,
            data=data,
            is_extended_id=False,
            channel=1,
        )
        for number, (address, data) in enumerate(content)
    ]
    return [*found, can.Message(timestamp=5.0, arbitration_id=256, is_extended_id=False,
                                is_remote_frame=True, dlc=4, channel=1)]  # fmt: skip


def log(path: Path) -> Path:
    with can.Logger(path) as logger:
        for message in messages():
            logger.on_message_received(message)
    return path


@pytest.mark.parametrize("suffix", ["asc", "blf", "csv", "log"])
def test_a_log_of_python_can(tmp_path: Path, suffix: str) -> None:
    decoder = CanDecoder(CanMapping(dbc(tmp_path), COLUMNS), FIELDS)
    rows = [row[1:] for _, row in decoder.rows(read_frames(log(tmp_path / f"drive.{suffix}")))]
    assert rows == [(10.0, "DRIVE", None, "SPEED"), (None, None, True, "DOOR")]
    counts = decoder.counts
    assert (counts.frames, counts.rows, counts.other) == (5, 2, 0)
    assert {(one.address, one.message) for one in counts.undecodable} == {
        (256, "SPEED"), (0x333, "")
    }  # fmt: skip
    told = str(counts)
    assert told.startswith("5 frames: 2 rows, 0 not asked for; ")
    assert "of 0x333 on bus " in told
    assert "a remote frame" in told


def test_times_start_where_the_user_says(tmp_path: Path) -> None:
    mapping = CanMapping(dbc(tmp_path), COLUMNS, start=1_000_000_000)
    frame = CanFrame(1, 250, 0, 257, b"\0", False)
    assert CanDecoder(mapping, FIELDS).decode(frame) == (1_000_000_250, None, None, False, "DOOR")


def test_messages_and_buses_are_chosen(tmp_path: Path) -> None:
    frames = [CanFrame(n, n, bus, 256, bytes(4), False) for n, bus in ((1, 0), (2, 1))]
    frames.append(CanFrame(3, 3, 1, 257, b"\0", False))
    for wanted in ("SPEED", "SP*", "0x100", "256"):
        decoder = CanDecoder(
            CanMapping(dbc(tmp_path), COLUMNS[:1], (wanted,), 1), schema(v="float")
        )
        assert list(decoder.rows(iter(frames))) == [(2, (2, 0.0))]
        assert decoder.counts.other == 2


def test_a_value_that_does_not_fit_its_column_is_counted(tmp_path: Path) -> None:
    decoder = CanDecoder(CanMapping(dbc(tmp_path), COLUMNS[:1], ("SPEED",)), schema(v="int"))
    assert decoder.decode(CanFrame(1, 0, 0, 256, b"\x64\0\0\0", False)) == (0, 1)
    assert decoder.decode(CanFrame(2, 0, 0, 256, b"\x65\0\0\0", False)) is None
    reason = "a value is not a whole number of 32 bits"
    assert decoder.counts.undecodable == {Undecodable(0, 256, "SPEED", reason): 1}


def test_arrays_get_their_zeros_back(tmp_path: Path) -> None:
    folder = tmp_path / "raw_can"
    folder.mkdir()
    arrays = {
        "t": np.array([1.0, 2.0]),
        "address": np.array([256, 257]),
        "data": np.array([b"\x64\x00\x01\x00", b"\x00"], "S8"),
        "src": np.array([0, 0]),
    }
    for name, array in arrays.items():
        with (folder / name).open("wb") as file:
            np.save(file, array)
    decoder = CanDecoder(CanMapping(dbc(tmp_path), COLUMNS[:3]), Schema(FIELDS.fields[:3]))
    assert find_logs(tmp_path) == [folder]
    assert list(decoder.rows(read_frames(folder))) == [
        (1, (1_000_000, 1.0, "DRIVE", None)),
        (2, (2_000_000, None, None, False)),
    ]
    assert [frame.number for frame in read_frames(folder, 1)] == [2]
    packed = tmp_path / "packed" / "raw_can.npz"
    packed.parent.mkdir()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    assert find_logs(packed.parent) == [packed]
    assert list(read_frames(packed)) == list(read_frames(folder))
    assert list(read_frames(packed, 1)) == list(read_frames(folder, 1))


def test_a_file_of_other_arrays_is_no_log(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "other.npz", t=np.zeros(2))
    with pytest.raises(FileError, match=r"other\.npz: .*address"):
        list(read_frames(tmp_path / "other.npz"))
    same = {name: np.zeros(2) for name in ARRAYS}
    np.savez_compressed(tmp_path / "raw.npz", allow_pickle=False, **same)
    with pytest.raises(FileError, match=r"raw\.npz: is not a CAN log of arrays of one length"):
        list(read_frames(tmp_path / "raw.npz"))


def test_a_recording_may_point_into_a_log(tmp_path: Path) -> None:
    dbc(tmp_path)
    log(tmp_path / "drive.asc")
    text = "log: drive.asc\ndbc: car.dbc\nmessages: SPEED\ncolumns: {v: SPEED}\nvehicle: A1\n"
    (tmp_path / "speed.can").write_text(text, encoding="utf-8")
    source = Source(
        name="speed", schema=schema(v="double"), rate=Rate(1, 100 * MILLISECOND), delay=0
    )
    found = list(read_recording(tmp_path, [source]))
    assert [(one.source, one.row[1:], one.vehicle) for one in found] == [("speed", (10.0,), "A1")]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("bus: one", "bus: not right; got 'one'; want a whole number"),
        ("columns: [v]", "columns: not right; got ['v']; want a signal for each column"),
        ("start: soon", "start: not right; got 'soon'; want a time, ISO 8601 or microseconds"),
        ("speed: 3", "speed: not right; got 'speed'; want one of log, dbc, bus, messages"),
        ("columns: {v: SPED}", "v: no chosen message has a signal 'SPED'; got GEAR, OPEN, SPEED"),
        ("columns: {w: SPEED}", "column 'v' has no signal; got signals for w"),
        ("messages: NONE", "no message is called NONE; got SPEED, DOOR"),
        ("dbc: none.dbc", "cannot be read as a CAN database"),
        ("log: none.asc", "there is no CAN log"),
    ],
)
def test_what_is_wrong_with_a_mapping_is_named(tmp_path: Path, change: str, told: str) -> None:
    dbc(tmp_path)
    log(tmp_path / "drive.asc")
    lines = {"log": "log: drive.asc", "dbc": "dbc: car.dbc", "columns": "columns: {v: SPEED}"}
    lines[change.split(":")[0]] = change
    (tmp_path / "speed.can").write_text("\n".join(lines.values()), encoding="utf-8")
    source = Source(name="speed", schema=schema(v="double"), rate=Rate(1, MILLISECOND), delay=0)
    with pytest.raises((DataError, FileError)) as raised:
        list(read_recording(tmp_path, [source]))
    assert told in str(raised.value)


# python-can leaves the file open when its first bytes are wrong.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    path = log(tmp_path / "drive.blf")
    path.write_bytes(b"LOGX" + path.read_bytes()[4:])
    with pytest.raises(FileError, match=r"drive\.blf: cannot be read as a CAN log"):
        list(read_frames(path))
