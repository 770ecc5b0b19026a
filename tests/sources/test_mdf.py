"""ASAM MDF 4 measurements as sources: channels to columns, and what is wrong is named."""

from __future__ import annotations

import gc
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headway.errors import DataError, FileError, Place
from headway.model.quantities import MILLISECOND, Rate
from headway.model.query import Source
from headway.model.schema import Schema, schema
from headway.sources.mdf_file import check_whole, find_group
from headway.sources.recordings import RecordedArrival, read_recording

asammdf = pytest.importorskip("asammdf", reason="asammdf is not installed")

START = 1_767_225_600_000_000
"""2026-01-01 in microseconds"""
FIELDS = schema(v="float", gear="string", code="int", ok="boolean")
POINTER = "mdf: drive.mf4\ncolumns: {v: speed, gear: gear, code: gear, ok: flag}\n"


def measurement(path: Path, version: str = "4.10") -> Path:
    """A fast group of 5 samples with three channels, a slow one of 2 with another 'speed'."""
    times = np.arange(5) / 10
    texts = {"val_0": 0, "text_0": b"PARK", "val_1": 1, "text_1": b"DRIVE", "default": b"?"}
    fast = [
        asammdf.Signal(
            np.arange(5, dtype="i2"),
            times,
            name="speed",
            conversion={"a": 0.5, "b": 1.0},
            invalidation_bits=np.array([0, 0, 1, 0, 0], bool),
        ),
        asammdf.Signal(np.array([0, 1, 1, 0, 1], "u1"), times, name="gear", conversion=texts),
        asammdf.Signal(np.array([1, 0, 1, 0, 1], "u1"), times, name="flag"),
        asammdf.Signal(np.array([0, 1, 2, np.nan, 0.5]), times, name="halves"),
    ]
    slow = [asammdf.Signal(np.array([7.0, 8.0]), times[:2], name="speed")]
    with asammdf.MDF(version=version) as mdf:
        mdf.header.start_time = datetime(2026, 1, 1, tzinfo=UTC)
        mdf.append(fast, comment="fast")
        mdf.append(slow, comment="slow")
        mdf.append([asammdf.Signal(np.array([1.0]), times[:1], name="alone")])
        mdf.save(path, overwrite=True)
    return path


def read(folder: Path, pointer: str, fields: Schema = FIELDS) -> list[RecordedArrival]:
    (folder / "car.yaml").write_text(pointer, encoding="utf-8")
    source = Source(name="car", schema=fields, rate=Rate(1, 100 * MILLISECOND), delay=0)
    return list(read_recording(folder, [source]))


def test_channels_become_columns(tmp_path: Path) -> None:
    measurement(tmp_path / "drive.mf4")
    assert read(tmp_path, POINTER + "group: fast\nvehicle: A1\n") == [
        RecordedArrival(START, "car", (START, 1.0, "PARK", 0, True), "A1"),
        RecordedArrival(START + 100_000, "car", (START + 100_000, 1.5, "DRIVE", 1, False), "A1"),
        RecordedArrival(START + 200_000, "car", (START + 200_000, None, "DRIVE", 1, True), "A1"),
        RecordedArrival(START + 300_000, "car", (START + 300_000, 2.5, "PARK", 0, False), "A1"),
        RecordedArrival(START + 400_000, "car", (START + 400_000, 3.0, "DRIVE", 1, True), "A1"),
    ]


def test_a_group_is_found_by_its_channels_name_or_number(tmp_path: Path) -> None:
    measurement(tmp_path / "drive.mf4")
    # only the fast group has both
    both = read(
        tmp_path, "mdf: drive.mf4\ncolumns: {v: speed, ok: flag}\n", schema(v="float", ok="int")
    )
    assert len(both) == 5
    for group in ("slow", "1"):
        pointer = f"mdf: drive.mf4\ncolumns: {{v: speed}}\ngroup: {group}\nstart: 1000\n"
        found = read(tmp_path, pointer, schema(v="double"))
        assert [one.row for one in found] == [(1_000, 7.0), (101_000, 8.0)]


def test_long_measurements_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.sources.mdf_file.RECORDS", 2)
    test_channels_become_columns(tmp_path)


