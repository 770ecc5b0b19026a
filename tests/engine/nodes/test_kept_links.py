"""A sender that was killed knows of its frames what the process before it knew: which of them its
receiver never got, and how they were numbered."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import cast

from headway.engine.nodes.kept_links import SentFrames, given_in
from headway.engine.nodes.links import Connection, Outgiven, Outgoing, Packer
from headway.engine.nodes.node_machine import THIS_MACHINE
from headway.engine.nodes.node_records import EventLog
from headway.engine.nodes.wire_format import Sent, stream_of
from headway.model.schema import schema

STREAM = stream_of(1, "s", schema(n="int"))
STREAMS = {"s": STREAM}


class _Nobody:
    """A connection on which everything is written and nothing arrives."""

    def send_bytes(self, data: bytes) -> None:
        assert data

    def close(self) -> None:
        """Nothing is there."""


class Sender:
    """The link of a process to one receiver, for which it keeps two frames."""

    def __init__(self, folder: Path) -> None:
        self.frames = SentFrames(THIS_MACHINE, folder, "a", self.fail)
        self.link = Outgoing("b", ("b", 1), frozenset({1}), 2, self.frames)
        self.packer = Packer(STREAMS, [self.link], EventLog("a"), self.frames)

    def fail(self, error: OSError) -> None:
        raise error

    def gives(self, *what: int | Sent) -> None:
        """A frame for each."""
        for one in what:
            self.packer.pack(deque[Outgiven]([("s", one)]))

    def meets(self, incarnation: str, positions: dict[int, int]) -> None:
        self.link.connection = cast(Connection, _Nobody())
        self.link.welcomed(incarnation, positions)
        self.packer.pack(deque())  # the turn goes on


def killed(sender: Sender, folder: Path) -> Sender:
    """The process that takes up where this one was killed, from its first checkpoint."""
    sender.frames.close()
    found = Sender(folder)
    entries, damage = found.frames.read(1)
    assert not damage
    assert given_in(entries, STREAMS) == given_in([one for one in entries if one[0]], STREAMS)
    found.packer.restore(entries)
    found.frames.go_on(1)
    return found


def tuples(first: int, last: int) -> list[Sent]:
    return [Sent((n, n), n, False) for n in range(first, last + 1)]


def test_what_found_no_room_is_still_counted_after_a_kill(tmp_path: Path) -> None:
    """Of five frames the receiver has the first, two are kept; the connection breaks, and it gets
    the last two. After that it only says that it has come to the fifth."""
    sender = Sender(tmp_path)
    sender.frames.begin(1)
    sender.meets("first", {})
    sender.gives(*tuples(1, 5))
    sender.link.down(0, 0)
    sender.meets("first", {1: 1})
    assert sender.link.overflowed == 2
    sender.link.down(0, 0)
    sender.gives(*tuples(6, 7))  # and now there is no room for the fourth and the fifth
    assert sender.link.overflowed == 4
    sender = killed(killed(sender, tmp_path), tmp_path)
    assert sender.link.overflowed == 4
    assert sender.link.undelivered == 3  # the first too: nobody has said yet that it has come
    sender.meets("first", {1: 7})
    assert (sender.link.overflowed, sender.link.undelivered) == (4, 0)
    sender.frames.close()


def test_frames_are_numbered_on_after_a_kill(tmp_path: Path) -> None:
    """A receiver that was started anew gets the last watermark as one more frame. The next process
    of the sender must not give that number to another frame: it would be taken for an old one."""
    sender = Sender(tmp_path)
    sender.frames.begin(1)
    sender.link.restore(json.loads(json.dumps({**sender.link.snapshot(), "incarnation": "first"})))
    sender.gives(77, *tuples(1, 1))
    sender.meets("second", {})
    assert sender.link._next == {1: 3}
    sender = killed(sender, tmp_path)
    sender.meets("second", {1: 3})
    assert sender.link._next == {1: 3}
    assert sender.link.done
    sender.frames.close()
