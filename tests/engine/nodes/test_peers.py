"""Two I/O threads in one process: bad frames, reconnects, duplicates, silence."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from tests.engine.nodes.pairs import STREAM, Collected, Pair, Visitor, send
from tests.waiting import until

from headway.engine.nodes.liveness import Liveness, PeerTiming
from headway.engine.nodes.node_records import EventLog
from headway.engine.nodes.wire_format import (
    FrameKind,
    Sent,
    WireFrame,
    decode_positions,
    encode,
)
from headway.model.quantities import MILLISECOND, SECOND


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    made.right.start()
    yield made
    made.close()


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


def rows(stream: int, schema: int, payload: bytes) -> WireFrame:
    return WireFrame(FrameKind.ROWS, stream, schema, 1, payload)


BAD = {
    "no frame at all": b"GET / HTTP/1.1\r\nHost: somewhere.example\r\n\r\n",
    "before a greeting": encode(rows(1, STREAM.codec.hash, b"")),
    "a greeting that is none": encode(WireFrame(FrameKind.HELLO, payload=b"[1]")),
    "a damaged checksum": encode(WireFrame(FrameKind.HELLO, payload=b"{}"))[:-1] + b"?",
}
BAD_OF_A_FRIEND = {
    "a stream nobody expects": rows(9, 0, b""),
    "another schema": rows(1, 12345, b""),
    "tuples that are none": rows(1, STREAM.codec.hash, b"\1\2\3"),
}


def assert_reset(pair: Pair, visitor: Visitor) -> None:
    """The connection is closed, that is counted, and the others go on."""
    visitor.heard_to_the_end()
    visitor.close()
    until(lambda: pair.right.bad_frames == 1)
    pair.left.start()
    send(pair.left, range(3))
    until(lambda: pair.got.numbers == [0, 1, 2])


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_a_bad_frame_is_counted_and_its_connection_reset(pair: Pair, data: bytes) -> None:
    visitor = Visitor(pair)
    visitor.socket.sendall(data)
    assert_reset(pair, visitor)


@pytest.mark.parametrize("frame", BAD_OF_A_FRIEND.values(), ids=BAD_OF_A_FRIEND)
def test_a_bad_frame_after_the_greeting_is_too(pair: Pair, frame: WireFrame) -> None:
    visitor = Visitor(pair)
    visitor.greet()
    visitor.say(frame)
    assert_reset(pair, visitor)


def test_frames_that_come_twice_are_taken_once(pair: Pair) -> None:
    frame = rows(1, STREAM.codec.hash, STREAM.codec.encode([Sent((1, 5), 1, False)]))
    with Visitor(pair) as visitor:
        visitor.greet()
        visitor.say(frame, frame)
        until(lambda: pair.right.incoming.duplicates == 1)
    with Visitor(pair) as visitor:  # the same sender again: it is told how far it got
        positions = visitor.greet()
        visitor.say(frame)
        until(lambda: pair.right.incoming.duplicates == 2)
    assert positions.kind is FrameKind.ACKNOWLEDGE
    assert decode_positions(positions.payload) == {1: 1}
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


def test_who_says_goodbye_is_not_waited_for_but_never_called_lost() -> None:
    """Streams of it that have not ended here (for a process that was killed they had) end when it
    stays away, as those of a lost peer do."""
    log, told = EventLog("me"), Collected()
    liveness = Liveness(["a"], PeerTiming(), log, 0, told.lost, told.back)
    liveness.heard("a", 0)
    assert liveness.lost_since("a") is None
    liveness.finished("a", 3)
    liveness.check(100 * SECOND, 0)
    assert told.lost_peers == ["a"]
    assert liveness.lost_since("a") == 3
    assert log.named("peer lost") == []
    assert liveness.is_gone("a")


def test_whom_a_killed_process_took_for_lost_is_noted_by_the_next() -> None:
    log, told = EventLog("me"), Collected()
    liveness = Liveness(["a", "b"], PeerTiming(), log, 0, told.lost, told.back)
    liveness.finished("b", 5)
    liveness.take_up("a", 7)
    liveness.take_up("b", 7)
    assert (liveness.lost_since("a"), liveness.lost_since("b")) == (7, 5)
    assert [event["peer"] for event in log.named("peer lost")] == ["a"]


def test_a_peer_that_is_lost_while_others_still_run() -> None:
    """Each has its own silence: who is heard stays, whatever the order of names."""
    timing = PeerTiming(heartbeat=50 * MILLISECOND, missed=3)
    for silent, heard in (("a", "b"), ("b", "a")):
        log, told = EventLog("me"), Collected()
        liveness = Liveness(["a", "b"], timing, log, 0, told.lost, told.back)
        liveness.heard("a", 0)
        liveness.heard("b", 0)
        liveness.heard(heard, 100 * MILLISECOND)
        liveness.check(151 * MILLISECOND, 0)
        assert told.lost_peers == [silent]
        assert liveness.is_gone(silent)
        assert not liveness.is_gone(heard)
        assert liveness.lost_since(silent) == 151 * MILLISECOND
        assert liveness.lost_since(heard) is None
        liveness.check(200 * MILLISECOND, 0)
        assert told.lost_peers == [silent], "it is lost once"
        assert liveness.lost_since(silent) == 151 * MILLISECOND


def test_who_is_refused_is_lost_at_once_if_it_was_there() -> None:
    log, told = EventLog("me"), Collected()
    liveness = Liveness(["a", "b"], PeerTiming(), log, 0, told.lost, told.back)
    liveness.heard("a", 5)
    liveness.refused("a", 7)
    liveness.refused("a", 8)
    liveness.refused("b", 9)  # not up yet
    assert told.lost_peers == ["a"]
    assert liveness.lost_since("a") == 7
    assert not liveness.is_gone("b")


def test_a_word_from_before_is_no_newer_than_one_since() -> None:
    """Frames of one turn are taken in any order, and strangers have no say."""
    timing = PeerTiming(heartbeat=50 * MILLISECOND, missed=3)
    log, told = EventLog("me"), Collected()
    liveness = Liveness(["a"], timing, log, 0, told.lost, told.back)
    liveness.heard("a", 100 * MILLISECOND)
    liveness.heard("a", 10 * MILLISECOND)
    liveness.heard("nobody", 10 * MILLISECOND)
    liveness.finished("nobody", 10 * MILLISECOND)
    liveness.check(250 * MILLISECOND, 0)
    assert told.lost_peers == []
    assert told.returned == [], "it was never lost"


def test_who_has_said_goodbye_may_come_back() -> None:
    log, told = EventLog("me"), Collected()
    liveness = Liveness(["a"], PeerTiming(), log, 0, told.lost, told.back)
    liveness.heard("a", 0)
    liveness.finished("a", 0)
    liveness.finished("a", 0)
    assert len(log.named("peer finished")) == 1
    liveness.heard("a", 1)
    assert not liveness.is_gone("a")
    assert liveness.lost_since("a") is None
    assert told.returned == ["a"]
    assert [event["peer"] for event in log.named("peer back")] == ["a"]


@pytest.mark.parametrize(("now", "lost"), [(20 * SECOND, []), (20 * SECOND + 1, ["a"])])
def test_how_long_a_peer_is_awaited(now: int, lost: list[str]) -> None:
    log, told = EventLog("me"), Collected()
    Liveness(["a"], PeerTiming(), log, 0, told.lost, told.back).check(now, 0)
    assert told.lost_peers == lost


def test_what_is_still_to_be_sent_is_waited_for(pair: Pair) -> None:
    """Nothing is over while one peer has not acknowledged and is not gone, though another is."""
    left = pair.left
    assert not left._outbox
    assert left._all_done(), "nothing was sent"
    left.send("s", Sent((1, 1), 1, False))
    assert not left._all_done(), "it stands in the outbox"
    left._packer.pack(left._outbox)
    assert not left._outbox
    assert not left._all_done(), "it is not acknowledged"
    left.liveness.finished("right", 0)
    assert left._all_done(), "nobody is there to acknowledge it"
