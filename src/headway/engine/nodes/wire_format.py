"""Bytes between node processes: frames, typed, with length and checksum, and tuples in them.
Nothing in them is ever executed.

    magic "HWAY" | version | kind | stream | schema | sequence | length | CRC-32 | payload

All numbers are big-endian. The checksum covers the header before it and the payload.

Tuples are written by the schema of their stream. Both sides know it; a hash of it goes along. A
tuple: flags (late), its number, a bit per column that is NULL, then the values that are not.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from headway.model.schema import DataType, Schema
from headway.model.user_operator import Row

MAGIC = b"HWAY"
VERSION = 2
MOST_BYTES = 1 << 20
"""a longer payload is not believed"""
MOST_GREETING = 512
"""nor one longer than this from somebody who has not proved who it is"""

_HEADER = struct.Struct(">4sBBHIQI")
_CRC = struct.Struct(">I")
_MARK = struct.Struct(">q")
_POSITION = struct.Struct(">HQ")
OVERHEAD = _HEADER.size + _CRC.size
UNSENDABLE = (struct.error, UnicodeError, AttributeError, TypeError)
"""what comes of a tuple whose values are not those of its stream's columns when it is encoded"""


class FrameKind(IntEnum):
    HELLO = 1
    """who speaks: JSON with its name, its incarnation, the plan's fingerprint and a nonce"""
    WELCOME = 2
    """the end of a greeting: JSON with the receiver's incarnation and proof"""
    ROWS = 3
    MARK = 4
    """punctuation: no unmarked tuple of the stream is older than this any more"""
    END = 5
    """nothing more comes on the stream"""
    ACKNOWLEDGE = 6
    HEARTBEAT = 7
    BYE = 8
    """the speaker has finished; its silence is no failure"""
    CHALLENGE = 9
    """the receiver's nonce"""
    PROOF = 10
    """that the sender has the key"""


class BadFrame(Exception):
    """What came is not a frame. The connection is of no more use."""


class WireFrame(NamedTuple):
    kind: FrameKind
    stream: int = 0
    schema: int = 0
    sequence: int = 0
    payload: bytes = b""


def encode(frame: WireFrame) -> bytes:
    header = _HEADER.pack(
        MAGIC,
        VERSION,
        frame.kind,
        frame.stream,
        frame.schema,
        frame.sequence,
        len(frame.payload),
    )
    return header + _CRC.pack(zlib.crc32(frame.payload, zlib.crc32(header))) + frame.payload


