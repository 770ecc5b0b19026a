"""Two I/O threads in one process: bad frames, reconnects, duplicates, silence."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from tests.waiting import PATIENCE_S, until

from headway.engine.nodes.node_records import EventLog
from headway.engine.nodes.peers import Liveness, Peers, PeerTiming
from headway.engine.nodes.wire_format import (
    FrameKind,
    Sent,
    WireFrame,
    WireFrameReader,
    encode,
    encode_about,
    stream_of,
)
from headway.model.quantities import MILLISECOND, SECOND
from headway.model.schema import schema

STREAM = stream_of(1, "s", schema(n="int"))
TIMING = PeerTiming(heartbeat=20 * MILLISECOND, missed=5000, linger=100 * SECOND)
"""A busy machine is not to be taken for a dead peer."""


class Collected:
    """A handler that keeps what comes."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.marks: list[int] = []
        self.over = False
        self.lost_peers: list[str] = []
        self.returned: list[str] = []

    def rows(self, stream: str, rows: list[Sent]) -> None:
        self.numbers += [sent.row[1] for sent in rows]

    def mark(self, stream: str, mark: int) -> None:
        self.marks.append(mark)

    def ended(self, stream: str) -> None:
        self.over = True

    def lost(self, peer: str) -> None:
        self.lost_peers.append(peer)

    def back(self, peer: str) -> None:
        self.returned.append(peer)

    def tick(self, now: int) -> None: ...