@pytest.mark.parametrize(
    ("pointer", "fields", "told"),
    [
        (
            "mdf: drive.mf4\ncolumns: {v: sped}",
            {"v": "double"},
            "drive.mf4: there is no channel 'sped'; got alone, flag, gear, halves, speed, time",
        ),
        (
            "mdf: drive.mf4\ncolumns: {v: speed}",
            {"v": "double"},
            "drive.mf4: several groups have speed; got 0 (fast), 1 (slow); say which: 'group:'",
        ),
        (
            "mdf: drive.mf4\ncolumns: {v: flag, w: alone}",
            {"v": "double", "w": "double"},
            "no group has flag, alone together; got flag in 0 (fast); alone in 2 (Python)",
        ),
        (
            "mdf: drive.mf4\ncolumns: {v: speed}\ngroup: medium",
            {"v": "double"},
            "no group medium has speed; got speed in 0 (fast), 1 (slow)",
        ),
        (
            "mdf: drive.mf4\ncolumns: {v: halves}",
            {"v": "int"},
            "drive.mf4:5: v (halves): a sample is not a value of its column; got 0.5; want int",
        ),
        (
            "mdf: drive.mf4\ncolumns: {w: flag}",
            {"v": "int"},
            "column 'v' has no channel; got channels for w",
        ),
        (
            "mdf: drive.mf4\ncolums: {v: flag}",
            {"v": "int"},
            "colums: not right; got 'colums'; want one of mdf",
        ),
        (
            "mdf: none.mf4\ncolumns: {v: flag}",
            {"v": "int"},
            "none.mf4: cannot be read: No such file",
        ),
        (
            "mdf: a\nmcap: b",
            {"v": "int"},
            "not right; got ['mdf', 'mcap']; want one of the keys mdf, mcap, bsm, cam",
        ),
        (
            "columns: {v: flag}",
            {"v": "int"},
            "not right; got ['columns']; want one of the keys mdf, mcap, bsm, cam",
        ),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, pointer: str, fields: dict[str, Any], told: str
) -> None:
    measurement(tmp_path / "drive.mf4")
    with pytest.raises((DataError, FileError)) as raised:
        read(tmp_path, pointer, schema(**fields))
    assert told in str(raised.value)


def test_a_file_without_its_end_is_refused_wherever_it_was_cut(tmp_path: Path) -> None:
    path = measurement(tmp_path / "drive.mf4")
    check_whole(path)
    content = path.read_bytes()
    for cut in [*range(0, len(content), 97), len(content) - 1]:
        path.write_bytes(content[:cut])
        with pytest.raises(FileError, match=r"drive\.mf4: (is cut short|is no MDF file)"):
            read(tmp_path, POINTER)


def test_an_unfinished_file_and_an_old_one_are_refused_by_name(tmp_path: Path) -> None:
    path = measurement(tmp_path / "drive.mf4")
    path.write_bytes(path.read_bytes().replace(b"MDF     ", b"UnFinMF ", 1))
    with pytest.raises(FileError, match=r"was not finished by the tool .* let that tool finalise"):
        read(tmp_path, POINTER)
    path.write_bytes(b"MDF     3.30    " + bytes(200))
    with pytest.raises(FileError, match=r"is not MDF 4; got version 3\.30"):
        read(tmp_path, POINTER)
    path.write_bytes(b"##" * 100)
    with pytest.raises(FileError, match="is no MDF file"):
        read(tmp_path, POINTER)


def test_a_damaged_link_is_told(tmp_path: Path) -> None:
    path = measurement(tmp_path / "drive.mf4")
    content = bytearray(path.read_bytes())
    content[64 + 24] ^= 0x40  # the first link of the header block
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"is damaged: there is no block at byte|is cut short"):
        read(tmp_path, POINTER)


def block(name: bytes, *links: int, length: int | None = None, count: int | None = None) -> bytes:
    """An MDF 4 block: its name, four bytes, its length, how many links, the links."""
    size = 24 + 8 * len(links) if length is None else length
    head = name + bytes(4) + size.to_bytes(8, "little")
    told = len(links) if count is None else count
    return head + told.to_bytes(8, "little") + b"".join(at.to_bytes(8, "little") for at in links)


IDENTIFICATION = b"MDF     4.10    ".ljust(64, b"\0")


def whole(tmp_path: Path, *blocks: bytes) -> None:
    path = tmp_path / "drive.mf4"
    path.write_bytes(IDENTIFICATION + b"".join(blocks))
    check_whole(path)


def test_blocks_that_are_whole(tmp_path: Path) -> None:
    """To the last byte; links to nothing, to each other and back."""
    whole(tmp_path, block(b"##HD"))
    whole(tmp_path, block(b"##HD", 0, 112, 64), block(b"##TX", 64, 112))


@pytest.mark.parametrize(
    ("blocks", "told"),
    [
        # nothing where the header should be, then one that does not begin as blocks do
        ((), "is cut short: a block that should be at byte 64 is not whole; got 64 bytes"),
        ((block(b"HD##"),), "is damaged: there is no block at byte 64; got b'HD##'"),
        # a byte of a block is missing; a link that leads to the very end
        ((block(b"##HD", length=25),), "is cut short: a block that should be at byte 64"),
        ((block(b"##HD", 96),), "is cut short: a block that should be at byte 96"),
        # one that leads further than any file goes
        (
            (block(b"##HD", 2**64 - 1),),
            "a block that should be at byte 18,446,744,073,709,551,615 is not whole",
        ),
        # a block shorter than its own links, by one byte
        (
            (block(b"##HD", 96, 0, length=39), bytes(40)),
            "is damaged: there is no block at byte 64; got b'##HD'",
        ),
        # more links than any file holds
        ((block(b"##HD", count=2**60),), "is damaged: there is no block at byte 64"),
        # the second block is damaged, and so is one behind it
        (
            (block(b"##HD", 96), block(b"#TXX")),
            "is damaged: there is no block at byte 96; got b'#TXX'",
        ),
        (
            (block(b"##HD", 0, 104), block(b"##DG", 136), block(b"##CG", length=30)),
            "is cut short: a block that should be at byte 136 is not whole; got 160 bytes",
        ),
    ],
)
def test_damaged_blocks(tmp_path: Path, blocks: tuple[bytes, ...], told: str) -> None:
    with pytest.raises(FileError) as raised:
        whole(tmp_path, *blocks)
    assert told in str(raised.value)


