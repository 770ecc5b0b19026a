"""The state of a node beside its outputs: by what one that was killed is taken up again.

:class:`NodeState` brings together what is kept of the run (:mod:`headway.engine.nodes.run_keeper`),
of the links to peers (:mod:`headway.engine.nodes.kept_links`) and of the outputs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.engine.nodes.kept_files import DamagedFile, sealed, unsealed
from headway.engine.nodes.kept_links import Given, SentFrames, given_in, key_of
from headway.engine.nodes.links import Positions
from headway.engine.nodes.node_machine import Machine
from headway.engine.nodes.node_records import EventLog
from headway.engine.nodes.peers import Peers
from headway.engine.nodes.run_keeper import KeptRun, RunKeeper, read_taken
from headway.engine.nodes.wire_format import UNSENDABLE, Sent, WireStream

FORM = 2
"""of the checkpoint; another one is not read"""


@dataclass(frozen=True, kw_only=True)
class NodeCheckpoint:
    """What stands in a checkpoint. ``epoch`` and ``start`` tie the engine's time to the machine's
    clock, ``seen`` is what that clock and the calendar showed."""

    number: int
    incarnation: str
    fingerprint: str
    epoch: int
    start: int
    seen: tuple[int, int]
    run: dict[str, Any]
    node: dict[str, Any]
    senders: Positions
    links: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class KeptNode:
    """All that was kept of a node that was killed."""

    checkpoint: NodeCheckpoint
    taken: KeptRun
    frames: list[list[Any]]
    damage: tuple[str, ...]

    @property
    def positions(self) -> Positions:
        """How far the streams of others were taken in."""
        found = {name: (i, dict(p)) for name, (i, p) in self.checkpoint.senders.items()}
        for entry in self.taken.entries:
            if entry[0] == "post" and entry[-1] is not None and entry[1] in PLACED:
                note_place(found, entry[-1])
        return found


PLACED = ("rows", "mark", "end")
"""posts whose last argument is the place of their frame, if they came in one"""


def note_place(positions: Positions, place: Any) -> None:
    sender, incarnation, stream, sequence = place
    if positions.get(sender, ("", {}))[0] != incarnation:
        positions[sender] = (incarnation, {})
    positions[sender][1][stream] = sequence


class NodeState:
    """``interval``: between two checkpoints, in ns. ``kept``: what is taken up; ``damage``: what
    was not believed."""

    def __init__(
        self, machine: Machine, folder: Path, node: str, fingerprint: str, log: EventLog,
        interval: int,
    ) -> None:  # fmt: skip
        self._machine, self._folder, self._node = machine, folder, node
        self._fingerprint, self._log = fingerprint, log
        self.path = folder / f"{node}.state"
        self.frames = SentFrames(machine, folder, node, self._frames_failed)
        self.keeper = RunKeeper(
            machine=machine, folder=folder, node=node, interval=interval, log=log
        )
        self.keeper.make = self._make
        self.keeper.forget = self._forget
        self.kept: KeptNode | None = None
        self.damage: tuple[str, ...] = ()
        self.given: dict[str, Counter[Given]] = {}
        """stream -> what peers were given since the checkpoint, and must not be given again"""
        self.not_again = 0
        self._streams: Mapping[str, WireStream] = {}
        self._post: Callable[..., None] = lambda *_: None
        self._peers: Peers | None = None
        self._snapshot: Callable[[], dict[str, Any]] = dict

    # ---------------------------------------------------------------- taking up

    def read(self, streams: Mapping[str, WireStream]) -> None:
        """Looks for what was kept; what cannot be believed is not looked at again."""
        self._read(streams)
        if self.kept is None:
            self._forget()

    def begin_anew(self) -> None:
        """What an earlier run has left is of no use to this one."""
        self._forget()

    def _read(self, streams: Mapping[str, WireStream]) -> None:
        self._streams = streams
        text = self._machine.read_text(self.path)
        if text is None:
            self.damage = (f"{self.path}: there is none",)
            return
        try:
            checkpoint = self._checkpoint(unsealed(text, self.path))
        except DamagedFile as error:
            self.damage = (str(error),)
            return
        taken = read_taken(self._machine, self._folder, self._node, checkpoint.number)
        frames, damage = self.frames.read(checkpoint.number)
        try:
            self.given = given_in(frames, streams)
        except (ValueError, KeyError, TypeError) as error:
            frames, damage = [], f"{self._folder / self._node}.sent: {error!r}"
        self.damage = tuple(filter(None, (taken.damage, damage)))
        self.kept = KeptNode(checkpoint=checkpoint, taken=taken, frames=frames, damage=self.damage)

    def _checkpoint(self, data: Any) -> NodeCheckpoint:
        try:
            if data["form"] != FORM:
                raise DamagedFile(f"{self.path}: of form {data['form']!r}, not {FORM}")
            if data["fingerprint"] != self._fingerprint:
                raise DamagedFile(f"{self.path}: of another plan")
            senders = {
                name: (incarnation, dict(listed))
                for name, (incarnation, listed) in data["senders"].items()
            }
            monotonic, calendar = data["seen"]
            fields = {**data, "senders": senders, "seen": (monotonic, calendar)}
            return NodeCheckpoint(
                **{name: fields[name] for name in NodeCheckpoint.__dataclass_fields__}
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"{self.path}: {error!r}") from None

    def is_new(self, stream: str, what: Sent | int | None) -> bool:
        """Whether this was not given away before the process was killed."""
        counts = self.given.get(stream)
        if not counts:
            return True
        try:
            key = key_of(self._streams[stream], what)
        except UNSENDABLE:  # so it was not sent, and will not be: the packer notes it
            return True
        if counts[key] <= 0:
            return True
        counts[key] -= 1
        self.not_again += 1
        return False

    def left_over(self) -> int:
        """What was given away and did not come out again."""
        left = sum(counts.total() for counts in self.given.values())
        self.given = {}
        return left

    # ---------------------------------------------------------------- keeping

    def begin(
        self,
        post: Callable[..., None],
        peers: Peers,
        snapshot: Callable[[], dict[str, Any]],
    ) -> None:
        """``snapshot`` gives what a checkpoint says of the run and the node, in its thread."""
        self._post, self._peers, self._snapshot = post, peers, snapshot
        kept = self.kept
        if kept is not None:
            peers.restore(kept.checkpoint.links, kept.frames, kept.positions)
            self.frames.go_on(kept.checkpoint.number)

    def _make(self, number: int) -> None:
        peers = self._peers
        assert peers is not None
        state = self._snapshot()
        state["senders"] = {
            name: [incarnation, sorted(streams.items())]
            for name, (incarnation, streams) in state["senders"].items()
        }
        about = {
            "form": FORM,
            "number": number,
            "fingerprint": self._fingerprint,
            "incarnation": peers.incarnation,
            "seen": [self._machine.now(), self._machine.calendar()],
            **state,
        }
        text = json.dumps(about)

        def commit() -> None:
            self._commit(number, text, peers)

        peers.when_packed(commit)

    def _commit(self, number: int, text: str, peers: Peers) -> None:
        """In the I/O thread."""
        keeper = self.keeper
        if not keeper.is_wanted(number):
            return
        links = json.dumps(peers.snapshot())
        try:
            self._machine.replace_text(self.path, sealed(f'{text[:-1]}, "links": {links}' + "}"))
            self.frames.begin(number)
        except OSError as error:
            self._frames_failed(error)
            return
        if keeper.is_wanted(number):
            keeper.committed(number)
        else:
            self._forget()

    def _frames_failed(self, error: OSError) -> None:
        self._forget()
        self._post(self.keeper.fail, error)

    def _forget(self) -> None:
        """What is there must not be believed."""
        with suppress(OSError):
            self._machine.remove(self.path)

    def close(self) -> None:
        """The run is over: nothing of it is to be taken up."""
        self.leave()
        self._forget()
        with suppress(OSError):
            self.frames.remove()
            self.keeper.remove()

    def leave(self) -> None:
        """The process ends, perhaps in the middle of a run."""
        with suppress(OSError):
            self.frames.close()
        with suppress(OSError):
            self.keeper.close()


@dataclass(slots=True)
class Resumption:
    """How a node was taken up again, for its report."""

    believed: bool
    damage: tuple[str, ...] = ()
    checkpoint: int = -1
    down: int = 0
    taken_again: int = 0
    not_given_again: int = 0
    given_only_once: int = 0
    went_another_way: bool = False
    missed: dict[str, int] = field(default_factory=dict)
