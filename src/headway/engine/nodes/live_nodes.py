"""The nodes of a car while they run: what each has given out so far and who it hears of; and how
they end, all together.

What is shown is read off the files that every node writes (its events, a line of JSON for each
tuple of an output), so nodes of both kinds are watched alike and none is asked anything.
"""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from headway.engine.nodes.launcher import EndedNode, Launcher
from headway.engine.nodes.node_command import HARD_MISSED
from headway.errors import HeadwayError

LOOKS_EVERY = 0.2
"""seconds"""
PATIENCE = 15.0
"""seconds that a node has to finish when it was asked to"""
STEADY = 5.0
"""seconds that a node must have run since it was started again, to be started once more"""
_MISSED = b'"missed": true'


class NodePhase(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"
    MISSED = "finished, missed a hard deadline"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as it is now. ``tuples`` and ``missed`` are those of its outputs; ``links`` says how
    its peers are: found, back, lost or finished."""

    node: str
    native: bool
    state: NodePhase
    tuples: int
    missed: int
    links: tuple[tuple[str, str], ...]


class NewLines:
    """The lines that were added to a file since the last look; the last one only when it is
    whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rest = b""
        self._at = 0

    def read(self) -> list[bytes]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                added = file.read()
        except OSError:
            return []
        self._at += len(added)
        *lines, self._rest = (self._rest + added).split(b"\n")
        return lines


@dataclass
class _Watched:
    node: str
    native: bool
    events: NewLines
    outputs: list[NewLines]
    tuples: int = 0
    missed: int = 0
    said: NodePhase = NodePhase.STARTING
    links: dict[str, str] = field(default_factory=dict)

    def look(self, code: int | None) -> NodeView:
        for line in self.events.read():
            self._note(json.loads(line))
        for output in self.outputs:
            lines = output.read()
            self.tuples += len(lines)
            self.missed += sum(_MISSED in line for line in lines)
        links = tuple(sorted(self.links.items()))
        state = self.said if code is None else _ended_state(code)
        return NodeView(self.node, self.native, state, self.tuples, self.missed, links)

    def _note(self, event: dict[str, Any]) -> None:
        what, peer = str(event.get("event", "")), event.get("peer")
        if what == "running":
            self.said = NodePhase.RUNNING
        elif what == "stopping":
            self.said = NodePhase.STOPPING
        elif what.startswith("peer ") and isinstance(peer, str):
            self.links[peer] = what.removeprefix("peer ")


def _ended_state(code: int) -> NodePhase:
    return {0: NodePhase.FINISHED, HARD_MISSED: NodePhase.MISSED}.get(code, NodePhase.FAILED)


class LiveNodes:
    """Looks at the nodes of a launcher, again and again."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        folder = launcher.outputs
        self._watched = [
            _Watched(
                node,
                launcher.is_native(node),
                NewLines(folder / f"{node}.events.jsonl"),
                [NewLines(folder / f"{name}.jsonl") for name in launcher.outputs_of(node)],
            )
            for node in launcher.nodes
        ]

    def look(self) -> list[NodeView]:
        ended = self._launcher.codes()
        return [one.look(ended.get(one.node)) for one in self._watched]


# -------------------------------------------------------------------- until all have ended


@dataclass(frozen=True, slots=True)
class LaunchedCar:
    """How a run of all nodes ended. ``broke``: the node that failed first, because of which the
    others were stopped, and why. ``restarts``: how often nodes were started again."""

    nodes: dict[str, EndedNode]
    views: tuple[NodeView, ...]
    stopped: bool
    broke: str = ""
    why: str = ""
    restarts: Mapping[str, int] = field(default_factory=dict)

    @property
    def missed_hard(self) -> list[str]:
        return [view.node for view in self.views if view.state is NodePhase.MISSED]


def supervise(
    launcher: Launcher,
    show: Callable[[Sequence[NodeView]], None],
    *,
    limit: float | None = None,
    restart_after: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> LaunchedCar:
    """Watches the nodes until all have ended. If one breaks, or after ``limit`` seconds, or on
    Ctrl-C, the others take no more input and finish; on a second Ctrl-C, or if they do not in time,
    they are killed. With ``restart_after`` a node that breaks is started again so many seconds
    later, and the others go on; one that then breaks at once is broken."""
    watch = LiveNodes(launcher)
    end = _CarEnding(launcher, restart_after)
    started = time.monotonic()
    while launcher.running() or end.due:
        try:
            show(watch.look())
            end.look_for_broken()
            if limit is not None and time.monotonic() - started > limit:
                end.ask()
            end.lose_patience()
            sleep(LOOKS_EVERY)
        except KeyboardInterrupt:
            end.interrupted()
    end.look_for_broken()
    views = watch.look()
    show(views)
    return LaunchedCar(
        nodes=launcher.ended(),
        views=tuple(views),
        stopped=end.asked_at is not None,
        broke=end.broke,
        why=end.why,
        restarts=dict(end.restarts),
    )


@dataclass
class _CarEnding:
    launcher: Launcher
    restart_after: float | None = None
    asked_at: float | None = None
    broke: str = ""
    why: str = ""
    restarts: Counter[str] = field(default_factory=Counter)
    due: dict[str, float] = field(default_factory=dict)
    """when a node that broke is started again"""
    _since: dict[str, float] = field(default_factory=dict)

    def ask(self) -> None:
        """All take no more input."""
        if self.asked_at is None:
            self.due.clear()
            self.asked_at = time.monotonic()
            self.launcher.stop()

    def interrupted(self) -> None:
        if self.asked_at is None:
            self.ask()
        else:
            self._kill()

    def lose_patience(self) -> None:
        if self.asked_at is not None and time.monotonic() - self.asked_at > PATIENCE:
            self._kill()

    def _kill(self) -> None:
        for node in self.launcher.running():
            self.launcher.kill(node)

    def look_for_broken(self) -> None:
        if self.broke or self.asked_at is not None:
            return
        for node, code in self.launcher.codes().items():
            if _ended_state(code) is not NodePhase.FAILED:
                continue
            if node not in self.due:
                why = why_ended(self.launcher.ended()[node])
                self.launcher.note("broke", of=node, what=why)
                if not self._comes_back(node):
                    self._break(node, why)
                    return
            elif time.monotonic() >= self.due[node]:
                self._start_again(node)

    def _comes_back(self, node: str) -> bool:
        now = time.monotonic()
        if self.restart_after is None or now - self._since.get(node, -STEADY) < STEADY:
            return False
        self.due[node] = now + self.restart_after
        return True

    def _start_again(self, node: str) -> None:
        del self.due[node]
        self.restarts[node] += 1
        try:
            self.launcher.restart(node)
        except HeadwayError as error:
            self._break(node, str(error))
        self._since[node] = time.monotonic()

    def _break(self, node: str, why: str) -> None:
        self.broke, self.why = node, why
        if self.launcher.running():
            self.ask()


def why_ended(ended: EndedNode) -> str:
    """In words: what the node said last, or what ended it."""
    said = ended.errors.strip().splitlines()
    if ended.code < 0:
        try:
            name = signal.Signals(-ended.code).name
        except ValueError:
            name = f"signal {-ended.code}"
        return f"it was killed by {name}"
    return f"exit code {ended.code}" + (f": {said[-1]}" if said else "")