def test_a_channel_outside_of_its_records_is_refused(tmp_path: Path) -> None:
    """What reads the samples does so in C, wherever that leads."""
    path = measurement(tmp_path / "drive.mf4")
    content = bytearray(path.read_bytes())
    begin = content.index(b"##CN")  # id, gap, length, number of links, links, then what it says
    links = int.from_bytes(content[begin + 16 : begin + 24], "little")
    offset = begin + 24 + 8 * links + 4
    content[offset : offset + 4] = (28_416).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"is damaged: channel '\w+' lies outside of its records"):
        read(tmp_path, POINTER + "group: fast\n")


@pytest.mark.parametrize("part", [b"##CN", b"##CG", b"##DG", b"##TX"])
def test_what_trips_the_reader_is_told_and_nothing_else(tmp_path: Path, part: bytes) -> None:
    """No complaint of what it had half made follows: an error nobody catches fails a test."""
    path = measurement(tmp_path / "drive.mf4")
    path.write_bytes(path.read_bytes().replace(part, b"##XX"))
    try:
        read(tmp_path, POINTER + "group: fast\n")
    except (DataError, FileError) as error:
        assert str(path) in str(error)  # noqa: PT017 - some damage makes no difference
    gc.collect()


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (IDENTIFICATION[:63], "is no MDF file"),
        (IDENTIFICATION.replace(b"4.10", b"5.00"), "is not MDF 4; got version 5.00"),
        (IDENTIFICATION.replace(b"4.10", b"40.0"), "is not MDF 4; got version 40.0"),
        (IDENTIFICATION.replace(b"MDF ", b"MDFX"), "is no MDF file"),
    ],
)
def test_identifications(tmp_path: Path, start: bytes, told: str) -> None:
    path = tmp_path / "drive.mf4"
    path.write_bytes(start)
    with pytest.raises(FileError) as raised:
        check_whole(path)
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("values", "column", "told"),
    [
        ([0, 1, 2], "boolean", "got 2"),
        ([0, -1], "boolean", "got -1"),
        ([2.0**31], "int", "got 2147483648.0"),
        ([-(2.0**31) - 1], "int", "got -2147483649.0"),
        ([2.0**31 - 1, -(2.0**31)], "int", ""),
        ([2.0**31], "bigint", ""),
        ([2.0**63], "bigint", "got 9.2"),
        ([1, 0], "boolean", ""),
    ],
)
def test_the_largest_values_of_a_column(
    tmp_path: Path, values: list[float], column: str, told: str
) -> None:
    with asammdf.MDF(version="4.10") as mdf:
        times = np.arange(len(values)) / 10
        mdf.append([asammdf.Signal(np.array(values, "f8"), times, name="x")])
        mdf.save(tmp_path / "drive.mf4", overwrite=True)
    pointer = "mdf: drive.mf4\ncolumns: {x: x}\nstart: 0\n"
    if not told:
        found = [one.row[1] for one in read(tmp_path, pointer, schema(x=column))]
        assert found == values
        assert {type(one) for one in found} == {bool if column == "boolean" else int}
        return
    with pytest.raises(DataError) as raised:
        read(tmp_path, pointer, schema(x=column))
    assert told in str(raised.value)
    wrong = len(values)  # the last one is
    assert f"drive.mf4:{wrong}: x (x): a sample is not a value" in str(raised.value)


@pytest.mark.parametrize(
    ("master", "kind", "told"),
    [
        (0, 1, ""),
        (None, 1, "group 0 (fast) has no times; got no master channel"),
        (0, 2, "got a master channel of type 2; want a master channel of time"),
    ],
)
def test_a_group_needs_a_channel_of_times(master: int | None, kind: int, told: str) -> None:
    group = SimpleNamespace(
        channel_group=SimpleNamespace(acq_name="fast", comment=""),
        channels=[SimpleNamespace(sync_type=kind)],
    )
    measurement = SimpleNamespace(
        channels_db={"x": [(0, 1)]},
        groups=[group],
        masters_db={} if master is None else {0: master},
    )
    if not told:
        assert find_group(measurement, ["x"], None, Place("f")) == 0
        return
    with pytest.raises(DataError) as raised:
        find_group(measurement, ["x"], None, Place("f"))
    assert told in str(raised.value)
