"""Two I/O threads in one process, and strangers at the door of one of them."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import pytest
from tests.waiting import PATIENCE_S

from headway.engine.nodes.greeting import GreetingOut, Identity
from headway.engine.nodes.links import FramePlace
from headway.engine.nodes.liveness import PeerTiming
from headway.engine.nodes.node_records import EventLog
from headway.engine.nodes.peers import Peers
from headway.engine.nodes.wire_format import Sent, WireFrame, WireFrameReader, encode, stream_of
from headway.model.quantities import MILLISECOND, SECOND
from headway.model.schema import schema

STREAM = stream_of(1, "s", schema(n="int"))
KEY = bytes(range(32))
TIMING = PeerTiming(
    heartbeat=20 * MILLISECOND, missed=5000, linger=100 * SECOND, greeting=100 * SECOND
)
"""A busy machine is not to be taken for a dead peer."""


class Collected:
    """A handler that keeps what comes."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.marks: list[int] = []
        self.over = False
        self.lost_peers: list[str] = []
        self.returned: list[str] = []
        self.failures: list[BaseException] = []

    def rows(self, stream: str, rows: list[Sent], place: FramePlace) -> None:
        self.numbers += [sent.row[1] for sent in rows]

    def mark(self, stream: str, mark: int, place: FramePlace) -> None:
        self.marks.append(mark)

    def ended(self, stream: str, place: FramePlace) -> None:
        self.over = True

    def lost(self, peer: str) -> None:
        self.lost_peers.append(peer)

    def back(self, peer: str) -> None:
        self.returned.append(peer)

    def tick(self, now: int) -> None: ...

    def failed(self, error: BaseException) -> None:
        self.failures.append(error)


class Pair:
    """``left`` sends stream s to ``right``. Neither has been started."""

    def __init__(
        self, timing: PeerTiming = TIMING, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self.timing, self.clock = timing, clock
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self.listener.getsockname()
        self.got, self.log = Collected(), EventLog("right")
        self.right = self._peers("right", self.got, self.log, listener=self.listener)
        self.made = [self.right]
        self.left = self.make_left()

    def make_left(self, most_kept: int = 4096, key: bytes = KEY) -> Peers:
        left = self._peers("left", Collected(), EventLog("left"), most_kept=most_kept, key=key)
        self.made.append(left)
        return left

    def close(self) -> None:
        for peers in reversed(self.made):
            if peers.is_alive() or not peers.started:
                peers.finish()

    def _peers(
        self,
        name: str,
        handler: Collected,
        log: EventLog,
        *,
        listener: socket.socket | None = None,
        most_kept: int = 4096,
        key: bytes = KEY,
    ) -> Peers:
        sends = {"right": ["s"]} if name == "left" else {}
        return Peers(
            name,
            fingerprint="plan",
            key=key,
            streams=[STREAM],
            sends=sends,
            senders=["left"] if name == "right" else [],
            addresses={"right": self.address},
            handler=handler,
            log=log,
            timing=self.timing,
            listener=listener,
            most_kept=most_kept,
            clock=self.clock,
        )


def send(peers: Peers, numbers: range) -> None:
    for n in numbers:
        peers.send("s", Sent((n, n), n, False))


# -------------------------------------------------------------------- at the door


class Visitor:
    """A socket at the door of ``right``, and what it can say."""

    def __init__(self, pair: Pair, *, name: str = "left", key: bytes = KEY, plan: str = "plan"):
        self.socket = socket.create_connection(pair.address)
        self.socket.settimeout(PATIENCE_S)
        me = Identity(name=name, incarnation="1", fingerprint=plan, key=key)
        self.greeting = GreetingOut(me, "right")
        self._reader = WireFrameReader()

    def say(self, *frames: WireFrame) -> None:
        self.socket.sendall(b"".join(map(encode, frames)))

    def hear(self) -> WireFrame:
        """The next frame; ConnectionError when there is none any more."""
        while (frame := self._reader.next()) is None:
            data = self.socket.recv(4096)
            if not data:
                raise ConnectionError("closed")
            self._reader.add(data)
        return frame

    def greet(self) -> WireFrame:
        """The whole greeting; how far its streams have come."""
        self.say(self.greeting.hello())
        self.say(self.greeting.answer(self.hear()))
        self.greeting.check(self.hear())
        return self.hear()

    def heard_to_the_end(self) -> bytes:
        """All that comes until the door is shut."""
        heard = b""
        try:
            while data := self.socket.recv(4096):
                heard += data
        except ConnectionError:
            pass
        return heard

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# -------------------------------------------------------------------- turn by turn


STEP = 10 * MILLISECOND
SOON = 1000
"""turns in which what must happen has long happened"""


class Clock:
    """Time goes on when it is told to."""

    def __init__(self) -> None:
        self.now = SECOND

    def __call__(self) -> int:
        return self.now


class Turned(Pair):
    """A pair whose threads do not run: each turn is made by the test."""

    def __init__(self, timing: PeerTiming = TIMING) -> None:
        self.time = Clock()
        super().__init__(timing, self.time)

    def right_until(self, condition: Callable[[], object]) -> None:
        """Lets the receiver have turns until it holds; no time passes on the clock."""
        for _ in range(SOON):
            if condition():
                return
            self.right.turn(STEP)
        pytest.fail("it did not happen")

    def both_until(self, condition: Callable[[], object]) -> None:
        for _ in range(SOON):
            if condition():
                return
            self.left.turn(STEP)
            self.right.turn(STEP)
            self.time.now += STEP
        pytest.fail("it did not happen")

    def greet(self, visitor: Visitor) -> None:
        """As :meth:`Visitor.greet`, with turns between."""
        before = len(self.log.named("refused"))
        visitor.say(visitor.greeting.hello())
        self._answer(visitor)
        visitor.say(visitor.greeting.answer(visitor.hear()))
        self._answer(visitor)
        visitor.greeting.check(visitor.hear())
        visitor.hear()
        assert len(self.log.named("refused")) == before

    def _answer(self, visitor: Visitor) -> None:
        visitor.socket.setblocking(False)

        def answered() -> bool:
            try:
                return bool(visitor.socket.recv(1, socket.MSG_PEEK))
            except BlockingIOError:
                return False

        self.right_until(answered)
        visitor.socket.settimeout(PATIENCE_S)
