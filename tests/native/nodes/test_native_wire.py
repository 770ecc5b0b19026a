"""The protocol of nodes in C++ beside Python's: the same bytes, wrong ones told by both."""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import json
import subprocess
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples
from tests.native.needed import needs_compiler, needs_sanitizers
from tests.native.nodes.compiled_tests import compiled

from headway.engine.nodes.greeting import GreetingIn, GreetingOut, Identity, Refusal
from headway.engine.nodes.wire_format import (
    MOST_GREETING,
    BadFrame,
    FrameKind,
    RowCodec,
    Sent,
    WireFrame,
    WireFrameReader,
    encode,
)
from headway.model.schema import Schema, schema
from headway.model.user_operator import Row
from headway.native.toolchain import BinaryKind, BuildMode

pytestmark = needs_compiler
SAMPLE: Schema = schema(
    flag="boolean",
    whole="int",
    large="bigint",
    single="float",
    real="double",
    text="string(8)",
    moment="timestamp",
)
FINE, WRONG_KEY, ANOTHER_PLAN, BAD_GREETING = 0, 15, 14, 12
FAULTS = 22


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("wire")
    loaded = ctypes.CDLL(str(compiled("wire_library.cpp", folder, kind=BinaryKind.SHARED)))
    loaded.wire_again.restype = ctypes.c_int64
    loaded.wire_read.restype = ctypes.c_int64
    loaded.wire_crc32.restype = ctypes.c_uint32
    loaded.wire_hello.restype = loaded.wire_frame.restype = ctypes.c_size_t
    for name in ("wire_answer", "wire_check_welcome", "wire_challenge", "wire_check_proof"):
        getattr(loaded, name).restype = ctypes.c_uint8
    return loaded


def size(data: bytes) -> ctypes.c_size_t:
    return ctypes.c_size_t(len(data))


# ---------------------------------------------------------------- digests


@examples(60)
@given(key=st.binary(max_size=200), data=st.binary(max_size=500))
def test_digests_are_those_of_hashlib(library: ctypes.CDLL, key: bytes, data: bytes) -> None:
    out = ctypes.create_string_buffer(32)
    library.wire_sha256(data, size(data), out)
    assert out.raw == hashlib.sha256(data).digest()
    library.wire_hmac(key, size(key), data, size(data), out)
    assert out.raw == hmac.new(key, data, hashlib.sha256).digest()
    assert library.wire_crc32(data, size(data)) == zlib.crc32(data)


# ---------------------------------------------------------------- tuples


TIMES = st.integers(-(1 << 63), (1 << 63) - 1)
FLOATS = st.floats(width=32, allow_nan=False)
TEXTS = st.text(max_size=8).filter(lambda text: len(text.encode()) <= 8)
ROWS: st.SearchStrategy[Row] = st.tuples(
    TIMES,
    st.none() | st.booleans(),
    st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
    st.none() | TIMES,
    st.none() | FLOATS,
    st.none() | st.floats(allow_nan=False),
    st.none() | TEXTS,
    st.none() | TIMES,
)
SENT = st.builds(Sent, ROWS, st.integers(0, (1 << 64) - 1), st.booleans())
CODEC = RowCodec("incoming", SAMPLE)


def again(library: ctypes.CDLL, payload: bytes) -> bytes | int:
    """The payload as C++ reads and writes it; below 0: what is wrong with it."""
    out = ctypes.create_string_buffer(1 << 16)
    length = library.wire_again(payload, size(payload), out, ctypes.c_size_t(1 << 16))
    return int(length) if length < 0 else out.raw[:length]


@examples(150)
@given(rows=st.lists(SENT, max_size=20))
def test_tuples_are_the_same_bytes(library: ctypes.CDLL, rows: list[Sent]) -> None:
    payload = CODEC.encode(rows)
    assert again(library, payload) == payload


