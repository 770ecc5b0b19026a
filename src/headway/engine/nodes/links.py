"""The links of a node to its peers: TCP connections that never wait, the streams that leave by them
(packed into numbered frames, kept until acknowledged, sent again after a reconnect) and those that
come (who sends them, how far each has come, nothing twice)."""

from __future__ import annotations

import socket
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from headway.engine.nodes.greeting import (
    GreetingIn,
    GreetingOut,
    Identity,
    LinkStage,
    RandomBytes,
    Refusal,
)
from headway.engine.nodes.kept_links import SentFrames, frame_of
from headway.engine.nodes.node_machine import Address, Machine, NodeSocket
from headway.engine.nodes.node_records import EventLog
from headway.engine.nodes.wire_format import (
    MOST_BYTES,
    MOST_GREETING,
    OVERHEAD,
    UNSENDABLE,
    BadFrame,
    FrameKind,
    Sent,
    WireFrame,
    WireFrameReader,
    WireStream,
    decode_mark,
    encode,
    encode_mark,
    encode_positions,
)
from headway.model.quantities import MILLISECOND, SECOND

MOST_WAITING = 16 << 20
"""bytes that may wait for a slow peer before the connection is given up"""

GOODBYE = 200 * MILLISECOND

READS_A_TURN = 8
FRAMES_A_TURN = 256
"""of one connection, before the others have theirs; a stranger has one read"""


class Connection:
    """``opened`` is when it began, ``heard`` and ``spoke`` when the last bytes came and went
    (monotonic ns). ``peer`` is empty until the other side has proved its name; until then nothing
    longer than a greeting is read. ``more``: frames wait that had no room in this turn."""

    def __init__(
        self, sock: NodeSocket, now: int, host: str = "", stage: LinkStage = LinkStage.HELLO
    ) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket, self.host, self.stage = sock, host, stage
        self.peer = ""
        self.opened = self.heard = self.spoke = now
        self.more = False
        self.greeting_in: GreetingIn | None = None
        self.greeting_out: GreetingOut | None = None
        self._reader = WireFrameReader(MOST_GREETING)
        self._out = bytearray()

    def believe(self, peer: str, stage: LinkStage) -> None:
        """The other side has proved who it is."""
        self.peer, self.stage = peer, stage
        self._reader.most = MOST_BYTES

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
        """The frames that have come, as many as one turn allows; ConnectionError at the end,
        BadFrame for what is none."""
        self.more = False
        reads = 0
        for _ in range(FRAMES_A_TURN):
            while (frame := self._reader.next()) is None:
                if reads == (READS_A_TURN if self.peer else 1):
                    return
                reads += 1
                try:
                    data = self.socket.recv(1 << 16 if self.peer else OVERHEAD + MOST_GREETING)
                except (BlockingIOError, InterruptedError):
                    return
                if not data:
                    raise ConnectionError("connection closed")
                self.heard = now
                self._reader.add(data)
            yield frame
        self.more = True

    def close(self) -> None:
        self.socket.close()


def say_goodbye(connections: list[Connection], machine: Machine) -> None:
    """Says so to all who have proved who they are, and gives them a moment to have read it."""
    greeted = [connection for connection in connections if connection.stage.is_greeted]
    for connection in greeted:
        with suppress(OSError):
            connection.socket.settimeout(GOODBYE / SECOND)
            connection.send(WireFrame(FrameKind.BYE))
            connection.write(0)
            connection.socket.shutdown(socket.SHUT_WR)
    until = machine.now() + GOODBYE
    for connection in greeted:
        with suppress(OSError):
            while machine.now() < until and connection.socket.recv(1 << 16):
                pass
        connection.close()


# -------------------------------------------------------------------- strangers


MOST_STRANGERS = 256
MOST_FROM_ONE = 64
"""strangers from one address"""


