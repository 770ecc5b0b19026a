"""Greetings: who is let in, how long it may take and how much it may say; nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.engine.nodes.pairs import KEY, SOON, STEP, STREAM, Turned, Visitor, send
from tests.waiting import PATIENCE_S

from headway.engine.nodes.greeting import (
    GreetingIn,
    GreetingOut,
    Identity,
    LinkStage,
    Refusal,
    check_place,
)
from headway.engine.nodes.liveness import PeerTiming
from headway.engine.nodes.wire_format import (
    MOST_GREETING,
    BadFrame,
    FrameKind,
    Sent,
    WireFrame,
    WireFrameReader,
    encode,
    encode_about,
)
from headway.model.quantities import MILLISECOND, SECOND

OTHER_KEY = bytes(32)


@pytest.fixture
def turned() -> Iterator[Turned]:
    made = Turned()
    yield made
    made.close()


# -------------------------------------------------------------------- time


def short_greeting() -> Turned:
    # Turns that lie further apart than half a heartbeat are taken for a stand-still of our own.
    timing = PeerTiming(heartbeat=50 * MILLISECOND, greeting=20 * STEP, start=60 * SECOND)
    return Turned(timing)


@pytest.mark.parametrize("drips", [False, True], ids=["silent", "a byte now and then"])
def test_who_does_not_greet_in_time_is_dropped(drips: bool) -> None:
    pair = short_greeting()
    with Visitor(pair) as visitor:
        hello = encode(visitor.greeting.hello())
        pair.right_until(lambda: pair.right._connections)
        for n in range(20):
            if drips:
                visitor.socket.sendall(hello[n : n + 1])
            pair.time.now += STEP
            pair.right.turn(0)
        assert len(pair.right._connections) == 1, "the limit itself is still in time"
        pair.time.now += 1
        pair.right.turn(0)
        assert len(pair.right._connections) == 0
        assert visitor.heard_to_the_end() == b""
    assert pair.right.refused == {"did not greet": 1}
    limit = 20 * STEP / MILLISECOND
    assert pair.log.named("refused")[0]["reason"] == f"it did not greet within {limit:.0f} ms"
    pair.close()


def test_the_time_we_stood_still_is_not_held_against_a_stranger() -> None:
    pair = short_greeting()
    with Visitor(pair) as visitor:
        pair.right_until(lambda: pair.right._connections)
        pair.time.now += 100 * SECOND
        pair.right.turn(0)
        assert len(pair.right._connections) == 1
        pair.greet(visitor)
    pair.close()


def test_a_receiver_that_does_not_answer_is_tried_again() -> None:
    pair = short_greeting()
    for _ in range(40):
        pair.time.now += STEP
        pair.left.turn(0)
    assert pair.left.refused == {"did not welcome": 1}
    send(pair.left, range(3))
    pair.both_until(lambda: pair.got.numbers == [0, 1, 2])
    pair.close()


def test_a_friend_that_is_not_heard_of_for_long_is_dropped() -> None:
    timing = PeerTiming(heartbeat=50 * MILLISECOND, greeting=SECOND, start=30 * STEP)
    pair = Turned(timing)
    with Visitor(pair) as visitor:
        pair.greet(visitor)
        for _ in range(30):
            pair.time.now += STEP
            pair.right.turn(0)
        assert len(pair.right._connections) == 1
        pair.time.now += 1
        pair.right.turn(0)
        assert len(pair.right._connections) == 0
    pair.close()


# -------------------------------------------------------------------- size


def test_a_long_frame_before_the_greeting_is_refused_by_its_header(turned: Turned) -> None:
    with Visitor(turned) as visitor:
        long = encode(WireFrame(FrameKind.HELLO, payload=b" " * (MOST_GREETING + 1)))
        visitor.socket.sendall(long[:28])
        turned.right_until(lambda: turned.right.bad_frames == 1)
    (noted,) = turned.log.named("bad frame")
    assert "more than 512" in noted["reason"]


def test_a_friend_may_send_long_frames(turned: Turned) -> None:
    with Visitor(turned) as visitor:
        turned.greet(visitor)
        payload = STREAM.codec.encode([Sent((1, n), n, False) for n in range(256)])
        assert len(payload) > MOST_GREETING
        visitor.say(WireFrame(FrameKind.ROWS, 1, STREAM.codec.hash, 1, payload))
        turned.right_until(lambda: len(turned.got.numbers) == 256)


def hello(**about: object) -> WireFrame:
    given = {"name": "left", "incarnation": "1", "plan": "plan", "nonce": "00" * 32, **about}
    return WireFrame(FrameKind.HELLO, payload=encode_about(**given))


REFUSED = {
    "a long name": (hello(name="n" * 64), "bad name"),
    "no name": (hello(name=""), "bad name"),
    "a name of two lines": (hello(name="a\nb"), "bad name"),
    "half of a letter": (hello(name="\ud800"), "bad name"),
    "a long incarnation": (hello(incarnation="1" * 33), "bad incarnation"),
    "another plan": (hello(plan="another"), "another plan"),
}


@pytest.mark.parametrize(("greeting", "sort"), REFUSED.values(), ids=REFUSED)
def test_such_a_greeting_is_refused(turned: Turned, greeting: WireFrame, sort: str) -> None:
    with Visitor(turned) as visitor:
        visitor.say(greeting)
        turned.right_until(lambda: turned.right.refused)
        assert visitor.heard_to_the_end() == b""
    assert turned.right.refused == {sort: 1}
    assert turned.log.named("refused")[0]["sort"] == sort


@pytest.mark.parametrize("nonce", ["", "00" * 31, "00" * 33, "zz" * 32])
def test_a_nonce_is_whole(turned: Turned, nonce: str) -> None:
    with Visitor(turned) as visitor:
        visitor.say(hello(nonce=nonce))
        turned.right_until(lambda: turned.right.bad_frames == 1)


# -------------------------------------------------------------------- the key


def identity(name: str, **other: str | bytes) -> Identity:
    given: dict[str, str | bytes] = {"incarnation": "1", "fingerprint": "plan", "key": KEY}
    return Identity(name=name, **{**given, **other})  # type: ignore[arg-type]


def test_both_sides_prove_the_key() -> None:
    out = GreetingOut(identity("left"), "right")
    inward = GreetingIn(identity("right", incarnation="7"), out.hello())
    inward.check(out.answer(inward.challenge()))
    out.check(inward.welcome())
    assert (inward.name, out.incarnation) == ("left", "7")


@pytest.mark.parametrize(
    ("sender", "meant_for", "receiver"),
    [
        (identity("left", key=OTHER_KEY), "right", identity("right")),
        (identity("left"), "elsewhere", identity("right")),
    ],
    ids=["another key", "meant for another"],
)
def test_a_proof_that_does_not_fit(sender: Identity, meant_for: str, receiver: Identity) -> None:
    out = GreetingOut(sender, meant_for)
    inward = GreetingIn(receiver, out.hello())
    with pytest.raises(Refusal, match="'left' does not prove the key"):
        inward.check(out.answer(inward.challenge()))


@pytest.mark.parametrize("fact", ["name", "incarnation", "nonce"])
def test_a_proof_is_of_what_the_greeting_said(fact: str) -> None:
    """Somebody on the way changed the greeting."""
    out = GreetingOut(identity("left"), "right")
    changed = {"name": "rear", "incarnation": "2", "nonce": "00" * 32}[fact]
    about = {"name": "left", "incarnation": "1", "plan": "plan", "nonce": out._nonce.hex()}
    inward = GreetingIn(identity("right"), hello(**{**about, fact: changed}))
    with pytest.raises(Refusal, match="does not prove the key"):
        inward.check(out.answer(inward.challenge()))


def test_a_proof_that_was_overheard_is_of_no_use() -> None:
    out = GreetingOut(identity("left"), "right")
    first = GreetingIn(identity("right"), out.hello())
    proof = out.answer(first.challenge())
    first.check(proof)
    again = GreetingIn(identity("right"), out.hello())
    with pytest.raises(Refusal):
        again.check(proof)


def test_the_senders_own_proof_is_not_the_receivers() -> None:
    out = GreetingOut(identity("left"), "right")
    proof = out.answer(WireFrame(FrameKind.CHALLENGE, payload=bytes(32)))
    payload = encode_about(incarnation="1", proof=proof.payload.hex())
    with pytest.raises(Refusal):
        out.check(WireFrame(FrameKind.WELCOME, payload=payload))


def test_proofs_depend_on_the_plan() -> None:
    """Two builds with one key, of which only the fingerprints differ."""
    proofs = []
    for plan in ("plan", "other"):
        out = GreetingOut(identity("left", fingerprint=plan), "right")
        out._nonce = bytes(32)
        proofs.append(out.answer(WireFrame(FrameKind.CHALLENGE, payload=bytes(32))).payload)
    assert proofs[0] != proofs[1]


def test_a_sender_without_the_key_gets_nothing_and_is_not_heard(turned: Turned) -> None:
    with Visitor(turned, key=OTHER_KEY) as visitor:
        visitor.say(visitor.greeting.hello())
        turned._answer(visitor)
        proof = visitor.greeting.answer(visitor.hear())
        payload = STREAM.codec.encode([Sent((1, 5), 1, False)])
        visitor.say(proof, WireFrame(FrameKind.ROWS, 1, STREAM.codec.hash, 1, payload))
        turned.right_until(lambda: turned.right.refused)
        assert visitor.heard_to_the_end() == b"", "no welcome, no positions"
    assert turned.right.refused == {"wrong key": 1}
    assert turned.got.numbers == []
    assert turned.log.named("peer found") == []


class FalseReceiver:
    """Sits where ``right`` should."""

    def __init__(self, pair: Turned, key: bytes) -> None:
        self.pair, self.key = pair, key
        pair.listener.settimeout(PATIENCE_S)
        pair.left.turn(0)
        self.socket, _ = pair.listener.accept()
        self.socket.setblocking(False)
        self._reader = WireFrameReader()

    def say(self, frame: WireFrame) -> None:
        self.socket.sendall(encode(frame))

    def hear(self) -> WireFrame:
        for _ in range(SOON):
            if (frame := self._reader.next()) is not None:
                return frame
            self.pair.left.turn(STEP)
            try:
                self._reader.add(self.socket.recv(4096))
            except BlockingIOError:
                continue
        pytest.fail("nothing came")

    def greet(self) -> GreetingIn:
        greeting = GreetingIn(identity("right", key=self.key), self.hear())
        self.say(greeting.challenge())
        if self.key == KEY:
            greeting.check(self.hear())
        else:
            self.hear()
        self.say(greeting.welcome())
        return greeting

    def left_until(self, condition: Callable[[], object]) -> None:
        for _ in range(SOON):
            if condition():
                return
            self.pair.left.turn(STEP)
        pytest.fail("it did not happen")


def test_a_receiver_without_the_key_gets_no_tuples(turned: Turned) -> None:
    send(turned.left, range(3))
    false = FalseReceiver(turned, OTHER_KEY)
    false.greet()
    false.left_until(lambda: turned.left.refused)
    assert turned.left.refused == {"wrong key": 1}
    false.socket.settimeout(PATIENCE_S)
    assert false.socket.recv(4096) == b"", "it is left without a word"
    false.socket.close()
    turned.listener.setblocking(False)
    turned.both_until(lambda: turned.got.numbers == [0, 1, 2])


# -------------------------------------------------------------------- places


def test_a_second_welcome_ends_the_connection(turned: Turned) -> None:
    send(turned.left, range(3))
    false = FalseReceiver(turned, KEY)
    greeting = false.greet()
    false.say(WireFrame(FrameKind.ACKNOWLEDGE))
    assert false.hear().kind is FrameKind.ROWS
    false.say(greeting.welcome())
    false.left_until(lambda: turned.left.bad_frames == 1)
    false.socket.close()
    turned.listener.setblocking(False)


def test_a_welcome_without_a_challenge_ends_the_connection(turned: Turned) -> None:
    false = FalseReceiver(turned, KEY)
    assert false.hear().kind is FrameKind.HELLO
    about = encode_about(incarnation="1", proof="00" * 32, positions={})
    false.say(WireFrame(FrameKind.WELCOME, payload=about))
    false.left_until(lambda: turned.left.bad_frames == 1)
    false.socket.close()
    turned.listener.setblocking(False)


@pytest.mark.parametrize("kind", [kind for kind in FrameKind if kind is not FrameKind.HELLO])
def test_nothing_goes_before_a_greeting(turned: Turned, kind: FrameKind) -> None:
    with Visitor(turned) as visitor:
        visitor.say(WireFrame(kind))
        turned.right_until(lambda: turned.right.bad_frames == 1)
        assert visitor.heard_to_the_end() == b""


@pytest.mark.parametrize(
    "kind",
    [
        FrameKind.HELLO,
        FrameKind.CHALLENGE,
        FrameKind.PROOF,
        FrameKind.WELCOME,
        FrameKind.ACKNOWLEDGE,
    ],
)
def test_what_a_sender_has_not_to_say_ends_its_connection(turned: Turned, kind: FrameKind) -> None:
    with Visitor(turned) as visitor:
        turned.greet(visitor)
        visitor.say(visitor.greeting.hello() if kind is FrameKind.HELLO else WireFrame(kind))
        turned.right_until(lambda: turned.right.bad_frames == 1)
    (noted,) = turned.log.named("bad frame")
    assert (noted["peer"], noted["reason"]) == (
        "left",
        f"{kind.name} is out of place after the greeting",
    )


def test_nothing_comes_after_the_goodbye(turned: Turned) -> None:
    with Visitor(turned) as visitor:
        turned.greet(visitor)
        visitor.say(WireFrame(FrameKind.BYE), WireFrame(FrameKind.HEARTBEAT))
        turned.right_until(lambda: turned.right.bad_frames == 1)
    assert turned.right.liveness.is_gone("left")


def test_strangers_are_not_told_good_bye(turned: Turned) -> None:
    with Visitor(turned, name="friend") as friend, Visitor(turned) as stranger:
        turned.greet(friend)
        turned.right_until(lambda: len(turned.right._connections) == 2)
        turned.right.finish()
        assert friend.heard_to_the_end() == encode(WireFrame(FrameKind.BYE))
        assert stranger.heard_to_the_end() == b""
    turned.made.remove(turned.right)


def test_the_connection_a_sender_had_before_is_closed(turned: Turned) -> None:
    with Visitor(turned) as first, Visitor(turned) as second:
        turned.greet(first)
        turned.greet(second)
        first.heard_to_the_end()
        assert len(turned.right._connections) == 1


def test_what_is_wrong_with_a_challenge_is_said() -> None:
    out = GreetingOut(identity("left"), "right")
    with pytest.raises(BadFrame, match="a challenge of 3 bytes"):
        out.answer(WireFrame(FrameKind.CHALLENGE, payload=b"abc"))


# -------------------------------------------------------------------- what may be said when


AWAITED = {
    "HELLO": {"HELLO"},
    "PROOF": {"PROOF"},
    "OPENED": set(),
    "CHALLENGE": {"CHALLENGE"},
    "WELCOME": {"WELCOME"},
    "POSITIONS": {"ACKNOWLEDGE"},
    "FROM_SENDER": {"ROWS", "MARK", "END", "HEARTBEAT", "BYE"},
    "FROM_RECEIVER": {"ACKNOWLEDGE", "HEARTBEAT", "BYE"},
    "OVER": set(),
}


@pytest.mark.parametrize("stage", LinkStage)
def test_every_frame_at_every_stage(stage: LinkStage) -> None:
    let_in = set()
    for kind in FrameKind:
        try:
            check_place(stage, kind)
        except BadFrame as error:
            told = str(error)
            if stage is LinkStage.OVER:
                assert told == f"{kind.name} after the good-bye"
            elif stage in (LinkStage.FROM_SENDER, LinkStage.FROM_RECEIVER):
                assert told == f"{kind.name} is out of place after the greeting"
            else:
                assert told.startswith(f"{kind.name} before a greeting was complete")
        else:
            let_in.add(kind.name)
    assert let_in == AWAITED[stage.name]
    greeted = (LinkStage.FROM_SENDER, LinkStage.FROM_RECEIVER, LinkStage.OVER)
    assert stage.is_greeted is (stage in greeted)
