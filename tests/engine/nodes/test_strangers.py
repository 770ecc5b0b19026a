"""Many at the door, or one that says much: how much room and how much of a turn each has."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from itertools import pairwise

import pytest
from tests.engine.nodes.pairs import STEP, STREAM, Turned, Visitor, send

from headway.engine.nodes import links
from headway.engine.nodes.links import FRAMES_A_TURN, MOST_FROM_ONE
from headway.engine.nodes.node_machine import NodeSocket, ThisMachine, as_node_socket
from headway.engine.nodes.wire_format import FrameKind, Sent, WireFrame
from headway.model.quantities import MILLISECOND


@pytest.fixture
def turned() -> Iterator[Turned]:
    made = Turned()
    yield made
    made.close()


# -------------------------------------------------------------------- shares of a turn


def test_one_that_floods_has_its_share_of_a_turn_and_no_more(turned: Turned) -> None:
    flood = 3000
    with Visitor(turned, name="flood") as flooding, Visitor(turned) as honest:
        turned.greet(flooding)
        turned.greet(honest)
        taken: dict[str, int] = {"flood": 0, "left": 0}
        heard = turned.right.liveness.heard

        def counted(name: str, at: int) -> None:
            taken[name] += 1
            heard(name, at)

        turned.right.liveness.heard = counted  # type: ignore[method-assign]
        flooding.say(*[WireFrame(FrameKind.HEARTBEAT)] * flood)
        payload = STREAM.codec.encode([Sent((1, 5), 1, False)])
        honest.say(WireFrame(FrameKind.ROWS, 1, STREAM.codec.hash, 1, payload))
        most = 0
        while taken["flood"] < flood:
            before = taken["flood"]
            turned.right.turn(STEP)
            most = max(most, taken["flood"] - before)
            if before < flood // 2 and taken["flood"] >= flood // 2:
                assert turned.got.numbers == [5], "it had its turn long before the flood was over"
        assert most == FRAMES_A_TURN
        assert taken == {"flood": flood, "left": 1}


def test_whoever_goes_is_forgotten_but_not_how_far_it_came(turned: Turned) -> None:
    incoming = turned.right.incoming
    with Visitor(turned) as visitor:
        turned.greet(visitor)
        payload = STREAM.codec.encode([Sent((1, 5), 1, False)])
        visitor.say(WireFrame(FrameKind.ROWS, 1, STREAM.codec.hash, 1, payload))
        turned.right_until(lambda: turned.got.numbers == [5])
        (name,) = incoming._connections
    turned.right_until(lambda: not incoming._connections)
    assert incoming.positions[name][1] == {1: 1}


# -------------------------------------------------------------------- room


def test_strangers_from_one_address_have_so_much_room(turned: Turned) -> None:
    greeting = Visitor(turned)
    greeting.say(greeting.greeting.hello())
    turned._answer(greeting)
    silent = [Visitor(turned) for _ in range(MOST_FROM_ONE + 9)]
    turned.right_until(lambda: turned.right.refused["crowded out"] == 10)
    for _ in range(20):
        turned.right.turn(0)
    assert turned.right.refused == {"crowded out": 10}
    assert len(turned.right._connections) == MOST_FROM_ONE
    # The oldest went, but not the one that had begun to greet.
    for gone in silent[:10]:
        assert gone.heard_to_the_end() == b""
    greeting.say(greeting.greeting.answer(greeting.hear()))
    turned._answer(greeting)
    assert greeting.hear().kind is FrameKind.WELCOME
    # Who has greeted takes no room from strangers.
    latest = Visitor(turned)
    turned.right_until(lambda: len(turned.right._connections) == MOST_FROM_ONE + 1)
    for visitor in (greeting, latest, *silent):
        visitor.close()


def test_strangers_from_all_addresses_have_so_much_room(
    turned: Turned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "MOST_STRANGERS", 6)
    sockets = [
        socket.create_connection(turned.address, source_address=(f"127.0.0.{host}", 0))
        for host in range(2, 12)
    ]
    turned.right_until(lambda: turned.right.refused["crowded out"] == 4)
    assert len(turned.right._connections) == 6
    for sock in sockets:
        sock.close()


def test_a_sender_too_many_is_refused(turned: Turned, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MOST_SENDERS", 1)
    with Visitor(turned) as first, Visitor(turned, name="second") as second:
        turned.greet(first)
        second.say(second.greeting.hello())
        turned._answer(second)
        second.say(second.greeting.answer(second.hear()))
        turned.right_until(lambda: turned.right.refused)
        assert turned.right.refused == {"too many senders": 1}


class Listener(socket.socket):
    """Has no more files to give, for a while."""

    failures = 0
    asked = 0

    def accept(self) -> tuple[socket.socket, object]:
        self.asked += 1
        if self.failures:
            self.failures -= 1
            raise OSError(24, "Too many open files")
        return super().accept()


def test_no_more_files_for_connections_that_come() -> None:
    pair = Turned()
    pair.right._selector.unregister(pair.listener)
    listener = Listener(fileno=pair.listener.detach())
    listener.setblocking(False)
    pair.right._listener = as_node_socket(listener)
    pair.right._selector.register(as_node_socket(listener), 1)
    strangers = [Visitor(pair) for _ in range(4)]
    pair.right_until(lambda: len(pair.right._connections) == 4)
    listener.failures, listener.asked = 1, 0
    with Visitor(pair) as visitor:
        pair.right_until(lambda: listener.asked)
        for _ in range(20):
            pair.right.turn(0)
        assert listener.asked == 1, "it does not ask again at once"
        assert pair.right.refused == {"crowded out": 2}, "half of the strangers make room"
        assert [stranger.heard_to_the_end() for stranger in strangers[:2]] == [b"", b""]
        (noted,) = pair.log.named("cannot accept connections")
        assert "Too many open files" in noted["reason"]
        pair.time.now += pair.timing.slowest_retry
        pair.right.turn(0)
        pair.greet(visitor)
    for stranger in strangers:
        stranger.close()
    pair.close()


def test_no_more_files_for_connections_that_we_open(
    turned: Turned, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    real = ThisMachine.open_socket

    def opened(machine: ThisMachine) -> NodeSocket:
        asked.append(turned.time.now)
        if len(asked) <= 3:
            raise OSError(24, "Too many open files")
        return real(machine)

    monkeypatch.setattr(ThisMachine, "open_socket", opened)
    send(turned.left, range(3))
    turned.both_until(lambda: turned.got.numbers == [0, 1, 2])
    waits = [later - earlier for earlier, later in pairwise(asked)]
    assert waits == [20 * MILLISECOND, 40 * MILLISECOND, 80 * MILLISECOND], "each twice the last"
    noted = turned.left._log.named("cannot connect")
    assert [entry["peer"] for entry in noted] == ["right"] * 3
