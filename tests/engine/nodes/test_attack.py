"""An attack on a node's port by sockets of the machine, while an honest pair goes on."""

from __future__ import annotations

import json
import random
import resource
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.engine.nodes.driver import Driver
from tests.engine.nodes.pairs import Pair, Visitor, send
from tests.engine.nodes.study import study_arrivals, study_plan
from tests.waiting import PATIENCE_S, until

from headway.engine.engine import Engine
from headway.engine.nodes.executables import build_executables, slices_of, write_build
from headway.engine.nodes.launcher import Launcher
from headway.engine.nodes.links import MOST_FROM_ONE
from headway.engine.nodes.liveness import PeerTiming
from headway.engine.nodes.node_key import KEY_FILE, read_key
from headway.engine.nodes.node_records import MOST_NOTED, MOST_TEXT, EventLog
from headway.engine.nodes.wire_format import (
    MAGIC,
    MOST_BYTES,
    MOST_GREETING,
    OVERHEAD,
    VERSION,
    FrameKind,
    WireFrame,
    encode,
    encode_about,
)
from headway.model.quantities import MILLISECOND, SECOND

TUPLES = 500
"""sent by the honest during each part of the attack"""


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    made.right.start()
    yield made
    made.close()


def said(visitor: Visitor, data: bytes) -> None:
    with suppress(OSError):  # thrown out in the middle of a word
        visitor.socket.sendall(data)


def silent(pair: Pair) -> list[Visitor]:
    return [Visitor(pair) for _ in range(200)]


