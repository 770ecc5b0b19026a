"""Frames and tuples as bytes: whole, cut, damaged, random."""

from __future__ import annotations

import math
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples

from headway.engine.nodes.wire_format import (
    MOST_BYTES,
    OVERHEAD,
    BadFrame,
    FrameKind,
    RowCodec,
    Sent,
    WireFrame,
    WireFrameReader,
    decode_about,
    decode_mark,
    decode_positions,
    encode,
    encode_about,
    encode_mark,
    encode_positions,
)
from headway.model.schema import DataType, Schema, schema

WIDE = schema(b="boolean", i="int", l="bigint", f="float", d="double", s="string", t="timestamp")
FRAMES = st.builds(
    WireFrame,
    st.sampled_from(FrameKind),
    st.integers(0, (1 << 16) - 1),
    st.integers(0, (1 << 32) - 1),
    st.integers(0, (1 << 64) - 1),
    st.binary(max_size=200),
)
_OF_TYPE = {
    DataType.BOOLEAN: st.booleans(),
    DataType.INT: st.integers(-(1 << 31), (1 << 31) - 1),
    DataType.BIGINT: st.integers(-(1 << 63), (1 << 63) - 1),
    DataType.TIMESTAMP: st.integers(-(1 << 63), (1 << 63) - 1),
    DataType.FLOAT: st.floats(width=32, allow_nan=False),
    DataType.DOUBLE: st.floats(allow_nan=False),
    DataType.STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
}


def rows(columns: Schema) -> st.SearchStrategy[list[Sent]]:
    values = [st.none() | _OF_TYPE[field.type] for field in columns.fields]
    row = st.tuples(_OF_TYPE[DataType.TIMESTAMP], *values)
    number = st.integers(0, (1 << 64) - 1)
    return st.lists(st.builds(Sent, row, number, st.booleans()), max_size=5)


@given(st.lists(FRAMES, max_size=5), st.integers(1, 50))
def test_frames_come_back_however_they_are_cut(frames: list[WireFrame], piece: int) -> None:
    data = b"".join(map(encode, frames))
    reader = WireFrameReader()
    read: list[WireFrame] = []
    for start in range(0, len(data), piece):
        read += reader.feed(data[start : start + piece])
    assert read == frames


@given(FRAMES, st.data())
def test_a_damaged_frame_is_noticed(frame: WireFrame, data: st.DataObject) -> None:
    whole = bytearray(encode(frame))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    reader = WireFrameReader()
    try:
        read = list(reader.feed(bytes(whole)))
    except BadFrame:
        return
    assert read == []  # a greater length: the rest is still awaited


@given(st.binary(min_size=OVERHEAD, max_size=300))
def test_noise_is_no_frame(noise: bytes) -> None:
    with pytest.raises(BadFrame):
        list(WireFrameReader().feed(b"X" + noise))


def test_what_is_wrong_is_said() -> None:
    good = encode(WireFrame(FrameKind.HEARTBEAT))
    with pytest.raises(BadFrame, match="begins with b'GET '"):
        list(WireFrameReader().feed(b"GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n"))
    with pytest.raises(BadFrame, match="version 9"):
        list(WireFrameReader().feed(good[:4] + b"\x09" + good[5:]))
    length = struct.pack(">I", MOST_BYTES + 1)
    with pytest.raises(BadFrame, match="more than"):
        list(WireFrameReader().feed(good[:20] + length + good[24:]))
    with pytest.raises(BadFrame, match="checksum"):
        list(WireFrameReader().feed(good[:-1] + bytes([good[-1] ^ 1])))


@given(rows(WIDE))
def test_tuples_come_back_exactly(sent: list[Sent]) -> None:
    codec = RowCodec("s", WIDE)
    assert codec.decode(codec.encode(sent)) == sent


def test_not_a_number_comes_back() -> None:
    codec = RowCodec("s", schema(d="double"))
    (back,) = codec.decode(codec.encode([Sent((1, math.nan), 0, False)]))
    assert math.isnan(back.row[1])


@examples(300)
@given(st.binary(max_size=100))
def test_noise_is_no_tuples_but_never_a_crash(noise: bytes) -> None:
    codec = RowCodec("s", WIDE)
    with suppress(BadFrame):
        assert codec.encode(codec.decode(noise)) is not None


@given(rows(WIDE), st.integers(1, 10))
def test_tuples_cut_short(sent: list[Sent], cut: int) -> None:
    codec = RowCodec("s", WIDE)
    payload = codec.encode(sent)
    with pytest.raises(BadFrame):
        codec.decode(payload[: max(0, len(payload) - cut)])
    with pytest.raises(BadFrame, match="too many"):
        codec.decode(payload + b"\0" * cut)


def test_the_hash_tells_schemas_apart() -> None:
    hashes = {
        RowCodec(stream, columns).hash
        for stream in ("a", "b")
        for columns in (schema(x="int"), schema(x="bigint"), schema(y="int"), schema())
    }
    assert len(hashes) == 8


def test_small_payloads() -> None:
    assert decode_mark(encode_mark(-5)) == -5
    assert decode_positions(encode_positions({3: 7, 1: 2})) == {1: 2, 3: 7}
    assert decode_about(encode_about(name="a"), name=str) == {"name": "a"}
    assert encode_about(b=1, a="x") == b'{"a": "x", "b": 1}', "the same bytes, however it is called"
    for decode, payload in ((decode_mark, b"x"), (decode_positions, b"x")):
        with pytest.raises(BadFrame):
            decode(payload)
    for payload in (b"\xff", b"[]", b"{}"):
        with pytest.raises(BadFrame):
            decode_about(payload, name=str)
