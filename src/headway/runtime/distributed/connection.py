"""One TCP connection of the I/O thread: bytes out, frames in, never waiting."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress

from headway.runtime.distributed.frames import Frame, FrameReader, Kind, encode

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
        self._reader = FrameReader()
        self._out = bytearray()

    def send(self, frame: Frame) -> None:
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

    def read(self, now: int) -> Iterator[Frame]:
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
            connection.send(Frame(Kind.BYE))
            connection.write(0)
            connection.socket.shutdown(socket.SHUT_WR)
    until = time.monotonic() + GOODBYE
    for connection in connections:
        with suppress(OSError):
            while time.monotonic() < until and connection.socket.recv(1 << 16):
                pass
        connection.close()
