"""The streams that a node sends to one other: numbered, kept until acknowledged, sent again after a
reconnect."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from headway.runtime.distributed.connection import Connection
from headway.runtime.distributed.frames import Frame, Kind, encode

Address = tuple[str, int]


class Kept(NamedTuple):
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
        self._kept: deque[Kept] = deque()
        self._most = most
        self._mark: dict[int, Frame] = {}

    def append(self, kind: Kind, stream: int, schema: int, payload: bytes, tuples: int = 0) -> None:
        """Numbers a frame, keeps it, and sends it if somebody is there."""
        sequence = self._next[stream] = self._next.get(stream, 0) + 1
        frame = Frame(kind, stream, schema, sequence, payload)
        if kind is not Kind.ROWS:
            self._mark[stream] = frame
        kept = Kept(stream, sequence, encode(frame), tuples)
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
