"""Frames between node processes: typed, with length and checksum; nothing in them is ever executed.

    magic "HWAY" | version | kind | stream | schema | sequence | length | CRC-32 | payload

All numbers are big-endian. The checksum covers the header before it and the payload.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

MAGIC = b"HWAY"
VERSION = 1
MOST_BYTES = 1 << 20
"""a longer payload is not believed"""

_HEADER = struct.Struct(">4sBBHIQI")
_CRC = struct.Struct(">I")
_MARK = struct.Struct(">q")
_POSITION = struct.Struct(">HQ")
OVERHEAD = _HEADER.size + _CRC.size


class Kind(IntEnum):
    HELLO = 1
    """who speaks: JSON with its name, its incarnation and the plan's fingerprint"""
    WELCOME = 2
    """the answer: the same, and how far each stream has been received"""
    ROWS = 3
    MARK = 4
    """punctuation: no unmarked tuple of the stream is older than this any more"""
    END = 5
    """nothing more comes on the stream"""
    ACKNOWLEDGE = 6
    HEARTBEAT = 7
    BYE = 8
    """the speaker has finished; its silence is no failure"""


class BadFrame(Exception):
    """What came is not a frame. The connection is of no more use."""


class Frame(NamedTuple):
    kind: Kind
    stream: int = 0
    schema: int = 0
    sequence: int = 0
    payload: bytes = b""


def encode(frame: Frame) -> bytes:
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


class FrameReader:
    """Cuts a stream of bytes into frames, however they come in pieces."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete; BadFrame when the bytes are none."""
        self._bytes += data
        while len(self._bytes) >= OVERHEAD:
            header = bytes(self._bytes[: _HEADER.size])
            magic, version, kind, stream, schema, sequence, length = _HEADER.unpack(header)
            if magic != MAGIC:
                raise BadFrame(f"not a frame of Headway: begins with {magic!r}")
            if version != VERSION:
                raise BadFrame(f"frame of version {version}, this node speaks {VERSION}")
            if length > MOST_BYTES:
                raise BadFrame(f"a payload of {length} bytes, more than {MOST_BYTES}")
            if len(self._bytes) < OVERHEAD + length:
                return
            (checksum,) = _CRC.unpack_from(self._bytes, _HEADER.size)
            payload = bytes(self._bytes[OVERHEAD : OVERHEAD + length])
            if zlib.crc32(payload, zlib.crc32(header)) != checksum:
                raise BadFrame("the checksum does not fit")
            if kind not in _KINDS:
                raise BadFrame(f"frame of unknown kind {kind}")
            del self._bytes[: OVERHEAD + length]
            yield Frame(Kind(kind), stream, schema, sequence, payload)


_KINDS = frozenset(Kind)


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


def read_positions(listed: Mapping[Any, Any]) -> dict[int, int]:
    """The same, from a greeting."""
    try:
        return {int(stream): int(last) for stream, last in listed.items()}
    except (TypeError, ValueError, OverflowError):
        raise BadFrame("a greeting with positions that are no numbers") from None


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
