"""The streams that come to a node: who sends them, how far each has come, nothing twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from headway.runtime.distributed.connection import Connection
from headway.runtime.distributed.frames import (
    BadFrame,
    Frame,
    Kind,
    decode_about,
    decode_mark,
    encode_about,
    encode_positions,
)
from headway.runtime.distributed.packing import Stream
from headway.runtime.distributed.rows import Sent

MOST_SENDERS = 256


class Handler(Protocol):
    """What happens with what comes; called in the I/O thread, must not wait."""

    def rows(self, stream: str, rows: list[Sent]) -> None: ...

    def mark(self, stream: str, mark: int) -> None: ...

    def ended(self, stream: str) -> None: ...

    def lost(self, peer: str) -> None: ...

    def back(self, peer: str) -> None: ...

    def tick(self, now: int) -> None:
        """Called a few times per heartbeat."""


class Incoming:
    """A sender has one connection at a time: its newest."""

    def __init__(
        self,
        me: str,
        incarnation: str,
        fingerprint: str,
        streams: Mapping[int, Stream],
        handler: Handler,
    ) -> None:
        self._me, self._incarnation, self._fingerprint = me, incarnation, fingerprint
        self._streams, self._handler = streams, handler
        self._positions: dict[str, tuple[str, dict[int, int]]] = {}
        """sender -> its incarnation, and how far each of its streams has come"""
        self._connections: dict[str, Connection] = {}
        self.duplicates = 0
        self.gaps = 0
        """frames that a sender had to drop"""

    def greet(self, connection: Connection, frame: Frame) -> None:
        """Somebody says who it is; is told what of it has come so far."""
        about = decode_about(frame.payload, name=str, incarnation=str, plan=str)
        name, incarnation = about["name"], about["incarnation"]
        if about["plan"] != self._fingerprint:
            raise BadFrame(f"{name!r} runs another plan")
        if name not in self._positions and len(self._positions) >= MOST_SENDERS:
            raise BadFrame(f"{name!r} is one sender too many")
        known, _ = self._positions.get(name, ("", {}))
        if known != incarnation:
            self._positions[name] = (incarnation, {})
        connection.peer = name
        self._connections[name] = connection
        _, positions = self._positions[name]
        payload = encode_about(name=self._me, incarnation=self._incarnation, positions=positions)
        connection.send(Frame(Kind.WELCOME, payload=payload))

    def take(self, connection: Connection, frame: Frame) -> None:
        """Tuples, a watermark or the end of a stream."""
        stream = self._streams.get(frame.stream)
        if stream is None or not self.has(connection):
            raise BadFrame(f"a stream that nobody expects here: {frame.stream}")
        if frame.schema != stream.codec.hash:
            raise BadFrame(f"stream {stream.name!r} has another schema there")
        _, positions = self._positions[connection.peer]
        last = positions.get(frame.stream, 0)
        if frame.sequence <= last:
            self.duplicates += 1
            return
        if frame.kind is Kind.ROWS:
            self._handler.rows(stream.name, stream.codec.decode(frame.payload))
        elif frame.kind is Kind.MARK:
            self._handler.mark(stream.name, decode_mark(frame.payload))
        else:
            self._handler.ended(stream.name)
        if last:
            self.gaps += frame.sequence - last - 1
        positions[frame.stream] = frame.sequence
        if frame.kind is Kind.END:
            connection.send(self.acknowledgement(connection))

    def acknowledgement(self, connection: Connection) -> Frame:
        _, positions = self._positions[connection.peer]
        return Frame(Kind.ACKNOWLEDGE, payload=encode_positions(positions))

    def has(self, connection: Connection) -> bool:
        return self._connections.get(connection.peer) is connection

    def forget(self, connection: Connection) -> None:
        if self.has(connection):
            del self._connections[connection.peer]