class Strangers:
    """Those who have connected and not yet proved who they are. There is room for so many of them,
    from one address and in all; then the one that got least far goes, the oldest first, so that
    whoever knows what to say gets through among any number who do not."""

    def __init__(self) -> None:
        self._waiting: dict[Connection, None] = {}

    def admit(self, connection: Connection) -> Connection | None:
        """Takes one more; the one that has to go for it."""
        waiting = list(self._waiting)
        self._waiting[connection] = None
        near = [other for other in waiting if other.host == connection.host]
        if len(near) >= MOST_FROM_ONE:
            return min(near, key=lambda other: other.stage)
        if len(waiting) >= MOST_STRANGERS:
            return min(waiting, key=lambda other: other.stage)
        return None

    def half(self) -> list[Connection]:
        """Those that have to go when there is no room on the machine for more."""
        ordered = sorted(self._waiting, key=lambda other: other.stage)
        return ordered[: (len(ordered) + 1) // 2]

    def forget(self, connection: Connection) -> None:
        self._waiting.pop(connection, None)


# -------------------------------------------------------------------- out


class KeptFrame(NamedTuple):
    """A frame that may have to be sent again."""

    stream: int
    sequence: int
    data: bytes
    tuples: int


class Outgoing:
    """``up`` once the receiver has welcomed us. ``most`` frames are kept for one that is away: then
    the oldest are dropped, and their tuples counted."""

    def __init__(
        self,
        receiver: str,
        address: Address,
        streams: frozenset[int],
        most: int,
        frames: SentFrames | None = None,
    ) -> None:
        self.receiver, self.address, self.streams = receiver, address, streams
        self._frames = frames
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
        self._unsure: list[KeptFrame] = []
        """no longer kept, but sent: they come, unless the connection breaks first"""

    def snapshot(self) -> dict[str, Any]:
        """All that outlives a process, as JSON-able data."""
        return {
            "incarnation": self._incarnation,
            "overflowed": self.overflowed,
            "next": sorted(self._next.items()),
            "kept": [
                [kept.stream, kept.sequence, b64encode(kept.data).decode(), kept.tuples]
                for kept in self._kept
            ],
            "unsure": [[gone.stream, gone.sequence, gone.tuples] for gone in self._unsure],
            "marks": [
                [stream, int(mark.kind), mark.schema, b64encode(mark.payload).decode()]
                for stream, mark in sorted(self._mark.items())
            ],
        }

    def restore(self, state: dict[str, Any]) -> None:
        self._incarnation, self.overflowed = state["incarnation"], state["overflowed"]
        self._next = dict(state["next"])
        self._kept = deque(
            KeptFrame(stream, sequence, b64decode(data), tuples)
            for stream, sequence, data, tuples in state["kept"]
        )
        self._unsure = [
            KeptFrame(stream, sequence, b"", tuples) for stream, sequence, tuples in state["unsure"]
        ]
        self._mark = {
            stream: WireFrame(FrameKind(kind), stream, schema, 0, b64decode(payload))
            for stream, kind, schema, payload in state["marks"]
        }

    def append(
        self,
        kind: FrameKind,
        stream: int,
        schema: int,
        payload: bytes,
        tuples: int = 0,
        *,
        bounded: bool = True,
    ) -> None:
        """Numbers a frame, keeps it, and sends it if somebody is there."""
        sequence = self._next[stream] = self._next.get(stream, 0) + 1
        frame = WireFrame(kind, stream, schema, sequence, payload)
        if kind is not FrameKind.ROWS:
            self._mark[stream] = frame
        kept = KeptFrame(stream, sequence, encode(frame), tuples)
        self._kept.append(kept)
        if bounded and len(self._kept) > self._most:
            dropped = self._kept.popleft()
            if not self.up:
                self._lose([dropped])
            elif dropped.tuples:
                self._unsure.append(dropped._replace(data=b""))
        if self.up and self.connection is not None:
            self.connection.send_bytes(kept.data)

    def welcomed(self, incarnation: str, positions: dict[int, int]) -> None:
        """The receiver says who it is and how far it got: sends what it lacks.

        One that was started anew also gets the last watermark or end of every stream again.
        """
        again = self._incarnation not in ("", incarnation)
        self._incarnation = incarnation
        self.acknowledge(positions)
        self._lose(self._unsure)
        self._unsure = []
        self.up, self.backoff = True, 0
        assert self.connection is not None
        for kept in self._kept:
            self.connection.send_bytes(kept.data)
        if again:
            if self._frames is not None:
                self._frames.note(self.receiver, None)
            self.mark_again()

    def mark_again(self, *, bounded: bool = True) -> None:
        """Sends the last watermark or end of every stream again."""
        for stream, frame in list(self._mark.items()):
            self.append(frame.kind, stream, frame.schema, frame.payload, bounded=bounded)

    def _lose(self, gone: list[KeptFrame]) -> None:
        """The receiver will not get them: that is written down before anything that follows is
        sent, after which it names a later frame."""
        self.overflowed += sum(one.tuples for one in gone)
        places = [(one.stream, one.sequence) for one in gone if one.tuples]
        if places and self._frames is not None:
            self._frames.note(self.receiver, places)

    def lost(self, places: Collection[tuple[int, int]]) -> None:
        """These frames were lost by a process that was killed since."""
        both = (*self._kept, *self._unsure)
        self.overflowed += sum(one.tuples for one in both if one[:2] in places)
        self._kept = deque(one for one in self._kept if one[:2] not in places)
        self._unsure = [one for one in self._unsure if one[:2] not in places]

    def acknowledge(self, positions: dict[int, int]) -> None:
        if any(positions.get(kept.stream, 0) >= kept.sequence for kept in self._kept):
            self._kept = deque(k for k in self._kept if positions.get(k.stream, 0) < k.sequence)
        if self._unsure:
            self._unsure = [k for k in self._unsure if positions.get(k.stream, 0) < k.sequence]

    @property
    def undelivered(self) -> int:
        """Tuples that have not been acknowledged."""
        return sum(kept.tuples for kept in (*self._kept, *self._unsure))

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


class FramePlace(NamedTuple):
    """Where a frame stands: who sent it, in which life, on which stream, its number."""

    sender: str
    incarnation: str
    stream: int
    sequence: int


Positions = dict[str, tuple[str, dict[int, int]]]
"""sender -> its incarnation, and how far each of its streams has come"""


class PeerHandler(Protocol):
    """What happens with what comes; called in the I/O thread, must not wait."""

    def rows(self, stream: str, rows: list[Sent], place: FramePlace) -> None: ...

    def mark(self, stream: str, mark: int, place: FramePlace) -> None: ...

    def ended(self, stream: str, place: FramePlace) -> None: ...

    def lost(self, peer: str) -> None: ...

    def back(self, peer: str) -> None: ...

    def tick(self, now: int) -> None:
        """Called a few times per heartbeat."""

    def failed(self, error: BaseException) -> None:
        """The I/O thread has died; nothing is sent or received any more."""


class Incoming:
    """A sender has one connection at a time: its newest."""

    def __init__(
        self,
        me: Identity,
        streams: Mapping[int, WireStream],
        handler: PeerHandler,
        random_bytes: RandomBytes,
    ) -> None:
        self._me, self._streams, self._handler = me, streams, handler
        self._random_bytes = random_bytes
        self.positions: Positions = {}
        self.safe: Positions | None = None
        """how far they are acknowledged, where that is not as far as they have come; replaced as a
        whole, by any thread"""
        self._connections: dict[str, Connection] = {}
        self.duplicates = 0
        self.gaps = 0
        """frames that a sender had to drop"""

    def greet(self, connection: Connection, hello: WireFrame) -> None:
        """Somebody says who it is: it is to prove that."""
        connection.greeting_in = GreetingIn(self._me, hello, self._random_bytes)
        connection.stage = LinkStage.PROOF
        connection.send(connection.greeting_in.challenge())

    def admit(self, connection: Connection, proof: WireFrame) -> Connection | None:
        """It has proved it, and is told what of it has come so far. The connection that it had
        before, if there is one still."""
        greeting = connection.greeting_in
        assert greeting is not None
        greeting.check(proof)
        name, incarnation = greeting.name, greeting.incarnation
        if name not in self.positions and len(self.positions) >= MOST_SENDERS:
            raise Refusal("too many senders", f"{name!r} is one sender too many")
        known, _ = self.positions.get(name, ("", {}))
        if known != incarnation:
            self.positions[name] = (incarnation, {})
        connection.believe(name, LinkStage.FROM_SENDER)
        older = self._connections.get(name)
        self._connections[name] = connection
        connection.send(greeting.welcome())
        connection.send(self.acknowledgement(connection))
        return older

    def take(self, connection: Connection, frame: WireFrame) -> None:
        """Tuples, a watermark or the end of a stream."""
        stream = self._streams.get(frame.stream)
        if stream is None or not self.has(connection):
            raise BadFrame(f"a stream that nobody expects here: {frame.stream}")
        if frame.schema != stream.codec.hash:
            raise BadFrame(f"stream {stream.name!r} has another schema there")
        incarnation, positions = self.positions[connection.peer]
        last = positions.get(frame.stream, 0)
        if frame.sequence <= last:
            self.duplicates += 1
            return
        place = FramePlace(connection.peer, incarnation, frame.stream, frame.sequence)
        if frame.kind is FrameKind.ROWS:
            self._handler.rows(stream.name, stream.codec.decode(frame.payload), place)
        elif frame.kind is FrameKind.MARK:
            self._handler.mark(stream.name, decode_mark(frame.payload), place)
        else:
            self._handler.ended(stream.name, place)
        if last:
            self.gaps += frame.sequence - last - 1
        positions[frame.stream] = frame.sequence
        if frame.kind is FrameKind.END:
            connection.send(self.acknowledgement(connection))

    def acknowledgement(self, connection: Connection) -> WireFrame:
        incarnation, positions = self.positions[connection.peer]
        if (safe := self.safe) is not None:
            known, kept = safe.get(connection.peer, ("", {}))
            positions = kept if known == incarnation else {}
        return WireFrame(FrameKind.ACKNOWLEDGE, payload=encode_positions(positions))

    def has(self, connection: Connection) -> bool:
        return self._connections.get(connection.peer) is connection

    def forget(self, connection: Connection) -> None:
        if self.has(connection):
            del self._connections[connection.peer]


# -------------------------------------------------------------------- from tuples to frames


MOST_TOGETHER = 256
"""tuples in one frame"""


@dataclass(frozen=True, slots=True)
class Reached:
    """Stands between what is given out: all before it has become frames."""

    then: Callable[[], None]


Outgiven = tuple[str, Sent | int | Reached | None]
"""(stream, a tuple, a watermark or its end)"""


class Packer:
    """Tuples that wait together go together: one frame when the load is high, one each when not."""

    def __init__(
        self,
        streams: Mapping[str, WireStream],
        links: Iterable[Outgoing],
        log: EventLog,
        frames: SentFrames | None = None,
    ) -> None:
        self._streams, self._log, self._frames = streams, log, frames
        listed = list(links)
        self._links = {
            name: [link for link in listed if stream.id in link.streams]
            for name, stream in streams.items()
        }
        self.unsendable = 0

    def pack(self, outbox: deque[Outgiven]) -> None:
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
            elif isinstance(what, Reached):
                what.then()
            elif name:
                kind = FrameKind.END if what is None else FrameKind.MARK
                self._append(name, kind, b"" if what is None else encode_mark(what), 0)
        if rows:
            self._rows(current, rows)
        if self._frames is not None:
            self._frames.flush()

    def _append(self, name: str, kind: FrameKind, payload: bytes, tuples: int) -> None:
        stream = self._streams[name]
        if self._frames is not None:
            self._frames.add(name, kind, payload, tuples)
        for link in self._links[name]:
            link.append(kind, stream.id, stream.codec.hash, payload, tuples)

    def restore(self, frames: Iterable[list[Any]]) -> None:
        """Frames that were made before the process was killed, after its last checkpoint, and what
        befell them."""
        receivers = {link.receiver: link for links in self._links.values() for link in links}
        lost: dict[str, set[tuple[int, int]]] = {}
        for entry in frames:
            if not entry[0]:
                _, receiver, gone = entry
                if gone is None:
                    receivers[receiver].mark_again(bounded=False)
                else:
                    lost.setdefault(receiver, set()).update((at, n) for at, n in gone)
                continue
            name, kind, payload, tuples = frame_of(entry)
            stream = self._streams[name]
            for link in self._links[name]:
                link.append(kind, stream.id, stream.codec.hash, payload, tuples, bounded=False)
        for receiver, places in lost.items():
            receivers[receiver].lost(places)

    def _rows(self, name: str, rows: list[Sent]) -> None:
        stream = self._streams[name]
        try:
            payload = stream.codec.encode(rows)
            fits = len(payload) <= MOST_BYTES
        except UNSENDABLE:
            fits = False
        if fits:
            self._append(name, FrameKind.ROWS, payload, len(rows))
        elif len(rows) > 1:
            for row in rows:
                self._rows(name, [row])
        else:
            self.unsendable += 1
            self._log.note_some("tuple cannot be sent", stream=name, row=repr(rows[0].row))
