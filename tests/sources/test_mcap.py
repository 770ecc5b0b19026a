"""MCAP files of JSON messages as sources: topics to tuples, and what is wrong is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headway.errors import DataError, FileError, UnsupportedError
from headway.model.quantities import MILLISECOND, Rate
from headway.model.query import Source
from headway.model.schema import Schema, schema
from headway.sources.recordings import RecordedArrival, read_recording

writer = pytest.importorskip("mcap.writer", reason="mcap is not installed")

SPEED = "mcap: drive.mcap\ntopic: /speed\ncolumns: {v: value.kmh, gear: gear}\n"
FIELDS = schema(v="double", gear="string")
RADAR = (
    "mcap: drive.mcap\ntopic: /radar\neach: tracks\nsensed: header.stamp\n"
    "columns: {id: id, dx: at.x, frame: header.frame}\n"
)
TRACK = schema(id="bigint", dx="float", frame="string")


def drive(path: Path, speeds: list[Any] | None = None) -> Path:
    """Speeds logged 2 ms after they were published, radar messages with two tracks each."""
    if speeds is None:
        speeds = [{"value": {"kmh": 36}, "gear": "D"}, {"value": {"kmh": 36.5}}]
    with path.open("wb") as file:
        out = writer.Writer(file)
        out.start()
        kind = out.register_schema("Any", "jsonschema", b'{"type": "object"}')
        speed = out.register_channel("/speed", "json", kind)
        radar = out.register_channel("/radar", "json", kind)
        image = out.register_channel("/image", "protobuf", 0)
        for number, message in enumerate(speeds):
            content = message if isinstance(message, bytes) else json.dumps(message).encode()
            at = 1_000_000_000 + number * 100_000_000
            out.add_message(speed, log_time=at + 2_000_000, data=content, publish_time=at)
        header = {"stamp": {"sec": 1, "nsec": 500_000}, "frame": "front"}
        tracks = [{"id": 4, "at": {"x": 10.5}}, {"id": 5, "at": {"x": 20}}]
        content = json.dumps({"header": header, "tracks": tracks}).encode()
        out.add_message(radar, log_time=1_030_000_000, data=content, publish_time=1_020_000_000)
        out.add_message(image, log_time=1_040_000_000, data=b"\0", publish_time=1_040_000_000)
        out.finish()
    return path


def read(folder: Path, pointer: str, fields: Schema = FIELDS) -> list[RecordedArrival]:
    (folder / "car.yaml").write_text(pointer, encoding="utf-8")
    source = Source(name="car", schema=fields, rate=Rate(1, 100 * MILLISECOND), delay=0)
    return list(read_recording(folder, [source]))


def test_messages_are_sensed_when_published_and_arrive_when_logged(tmp_path: Path) -> None:
    drive(tmp_path / "drive.mcap")
    assert read(tmp_path, SPEED + "vehicle: A1\n") == [
        RecordedArrival(1_002_000, "car", (1_000_000, 36.0, "D"), "A1"),
        RecordedArrival(1_102_000, "car", (1_100_000, 36.5, None), "A1"),
    ]


def test_each_entry_of_a_list_is_a_tuple(tmp_path: Path) -> None:
    drive(tmp_path / "drive.mcap")
    assert read(tmp_path, RADAR, TRACK) == [
        RecordedArrival(1_030_000, "car", (1_000_500, 4, 10.5, "front"), None),
        RecordedArrival(1_030_000, "car", (1_000_500, 5, 20.0, "front"), None),
    ]


def test_messages_come_in_order_of_log_time(tmp_path: Path) -> None:
    path = tmp_path / "drive.mcap"
    with path.open("wb") as file:
        out = writer.Writer(file, chunk_size=64)
        out.start()
        speed = out.register_channel("/speed", "json", 0)
        for at in (3, 1, 2):
            content = json.dumps({"value": {"kmh": at}, "gear": None}).encode()
            out.add_message(speed, log_time=at * 1_000_000, data=content, publish_time=0)
        out.finish()
    assert [one.row[1] for one in read(tmp_path, SPEED)] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("pointer", "told"),
    [
        (SPEED.replace("/speed", "/sped"), "there is no topic '/sped'; got /image, /radar, /speed"),
        (
            SPEED.replace("kmh", "mph"),
            "messages of /speed have no field 'value.mph'; got value, gear",
        ),
        (SPEED.replace("topic", "topik"), "topik: not right; got 'topik'; want one of mcap, topic"),
        (SPEED.replace("v: value.kmh, ", ""), "column 'v' has no field; got fields for gear"),
        (
            SPEED + "each: list",
            "drive.mcap:1: list: not right; got ['gear', 'value']; want a list of",
        ),
        (SPEED.replace("value.kmh", "gear"), "drive.mcap:1: v: not a value of its column; got 'D'"),
        (
            SPEED + "sensed: gear",
            "drive.mcap:1: gear: not a value of its column; got 'D'; want timestamp",
        ),
        (SPEED.replace("drive.mcap", "none.mcap"), "none.mcap: cannot be read: No such file"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, pointer: str, told: str) -> None:
    drive(tmp_path / "drive.mcap")
    with pytest.raises((DataError, FileError)) as raised:
        read(tmp_path, pointer)
    assert told in str(raised.value)


def test_other_encodings_are_refused_by_name(tmp_path: Path) -> None:
    drive(tmp_path / "drive.mcap")
    with pytest.raises(UnsupportedError, match=r"messages of /image are in protobuf; only json"):
        read(tmp_path, SPEED.replace("/speed", "/image"))


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[1]", b"[" * 100_000])
def test_a_message_that_is_no_json_object_is_named(tmp_path: Path, content: bytes) -> None:
    drive(tmp_path / "drive.mcap", [{"value": {"kmh": 1}, "gear": "P"}, content])
    with pytest.raises(DataError, match=r"drive\.mcap:2: (a message is not JSON|not right; got)"):
        read(tmp_path, SPEED)


def test_a_file_without_its_end_is_refused_wherever_it_was_cut(tmp_path: Path) -> None:
    path = drive(tmp_path / "drive.mcap")
    content = path.read_bytes()
    for cut in [*range(0, len(content), 29), len(content) - 1]:
        path.write_bytes(content[:cut])
        with pytest.raises(FileError, match=r"drive\.mcap: is no whole MCAP file: cut short"):
            read(tmp_path, SPEED)


def test_a_damaged_part_is_refused(tmp_path: Path) -> None:
    path = drive(tmp_path / "drive.mcap")
    content = bytearray(path.read_bytes())
    content[content.index(b"json") + 100] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"is no whole MCAP file: cut short or damaged"):
        read(tmp_path, SPEED)


def test_whatever_bit_is_wrong_the_file_is_read_or_refused(tmp_path: Path) -> None:
    """Lengths too, by which a reader may ask for more memory than there is."""
    path = drive(tmp_path / "drive.mcap")
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x80]) + whole[place + 1 :])
        try:
            read(tmp_path, SPEED)
        except (DataError, FileError, UnsupportedError):
            refused += 1
    assert refused > len(whole) // 20
