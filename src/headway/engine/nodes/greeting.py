"""How two nodes greet: each proves that it has the key of the build, before anything else is said.

    who connects                                       who listens
    HELLO      its name, incarnation, plan, nonce  ->
               <-  CHALLENGE     another nonce
    PROOF      HMAC-SHA256 of all that by the key  ->
               <-  WELCOME       its incarnation, and its own HMAC
               <-  ACKNOWLEDGE   how far each stream has come

A proof is bound to the plan, to both names, to which side speaks and to both nonces, so one that
was overheard is of no use on another connection. Whoever has no key gets a nonce and nothing else.
Until a side has seen the other's proof it believes no frame longer than a greeting, and at every
stage only the frames of that stage.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from headway.engine.nodes.wire_format import (
    BadFrame,
    FrameKind,
    WireFrame,
    decode_about,
    encode_about,
)

NONCE_BYTES = 32
PROOF_BYTES = 32
MOST_NAME = 63
"""characters: as the rule for names has it"""
MOST_INCARNATION = 32
"""characters"""


class Refusal(BadFrame):
    """A greeting of somebody with whom there is nothing to talk about; ``sort`` is counted."""

    def __init__(self, sort: str, reason: str) -> None:
        super().__init__(reason)
        self.sort = sort


class LinkStage(IntEnum):
    """What is awaited on a connection; of strangers, the further the better."""

    HELLO = 1
    PROOF = 2
    OPENED = 3
    """ours: that it is established"""
    CHALLENGE = 4
    WELCOME = 5
    POSITIONS = 6
    FROM_SENDER = 7
    """greeted: its streams"""
    FROM_RECEIVER = 8
    """greeted: its acknowledgements"""
    OVER = 9

    @property
    def is_greeted(self) -> bool:
        return self >= LinkStage.FROM_SENDER


_AWAITED: dict[LinkStage, frozenset[FrameKind]] = {
    LinkStage.HELLO: frozenset({FrameKind.HELLO}),
    LinkStage.PROOF: frozenset({FrameKind.PROOF}),
    LinkStage.OPENED: frozenset(),
    LinkStage.CHALLENGE: frozenset({FrameKind.CHALLENGE}),
    LinkStage.WELCOME: frozenset({FrameKind.WELCOME}),
    LinkStage.POSITIONS: frozenset({FrameKind.ACKNOWLEDGE}),
    LinkStage.FROM_SENDER: frozenset(
        {FrameKind.ROWS, FrameKind.MARK, FrameKind.END, FrameKind.HEARTBEAT, FrameKind.BYE}
    ),
    LinkStage.FROM_RECEIVER: frozenset({FrameKind.ACKNOWLEDGE, FrameKind.HEARTBEAT, FrameKind.BYE}),
    LinkStage.OVER: frozenset(),
}


def check_place(stage: LinkStage, kind: FrameKind) -> None:
    """BadFrame for a frame that has no place at this stage."""
    if kind in _AWAITED[stage]:
        return
    if stage is LinkStage.OVER:
        raise BadFrame(f"{kind.name} after the good-bye")
    if not stage.is_greeted:
        raise BadFrame(f"{kind.name} before a greeting was complete: {stage.name} was awaited")
    raise BadFrame(f"{kind.name} is out of place after the greeting")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a node says of itself, and the key by which it proves it."""

    name: str
    incarnation: str
    fingerprint: str
    key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Transcript:
    """What both sides know of a greeting when they prove the key."""

    fingerprint: str
    sender: str
    sender_incarnation: str
    receiver: str
    sender_nonce: bytes
    receiver_nonce: bytes

    def proof(self, key: bytes, side: str, incarnation: str) -> bytes:
        texts = (
            "headway greeting",
            side,
            incarnation,
            self.fingerprint,
            self.sender,
            self.sender_incarnation,
            self.receiver,
        )
        parts = [text.encode() for text in texts] + [self.sender_nonce, self.receiver_nonce]
        # With their lengths, so that no two lists of parts are the same bytes.
        whole = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return hmac.new(key, whole, hashlib.sha256).digest()


_SENDER, _RECEIVER = "sender", "receiver"

