"""Tuples as bytes, by the schema of their stream. Both sides know it; a hash of it goes along.

A tuple: flags (late), its number, a bit per column that is NULL, then the values that are not.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

from headway.model.schema import DataType, Schema
from headway.runtime.distributed.frames import BadFrame
from headway.runtime.operators.base import Row

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
MOST_ROWS = (1 << 16) - 1


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