class Pair:
    """``left`` sends stream s to ``right``."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self.listener.getsockname()
        self.got = Collected()
        self.right = self._peers("right", self.got, listener=self.listener)
        self.made = [self.right]
        self.left = self.make_left()
        self.right.start()

    def make_left(self, most_kept: int = 4096) -> Peers:
        self.made.append(self._peers("left", Collected(), most_kept=most_kept))
        return self.made[-1]

    def _peers(
        self,
        name: str,
        handler: Collected,
        listener: socket.socket | None = None,
        most_kept: int = 4096,
    ) -> Peers:
        sends = {"right": ["s"]} if name == "left" else {}
        return Peers(
            name,
            fingerprint="plan",
            streams=[STREAM],
            sends=sends,
            senders=["left"] if name == "right" else [],
            addresses={"right": self.address},
            handler=handler,
            log=EventLog(name),
            timing=TIMING,
            listener=listener,
            most_kept=most_kept,
        )


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    for peers in reversed(made.made):
        if peers.is_alive() or peers.ident is None:
            peers.finish()


def send(peers: Peers, numbers: range) -> None:
    for n in numbers:
        peers.send("s", Sent((n, n), n, False))


def test_tuples_marks_and_the_end_arrive_in_order(pair: Pair) -> None:
    pair.left.start()
    send(pair.left, range(1000))
    pair.left.send("s", 77)
    pair.left.send("s", None)
    until(lambda: pair.got.over)
    assert pair.got.numbers == list(range(1000))
    assert pair.got.marks == [77]
    pair.left.finish()
    assert pair.right.incoming.gaps == pair.right.incoming.duplicates == 0
    assert pair.right.bad_frames == 0


def test_a_connection_that_breaks_loses_and_doubles_nothing(pair: Pair) -> None:
    pair.left.start()
    for part in range(5):
        send(pair.left, range(100 * part, 100 * part + 100))
        until(lambda: len(pair.got.numbers) > 0)
        for connection in list(pair.right._connections.values()):
            with suppress(OSError):  # it may be gone already
                connection.socket.shutdown(socket.SHUT_RDWR)  # as a cable that is cut
    pair.left.send("s", None)
    until(lambda: pair.got.over)
    assert pair.got.numbers == list(range(500))
    assert pair.right.incoming.gaps == 0


def test_what_was_sent_while_nobody_was_there_is_bounded_and_counted(pair: Pair) -> None:
    left = pair.left = pair.make_left(most_kept=4)
    for n in range(10):
        send(left, range(n, n + 1))
        left._packer.pack(left._outbox)  # a frame each, although nobody is connected
    assert left.overflowed == 6
    left.start()
    left.send("s", None)
    until(lambda: pair.got.over)
    # The end took the place of one more, if it came before the connection.
    assert pair.got.numbers in ([7, 8, 9], [6, 7, 8, 9])


def stranger(pair: Pair) -> socket.socket:
    return socket.create_connection(pair.address)


def hello(plan: str = "plan") -> bytes:
    about = encode_about(name="left", incarnation="1", plan=plan)
    return encode(WireFrame(FrameKind.HELLO, payload=about))


BAD = {
    "no frame at all": b"GET / HTTP/1.1\r\nHost: somewhere.example\r\n\r\n",
    "another plan": hello("another"),
    "before a greeting": encode(WireFrame(FrameKind.ROWS, 1, STREAM.codec.hash, 1, b"")),
    "a stream nobody expects": hello() + encode(WireFrame(FrameKind.ROWS, 9, 0, 1, b"")),
    "another schema": hello() + encode(WireFrame(FrameKind.ROWS, 1, 12345, 1, b"")),
    "tuples that are none": hello()
    + encode(WireFrame(FrameKind.ROWS, 1, STREAM.codec.hash, 1, b"\1\2\3")),
    "a greeting that is none": encode(WireFrame(FrameKind.HELLO, payload=b"[1]")),
    "a damaged checksum": hello()[:-1] + b"?",
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_a_bad_frame_is_counted_and_its_connection_reset(pair: Pair, data: bytes) -> None:
    with stranger(pair) as sock:
        sock.sendall(data)
        sock.settimeout(PATIENCE_S)
        try:
            while sock.recv(4096):
                pass
        except ConnectionError:
            pass
    until(lambda: pair.right.bad_frames == 1)
    pair.left.start()
    send(pair.left, range(3))
    until(lambda: pair.got.numbers == [0, 1, 2])


def test_frames_that_come_twice_are_taken_once(pair: Pair) -> None:
    payload = STREAM.codec.encode([Sent((1, 5), 1, False)])
    frame = encode(WireFrame(FrameKind.ROWS, 1, STREAM.codec.hash, 1, payload))
    with stranger(pair) as sock:
        sock.sendall(hello() + frame + frame)
        until(lambda: pair.right.incoming.duplicates == 1)
    with stranger(pair) as sock:  # the same sender again: it is told how far it got
        sock.sendall(hello() + frame)
        until(lambda: pair.right.incoming.duplicates == 2)
        reader = WireFrameReader()
        frames: list[WireFrame] = []
        while not frames:
            frames += reader.feed(sock.recv(4096))
        assert frames[0].kind is FrameKind.WELCOME
        assert b'"positions": {"1": 1}' in frames[0].payload
    assert pair.got.numbers == [5]


def test_a_peer_that_stays_silent_is_lost_within_the_limit_and_comes_back() -> None:
    timing = PeerTiming(heartbeat=50 * MILLISECOND, missed=3)
    log, told = EventLog("me"), Collected()
    liveness = Liveness(["a", "b"], timing, log, 0, told.lost, told.back)
    liveness.heard("a", 0)
    liveness.check(150 * MILLISECOND, 0)
    assert told.lost_peers == []
    liveness.check(151 * MILLISECOND, 0)
    assert told.lost_peers == ["a"]
    (event,) = log.named("peer lost")
    assert event["peer"] == "a"
    assert "not heard of for 151 ms (limit 150 ms)" in event["reason"]
    liveness.heard("a", 200 * MILLISECOND)
    assert told.returned == ["a"]
    liveness.check(timing.start + 1, timing.start)
    assert liveness.lost_since("b") is None, "the time this process stood still does not count"
    liveness.check(2 * timing.start + 2, 0)
    assert told.lost_peers == ["a", "a", "b"]
    assert log.named("peer lost")[-1]["reason"] == "it never appeared"


def test_who_says_goodbye_is_not_lost() -> None:
    log, told = EventLog("me"), Collected()
    liveness = Liveness(["a"], PeerTiming(), log, 0, told.lost, told.back)
    liveness.heard("a", 0)
    liveness.finished("a")
    liveness.check(10 * SECOND, 0)
    assert told.lost_peers == []
    assert liveness.is_gone("a")
