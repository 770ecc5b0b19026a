"""The links of a node to its peers: TCP connections that never wait, the streams that leave by them
(packed into numbered frames, kept until acknowledged, sent again after a reconnect) and those that
come (who sends them, how far each has come, nothing twice)."""

from __future__ import annotations

import socket
import struct
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

from headway.engine.nodes.node_records import EventLog
from headway.engine.nodes.wire_format import (
    MOST_BYTES,
    BadFrame,
    FrameKind,
    Sent,
    WireFrame,
    WireFrameReader,
    WireStream,
    decode_about,
    decode_mark,
    encode,
    encode_about,
    encode_mark,
    encode_positions,
)

MOST_WAITING = 16 << 20
"""bytes that may wait for a slow peer before the connection is given up"""

GOODBYE = 0.2
"""seconds"""


class Connection:
    """``heard`` and ``spoke`` are when the last bytes came and went (monotonic ns)."""

    def __init__(self, sock: socket.socket, now: int) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = sock
        self.peer = ""
        self.heard = self.spoke = now
        self._reader = WireFrameReader()
        self._out = bytearray()

    def send(self, frame: WireFrame) -> None:
        self.send_bytes(encode(frame))

    def send_bytes(self, data: bytes) -> None:
        self._out += data

    @property
    def waiting(self) -> bool:
        """Whether bytes wait to be written."""
        return bool(self._out)

    def write(self, now: int) -> None:
        """Writes what can be written; ConnectionError for a peer that does not read."""
        if len(self._out) > MOST_WAITING:
            raise ConnectionError("the peer does not read")
        while self._out:
            try:
                written = self.socket.send(self._out)
            except (BlockingIOError, InterruptedError):
                return
            del self._out[:written]
            self.spoke = now

    def read(self, now: int) -> Iterator[WireFrame]:
        """The frames that have come; ConnectionError at the end, BadFrame for what is none."""
        while True:
            try:
                data = self.socket.recv(1 << 16)
            except (BlockingIOError, InterruptedError):
                return
            if not data:
                raise ConnectionError("connection closed")
            self.heard = now
            yield from self._reader.feed(data)

    def close(self) -> None:
        self.socket.close()


def say_goodbye(connections: list[Connection]) -> None:
    """Says so on every connection, and gives the peers a moment to have read it."""
    for connection in connections:
        with suppress(OSError):
            connection.socket.settimeout(GOODBYE)
            connection.send(WireFrame(FrameKind.BYE))
            connection.write(0)
            connection.socket.shutdown(socket.SHUT_WR)
    until = time.monotonic() + GOODBYE
    for connection in connections:
        with suppress(OSError):
            while time.monotonic() < until and connection.socket.recv(1 << 16):
                pass
        connection.close()


# -------------------------------------------------------------------- out


Address = tuple[str, int]


class KeptFrame(NamedTuple):
    """A frame that may have to be sent again."""

    stream: int
    sequence: int
    data: bytes
    tuples: int


class Outgoing:
    """``up`` once the receiver has welcomed us. ``most`` frames are kept for one that is away: then
    the oldest are dropped, and their tuples counted."""

    def __init__(self, receiver: str, address: Address, streams: frozenset[int], most: int) -> None:
        self.receiver, self.address, self.streams = receiver, address, streams
        self.connection: Connection | None = None
        self.up = False
        self.retry_at = 0
        self.backoff = 0
        self.overflowed = 0
        self._incarnation = ""
        self._next: dict[int, int] = {}
        self._kept: deque[KeptFrame] = deque()
        self._most = most
        self._mark: dict[int, WireFrame] = {}

    def append(
        self, kind: FrameKind, stream: int, schema: int, payload: bytes, tuples: int = 0
    ) -> None:
        """Numbers a frame, keeps it, and sends it if somebody is there."""
        sequence = self._next[stream] = self._next.get(stream, 0) + 1
        frame = WireFrame(kind, stream, schema, sequence, payload)
        if kind is not FrameKind.ROWS:
            self._mark[stream] = frame
        kept = KeptFrame(stream, sequence, encode(frame), tuples)
        self._kept.append(kept)
        if len(self._kept) > self._most:
            dropped = self._kept.popleft()
            if not self.up:
                self.overflowed += dropped.tuples
        if self.up and self.connection is not None:
            self.connection.send_bytes(kept.data)

    def welcomed(self, incarnation: str, positions: dict[int, int]) -> None:
        """The receiver says who it is and how far it got: sends what it lacks.

        One that was started anew also gets the last watermark or end of every stream again.
        """
        again = self._incarnation not in ("", incarnation)
        self._incarnation = incarnation
        self.acknowledge(positions)
        self.up, self.backoff = True, 0
        assert self.connection is not None
        for kept in self._kept:
            self.connection.send_bytes(kept.data)
        if again:
            for stream, frame in list(self._mark.items()):
                self.append(frame.kind, stream, frame.schema, frame.payload)

    def acknowledge(self, positions: dict[int, int]) -> None:
        if any(positions.get(kept.stream, 0) >= kept.sequence for kept in self._kept):
            self._kept = deque(k for k in self._kept if positions.get(k.stream, 0) < k.sequence)

    @property
    def done(self) -> bool:
        """Whether everything has been acknowledged."""
        return not self._kept

    def down(self, retry_at: int, backoff: int) -> None:
        """The connection is gone; another attempt at ``retry_at``."""
        if self.connection is not None:
            self.connection.close()
        self.connection, self.up = None, False
        self.retry_at, self.backoff = retry_at, backoff