@examples(200)
@given(rows=st.lists(SENT, min_size=1, max_size=3), data=st.data())
def test_wrong_tuples_are_wrong_to_both(
    library: ctypes.CDLL, rows: list[Sent], data: st.DataObject
) -> None:
    payload = bytearray(CODEC.encode(rows))
    for _ in range(data.draw(st.integers(1, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    payload = payload[: data.draw(st.integers(0, len(payload)))] or payload
    found = again(library, bytes(payload))
    try:
        read = CODEC.decode(bytes(payload))
    except BadFrame:
        assert found == -1
        return
    if any(row[0] is None for row, _, _ in read):
        assert found == -1  # a tuple without a time is none
    elif any(len((row[6] or "").encode()) > 8 for row, _, _ in read):
        assert found == -2
    else:
        assert isinstance(found, bytes)
        # Any byte but 0 is true, and bits of columns that there are not are left out.
        assert repr(CODEC.decode(found)) == repr(read)


# ---------------------------------------------------------------- frames


@examples(60)
@given(
    frames=st.lists(
        st.builds(
            WireFrame,
            st.sampled_from(FrameKind),
            st.integers(0, 65535),
            st.integers(0, (1 << 32) - 1),
            st.integers(0, (1 << 64) - 1),
            st.binary(max_size=300),
        ),
        max_size=6,
    ),
    piece=st.integers(1, 400),
    spoil=st.none() | st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)),
)
def test_frames_are_read_as_python_reads_them(
    library: ctypes.CDLL,
    frames: list[WireFrame],
    piece: int,
    spoil: tuple[int, int] | None,
) -> None:
    data = bytearray(b"".join(map(encode, frames)))
    if spoil is not None and data:
        data[spoil[0] % len(data)] ^= spoil[1]
    reader = WireFrameReader(MOST_GREETING)
    good = 0
    wrong = False
    try:
        for _ in reader.feed(bytes(data)):
            good += 1
    except BadFrame:
        wrong = True
    fault = ctypes.c_uint8()
    read = library.wire_read(
        bytes(data),
        size(bytes(data)),
        ctypes.c_size_t(piece),
        ctypes.c_size_t(MOST_GREETING),
        ctypes.byref(fault),
    )
    assert (read, fault.value != FINE) == (good, wrong)
    for frame in frames:
        out = ctypes.create_string_buffer(1024)
        length = library.wire_frame(
            ctypes.c_uint8(frame.kind),
            ctypes.c_uint16(frame.stream),
            ctypes.c_uint32(frame.schema),
            ctypes.c_uint64(frame.sequence),
            frame.payload,
            size(frame.payload),
            out,
        )
        assert out.raw[:length] == encode(frame)


@needs_sanitizers
@pytest.mark.parametrize("seed", [1])
def test_a_hundred_thousand_spoilt_frames_do_no_harm(seed: int, tmp_path: Path) -> None:
    """Under the sanitizers. Every kind of fault is met, and right ones still get through."""
    program = compiled("frame_fuzzer.cpp", tmp_path, mode=BuildMode.SANITIZED)
    ran = subprocess.run(
        [program, str(seed), "100000"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["ring"] is True
    for outcome in ("incomplete", "good", "greetings", "positions", "rows", "marks", "ends"):
        assert told[outcome] > 100, outcome
    assert told["deployments"] > 100
    met = {number for number, count in enumerate(told["faults"]) if count}
    # All but those that only a connection can have: a place in a greeting, a tag, a crowd.
    assert met == set(range(FAULTS)) - {6, 13, 18, 19, 20, 21}


# ---------------------------------------------------------------- greetings


def identity(name: str, key: bytes, plan: str = "0123456789abcdef") -> Identity:
    return Identity(name=name, incarnation="5f", fingerprint=plan, key=key)


def given_to(who: Identity) -> tuple[bytes, bytes, bytes, bytes]:
    return who.name.encode(), who.incarnation.encode(), who.fingerprint.encode(), who.key


KEY, OTHER_KEY = bytes(range(32)), bytes(32)


@pytest.mark.parametrize(("key", "meant"), [(KEY, FINE), (OTHER_KEY, WRONG_KEY)])
def test_a_native_sender_is_greeted_by_a_python_receiver(
    library: ctypes.CDLL, key: bytes, meant: int
) -> None:
    sender, receiver = identity("front", key), identity("centre", KEY)
    out = ctypes.create_string_buffer(512)
    length = library.wire_hello(*given_to(sender), b"centre", out)
    greeting = GreetingIn(receiver, WireFrame(FrameKind.HELLO, payload=out.raw[:length]))
    assert (greeting.name, greeting.incarnation) == ("front", "5f")
    challenge = greeting.challenge().payload
    assert library.wire_answer(*given_to(sender), challenge, size(challenge), out) == FINE
    proof = WireFrame(FrameKind.PROOF, payload=out.raw[:32])
    if meant == WRONG_KEY:
        with pytest.raises(Refusal, match="does not prove the key"):
            greeting.check(proof)
    else:
        greeting.check(proof)
    welcome = greeting.welcome().payload
    assert library.wire_check_welcome(*given_to(sender), welcome, size(welcome)) == meant


@pytest.mark.parametrize(("key", "meant"), [(KEY, FINE), (OTHER_KEY, WRONG_KEY)])
def test_a_python_sender_is_greeted_by_a_native_receiver(
    library: ctypes.CDLL, key: bytes, meant: int
) -> None:
    sender, receiver = identity("front", key), identity("centre", KEY)
    greeting = GreetingOut(sender, "centre")
    hello = greeting.hello().payload
    out = ctypes.create_string_buffer(512)
    assert library.wire_challenge(*given_to(receiver), hello, size(hello), out) == FINE
    proof = greeting.answer(WireFrame(FrameKind.CHALLENGE, payload=out.raw[:32])).payload
    length = ctypes.c_size_t()
    found = library.wire_check_proof(
        *given_to(receiver), proof, size(proof), out, ctypes.byref(length)
    )
    assert found == meant
    if meant == FINE:
        greeting.check(WireFrame(FrameKind.WELCOME, payload=out.raw[: length.value]))
        assert greeting.incarnation == "5f"


def test_another_plan_and_no_greeting_at_all_are_refused(library: ctypes.CDLL) -> None:
    receiver = identity("centre", KEY)
    out = ctypes.create_string_buffer(512)
    other = GreetingOut(identity("front", KEY, plan="ffff"), "centre").hello().payload
    assert library.wire_challenge(*given_to(receiver), other, size(other), out) == ANOTHER_PLAN
    for wrong in (b"", b"{}", b"[1]", b'{"name": 1}', b'{"name": "a", "nonce": "00"}', other[:-1]):
        found = library.wire_challenge(*given_to(receiver), wrong, size(wrong), out)
        assert found == BAD_GREETING, wrong