RandomBytes = Callable[[int], bytes]


class GreetingOut:
    """The side that connects, because it has a stream to send."""

    def __init__(
        self, me: Identity, receiver: str, random_bytes: RandomBytes = secrets.token_bytes
    ) -> None:
        self._me, self._receiver = me, receiver
        self._nonce = random_bytes(NONCE_BYTES)
        self._transcript: _Transcript | None = None
        self.incarnation = ""
        """the receiver's, once it is proved"""

    def hello(self) -> WireFrame:
        me = self._me
        about = {"name": me.name, "incarnation": me.incarnation, "plan": me.fingerprint}
        payload = encode_about(**about, nonce=self._nonce.hex())
        return WireFrame(FrameKind.HELLO, payload=payload)

    def answer(self, challenge: WireFrame) -> WireFrame:
        if len(challenge.payload) != NONCE_BYTES:
            raise BadFrame(f"a challenge of {len(challenge.payload)} bytes")
        me = self._me
        self._transcript = _Transcript(
            fingerprint=me.fingerprint,
            sender=me.name,
            sender_incarnation=me.incarnation,
            receiver=self._receiver,
            sender_nonce=self._nonce,
            receiver_nonce=challenge.payload,
        )
        proof = self._transcript.proof(me.key, _SENDER, me.incarnation)
        return WireFrame(FrameKind.PROOF, payload=proof)

    def check(self, welcome: WireFrame) -> None:
        """Refusal when the receiver has another key."""
        assert self._transcript is not None
        about = decode_about(welcome.payload, incarnation=str, proof=str)
        incarnation = _short("incarnation", about["incarnation"], MOST_INCARNATION)
        meant = self._transcript.proof(self._me.key, _RECEIVER, incarnation)
        if not hmac.compare_digest(meant, _bytes(about["proof"], PROOF_BYTES)):
            raise _wrong_key(self._receiver)
        self.incarnation = incarnation


class GreetingIn:
    """The side that listens; ``name`` is only believed once it is proved."""

    def __init__(
        self, me: Identity, hello: WireFrame, random_bytes: RandomBytes = secrets.token_bytes
    ) -> None:
        about = decode_about(hello.payload, name=str, incarnation=str, plan=str, nonce=str)
        self.name = _short("name", about["name"], MOST_NAME)
        self.incarnation = _short("incarnation", about["incarnation"], MOST_INCARNATION)
        if about["plan"] != me.fingerprint:
            raise Refusal("another plan", f"{self.name!r} runs another plan")
        self._me = me
        self._transcript = _Transcript(
            fingerprint=me.fingerprint,
            sender=self.name,
            sender_incarnation=self.incarnation,
            receiver=me.name,
            sender_nonce=_bytes(about["nonce"], NONCE_BYTES),
            receiver_nonce=random_bytes(NONCE_BYTES),
        )

    def challenge(self) -> WireFrame:
        return WireFrame(FrameKind.CHALLENGE, payload=self._transcript.receiver_nonce)

    def check(self, proof: WireFrame) -> None:
        """Refusal when the sender has another key."""
        meant = self._transcript.proof(self._me.key, _SENDER, self.incarnation)
        if not hmac.compare_digest(meant, proof.payload):
            raise _wrong_key(self.name)

    def welcome(self) -> WireFrame:
        me = self._me
        proof = self._transcript.proof(me.key, _RECEIVER, me.incarnation)
        payload = encode_about(incarnation=me.incarnation, proof=proof.hex())
        return WireFrame(FrameKind.WELCOME, payload=payload)


def _wrong_key(name: str) -> Refusal:
    return Refusal("wrong key", f"{name!r} does not prove the key of this build")


def _short(what: str, text: str, most: int) -> str:
    if not text or not text.isascii() or not text.isprintable() or len(text) > most:
        raise Refusal(f"bad {what}", f"a greeting whose {what} is none, or has more than {most}")
    return text


def _bytes(text: str, length: int) -> bytes:
    try:
        given = bytes.fromhex(text)
    except ValueError:
        given = b""
    if len(given) != length:
        raise BadFrame(f"a greeting without {length} bytes where they belong")
    return given