# -------------------------------------------------------------------- in


MOST_SENDERS = 256


class PeerHandler(Protocol):
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
        streams: Mapping[int, WireStream],
        handler: PeerHandler,
    ) -> None:
        self._me, self._incarnation, self._fingerprint = me, incarnation, fingerprint
        self._streams, self._handler = streams, handler
        self._positions: dict[str, tuple[str, dict[int, int]]] = {}
        """sender -> its incarnation, and how far each of its streams has come"""
        self._connections: dict[str, Connection] = {}
        self.duplicates = 0
        self.gaps = 0
        """frames that a sender had to drop"""

    def greet(self, connection: Connection, frame: WireFrame) -> None:
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
        connection.send(WireFrame(FrameKind.WELCOME, payload=payload))

    def take(self, connection: Connection, frame: WireFrame) -> None:
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
        if frame.kind is FrameKind.ROWS:
            self._handler.rows(stream.name, stream.codec.decode(frame.payload))
        elif frame.kind is FrameKind.MARK:
            self._handler.mark(stream.name, decode_mark(frame.payload))
        else:
            self._handler.ended(stream.name)
        if last:
            self.gaps += frame.sequence - last - 1
        positions[frame.stream] = frame.sequence
        if frame.kind is FrameKind.END:
            connection.send(self.acknowledgement(connection))

    def acknowledgement(self, connection: Connection) -> WireFrame:
        _, positions = self._positions[connection.peer]
        return WireFrame(FrameKind.ACKNOWLEDGE, payload=encode_positions(positions))

    def has(self, connection: Connection) -> bool:
        return self._connections.get(connection.peer) is connection

    def forget(self, connection: Connection) -> None:
        if self.has(connection):
            del self._connections[connection.peer]


# -------------------------------------------------------------------- from tuples to frames


MOST_TOGETHER = 256
"""tuples in one frame"""


class Packer:
    """Tuples that wait together go together: one frame when the load is high, one each when not."""

    def __init__(
        self, streams: Mapping[str, WireStream], links: Iterable[Outgoing], log: EventLog
    ) -> None:
        self._streams, self._log = streams, log
        listed = list(links)
        self._links = {
            name: [link for link in listed if stream.id in link.streams]
            for name, stream in streams.items()
        }
        self.unsendable = 0

    def pack(self, outbox: deque[tuple[str, Sent | int | None]]) -> None:
        rows: list[Sent] = []
        current = ""
        while outbox:
            name, what = outbox.popleft()
            together = name == current and isinstance(what, Sent) and len(rows) < MOST_TOGETHER
            if rows and not together:
                self._rows(current, rows)
                rows = []
            current = name
            if isinstance(what, Sent):
                rows.append(what)
            elif name:
                stream = self._streams[name]
                kind = FrameKind.END if what is None else FrameKind.MARK
                payload = b"" if what is None else encode_mark(what)
                for link in self._links[name]:
                    link.append(kind, stream.id, stream.codec.hash, payload)
        if rows:
            self._rows(current, rows)

    def _rows(self, name: str, rows: list[Sent]) -> None:
        stream = self._streams[name]
        try:
            payload = stream.codec.encode(rows)
            fits = len(payload) <= MOST_BYTES
        except (struct.error, UnicodeError, AttributeError, TypeError):
            fits = False
        if fits:
            for link in self._links[name]:
                link.append(FrameKind.ROWS, stream.id, stream.codec.hash, payload, len(rows))
        elif len(rows) > 1:
            for row in rows:
                self._rows(name, [row])
        else:
            self.unsendable += 1
            self._log.note("tuple cannot be sent", stream=name, row=repr(rows[0].row)[:200])