class WireFrameReader:
    """Cuts a stream of bytes into frames, however they come in pieces. ``most`` is the longest
    payload believed: what says it is longer is refused before it has come."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most = most
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[WireFrame]:
        """The frames that are complete; BadFrame when the bytes are none."""
        self.add(data)
        while (frame := self.next()) is not None:
            yield frame

    def add(self, data: bytes) -> None:
        self._bytes += data

    def next(self) -> WireFrame | None:
        """The next frame if it is complete; BadFrame when the bytes are none."""
        if len(self._bytes) < OVERHEAD:
            return None
        header = bytes(self._bytes[: _HEADER.size])
        magic, version, kind, stream, schema, sequence, length = _HEADER.unpack(header)
        if magic != MAGIC:
            raise BadFrame(f"not a frame of Headway: begins with {magic!r}")
        if version != VERSION:
            raise BadFrame(f"frame of version {version}, this node speaks {VERSION}")
        if length > self.most:
            raise BadFrame(f"a payload of {length} bytes, more than {self.most}")
        if len(self._bytes) < OVERHEAD + length:
            return None
        (checksum,) = _CRC.unpack_from(self._bytes, _HEADER.size)
        payload = bytes(self._bytes[OVERHEAD : OVERHEAD + length])
        if zlib.crc32(payload, zlib.crc32(header)) != checksum:
            raise BadFrame("the checksum does not fit")
        if kind not in _KINDS:
            raise BadFrame(f"frame of unknown kind {kind}")
        del self._bytes[: OVERHEAD + length]
        return WireFrame(FrameKind(kind), stream, schema, sequence, payload)


_KINDS = frozenset(FrameKind)


def encode_mark(mark: int) -> bytes:
    return _MARK.pack(mark)


def decode_mark(payload: bytes) -> int:
    if len(payload) != _MARK.size:
        raise BadFrame(f"a watermark of {len(payload)} bytes")
    (mark,) = _MARK.unpack(payload)
    return int(mark)


def encode_positions(positions: Mapping[int, int]) -> bytes:
    """Stream -> sequence number of the last frame received."""
    return b"".join(_POSITION.pack(stream, last) for stream, last in sorted(positions.items()))


def decode_positions(payload: bytes) -> dict[int, int]:
    if len(payload) % _POSITION.size:
        raise BadFrame(f"an acknowledgement of {len(payload)} bytes")
    return dict(_POSITION.iter_unpack(payload))


def encode_about(**about: Any) -> bytes:
    return json.dumps(about, sort_keys=True).encode()


def decode_about(payload: bytes, **expected: type) -> dict[str, Any]:
    """The JSON object of a HELLO or WELCOME, held to the types expected."""
    try:
        about = json.loads(payload)
    except (ValueError, RecursionError):
        raise BadFrame("a greeting that is not JSON") from None
    if not isinstance(about, dict):
        raise BadFrame("a greeting that is not an object")
    for name, kind in expected.items():
        if not isinstance(about.get(name), kind):
            raise BadFrame(f"a greeting without {name!r}")
    return about


# -------------------------------------------------------------------- tuples


_FORMATS = {
    DataType.BOOLEAN: "?",
    DataType.INT: "i",
    DataType.BIGINT: "q",
    DataType.TIMESTAMP: "q",
    DataType.FLOAT: "f",
    DataType.DOUBLE: "d",
}
_TEXT = struct.Struct(">I")
_HEAD = struct.Struct(">BQ")
_COUNT = struct.Struct(">H")


class Sent(NamedTuple):
    """A tuple under way. ``number`` is that of its arrival, or for a subscriber its completion."""

    row: Row
    number: int
    late: bool


def schema_hash(stream: str, schema: Schema) -> int:
    """Tells whether two nodes mean the same by a stream."""
    columns = ", ".join(f"{field.name} {field.describe()}" for field in schema.columns)
    return int.from_bytes(hashlib.sha256(f"{stream}: {columns}".encode()).digest()[:4], "big")


class RowCodec:
    """Writes and reads the tuples of one stream."""

    def __init__(self, stream: str, schema: Schema) -> None:
        self.hash = schema_hash(stream, schema)
        self._packers = [
            None if field.type is DataType.STRING else struct.Struct(">" + _FORMATS[field.type])
            for field in schema.columns
        ]
        self._bitmap = (len(self._packers) + 7) // 8

    def encode(self, rows: Iterable[Sent]) -> bytes:
        listed = list(rows)
        parts = [_COUNT.pack(len(listed))]
        for row, number, late in listed:
            nulls = 0
            values = []
            for place, (value, packer) in enumerate(zip(row, self._packers, strict=True)):
                if value is None:
                    nulls |= 1 << place
                elif packer is None:
                    text = value.encode()
                    values += [_TEXT.pack(len(text)), text]
                else:
                    values.append(packer.pack(value))
            parts += [_HEAD.pack(late, number), nulls.to_bytes(self._bitmap, "big"), *values]
        return b"".join(parts)

    def decode(self, payload: bytes) -> list[Sent]:
        """BadFrame when the bytes are not tuples of this schema, to the last one."""
        try:
            (count,) = _COUNT.unpack_from(payload)
            rows, offset = [], _COUNT.size
            for _ in range(count):
                sent, offset = self._one(payload, offset)
                rows.append(sent)
        except (struct.error, UnicodeDecodeError) as error:
            raise BadFrame(f"tuples that do not fit their schema: {error}") from None
        if offset != len(payload):
            raise BadFrame(f"{len(payload) - offset} bytes too many behind the tuples")
        return rows

    def _one(self, payload: bytes, offset: int) -> tuple[Sent, int]:
        late, number = _HEAD.unpack_from(payload, offset)
        offset += _HEAD.size
        nulls = int.from_bytes(payload[offset : offset + self._bitmap], "big")
        offset += self._bitmap
        values: list[Any] = []
        for place, packer in enumerate(self._packers):
            if nulls >> place & 1:
                values.append(None)
            elif packer is None:
                (length,) = _TEXT.unpack_from(payload, offset)
                offset += _TEXT.size
                text = payload[offset : offset + length]
                if len(text) < length:
                    raise BadFrame("a text that is cut short")
                values.append(text.decode())
                offset += length
            else:
                (value,) = packer.unpack_from(payload, offset)
                values.append(value)
                offset += packer.size
        return Sent(tuple(values), number, bool(late)), offset


class WireStream(NamedTuple):
    """A stream between processes; ``id`` is the same on all nodes of a plan."""

    id: int
    name: str
    codec: RowCodec


def stream_of(number: int, name: str, schema: Schema) -> WireStream:
    return WireStream(number, name, RowCodec(name, schema))