def half_greetings(pair: Pair) -> list[Visitor]:
    visitors = [Visitor(pair) for _ in range(50)]
    for visitor in visitors:
        hello = encode(visitor.greeting.hello())
        said(visitor, hello[: len(hello) // 2])
    return visitors


def unfinished_frames(pair: Pair) -> list[Visitor]:
    visitors = [Visitor(pair) for _ in range(50)]
    whole = encode(WireFrame(FrameKind.HELLO, payload=bytes(MOST_BYTES)))
    for visitor in visitors:
        said(visitor, whole[: MOST_BYTES // 8])
    return visitors


def welcome_floods(pair: Pair) -> list[Visitor]:
    visitors = [Visitor(pair) for _ in range(20)]
    about = encode_about(name="left", incarnation="1", positions={})
    for visitor in visitors:
        said(visitor, encode(WireFrame(FrameKind.WELCOME, payload=about)) * 2000)
    return visitors


def wrong_keys(pair: Pair) -> list[Visitor]:
    visitors = []
    for n in range(50):
        visitor = Visitor(pair, key=n.to_bytes(32, "big"))
        visitors.append(visitor)
        with suppress(OSError):
            visitor.say(visitor.greeting.hello())
            visitor.say(visitor.greeting.answer(visitor.hear()), WireFrame(FrameKind.END, 1))
    return visitors


def oversized_names(pair: Pair) -> list[Visitor]:
    visitors = [Visitor(pair) for _ in range(150)]
    for n, visitor in enumerate(visitors):
        name = "n" * (64 if n % 2 else 500_000)
        about = encode_about(name=name, incarnation="1", plan="plan", nonce="00" * 32)
        said(visitor, encode(WireFrame(FrameKind.HELLO, payload=about)))
    return visitors


def random_bytes(pair: Pair) -> list[Visitor]:
    chance = random.Random(4711)
    visitors = [Visitor(pair) for _ in range(150)]
    for visitor in visitors:
        noise = chance.randbytes(chance.randrange(1, 2000))
        begin = MAGIC + struct.pack(">BB", VERSION, chance.choice(list(FrameKind)))
        said(visitor, chance.choice([b"", MAGIC, begin]) + noise)
    return visitors


ATTACKS: dict[str, Callable[[Pair], list[Visitor]]] = {
    "200 silent": silent,
    "half greetings": half_greetings,
    "unfinished frames of 1 MiB": unfinished_frames,
    "floods of WELCOME": welcome_floods,
    "wrong keys": wrong_keys,
    "oversized names": oversized_names,
    "random bytes": random_bytes,
}


def buffered(pair: Pair) -> int:
    """Bytes kept of strangers."""
    connections = list(pair.right._connections.values())
    return sum(len(one._reader._bytes) for one in connections if not one.peer)


def honest_go_on(pair: Pair, start: int) -> None:
    send(pair.left, range(start, start + TUPLES))
    until(lambda: len(pair.got.numbers) == start + TUPLES)


def assert_bounded(pair: Pair) -> None:
    strangers = [one for one in list(pair.right._connections.values()) if not one.peer]
    assert len(strangers) <= MOST_FROM_ONE + 1  # one may be about to go
    assert buffered(pair) <= len(strangers) * 2 * (OVERHEAD + MOST_GREETING)
    for event in ("bad frame", "refused"):
        entries = pair.log.named(event)
        assert len(entries) <= MOST_NOTED
        assert all(len(entry["reason"]) <= MOST_TEXT for entry in entries)


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_the_honest_go_on_during_an_attack(
    pair: Pair, attack: Callable[[Pair], list[Visitor]]
) -> None:
    pair.left.start()
    honest_go_on(pair, 0)
    with ExitStack() as stack:
        for visitor in attack(pair):
            stack.enter_context(visitor)
        honest_go_on(pair, TUPLES)
        assert_bounded(pair)
    assert_all_came(pair, 2)


def test_the_honest_get_in_during_all_attacks_at_once(pair: Pair) -> None:
    """They connect when the strangers are there already, lose their connection and come back."""
    with ExitStack() as stack:
        for attack in ATTACKS.values():
            for visitor in attack(pair):
                stack.enter_context(visitor)
        pair.left.start()
        honest_go_on(pair, 0)
        for part in range(1, 4):
            for attack in (silent, half_greetings, random_bytes):
                for visitor in attack(pair):
                    stack.enter_context(visitor)
            for connection in list(pair.right._connections.values()):
                if connection.peer:
                    with suppress(OSError):
                        connection.socket.shutdown(2)  # as a cable that is cut
            honest_go_on(pair, part * TUPLES)
        assert_bounded(pair)
        assert pair.right.refused["wrong key"] == 50
        assert pair.right.refused["bad name"] > 0
        assert pair.right.refused["crowded out"] > 500
    assert_all_came(pair, 4)


def assert_all_came(pair: Pair, parts: int) -> None:
    pair.left.send("s", None)
    until(lambda: pair.got.over)
    pair.left.finish()
    assert pair.got.numbers == list(range(parts * TUPLES))
    assert pair.right.incoming.gaps == pair.left.overflowed == 0
    assert pair.log.named("peer lost") == []
    assert pair.right.failure is pair.left.failure is None


def test_a_node_whose_files_strangers_use_up_goes_on(tmp_path: Path) -> None:
    """A real process with few files to open, and strangers from several addresses. The tuples come
    when it has no more."""
    plan = study_plan(timeout=225 * MILLISECOND, within=35 * MILLISECOND)
    build, out, parts = tmp_path / "build", tmp_path / "out", slices_of(plan)
    write_build(plan, build_executables(plan), build)
    calm = ("--heartbeat", "100 ms", "--missed", "6000")
    timing = PeerTiming(heartbeat=100 * MILLISECOND, missed=6000, linger=600 * SECOND)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Launcher(build=build, outputs=out, options=calm) as launcher, ExitStack() as stack:
        launcher.start()
        for node in launcher.nodes:  # theirs alone: who runs this test may have more files open
            resource.prlimit(launcher.pid(node), resource.RLIMIT_NOFILE, (100, hard))
        for n in range(200):
            source = (f"127.0.0.{2 + n % 4}", 0)
            address = launcher.address("centre")
            stack.enter_context(socket.create_connection(address, source_address=source))
        until(lambda: full(launcher))
        addresses = {node: launcher.address(node) for node in launcher.nodes}
        driver = Driver(parts, addresses, read_key(build / KEY_FILE), timing)
        for arrival in study_arrivals(50):
            driver.feed(arrival.source, arrival.row)
        driver.close()
        ended = launcher.wait(PATIENCE_S)
    assert {node: one.code for node, one in ended.items()} == dict.fromkeys(ended, 0)
    assert "Too many open files" in full(launcher)[0]["reason"]
    meant = Engine(plan=plan, charged=False).run(study_arrivals(50))
    for name in ("pairs", "counts"):
        lines = (out / f"{name}.jsonl").read_text().splitlines()
        rows = sorted(tuple(json.loads(line)["row"].values()) for line in lines)
        assert rows == sorted(meant.outputs[name].rows), name


def full(launcher: Launcher) -> list[dict[str, Any]]:
    events = launcher.events("centre")
    return [entry for entry in events if entry["event"] == "cannot accept connections"]


def test_notes_that_others_cause_are_cut_and_counted() -> None:
    log = EventLog("me")
    for n in range(MOST_NOTED + 7):
        log.note_some("bad frame", reason="r" * 100_000, length=n)
    log.note_some("bad frame", peer="left", reason="short")
    assert len(log.named("bad frame")) == MOST_NOTED + 1
    assert {len(entry["reason"]) for entry in log.events} == {MOST_TEXT, 5}
    assert log.left_out == {"bad frame": 7}
