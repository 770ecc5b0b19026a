"""The nodes of a launched car as they are now, read off what they write into its output folder.

Native and Python nodes note the same events and write a line of JSON for each tuple of an output,
so both are watched alike, from any process of the machine, and none is asked anything.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from headway.engine.live_state import LiveNode, LiveOutput, LiveState, RecentEvents, RecentLatencies
from headway.engine.nodes.live_nodes import NewLines
from headway.engine.nodes.node_slice import DEPLOYMENT
from headway.errors import FileError, Place
from headway.model.quantities import MICROSECOND

_DONE = {"finished", "failed"}


class WatchedCar:
    """``folder`` is what ``headway launch`` writes to. FileError where it is none."""

    def __init__(self, folder: Path) -> None:
        path = folder / DEPLOYMENT
        try:
            deployment = json.loads(path.read_text(encoding="utf-8"))
            self._query = str(deployment["query"])
            nodes: dict[str, Any] = deployment["nodes"]
            self._outputs = {
                output: _Output(folder, output)
                for one in nodes.values()
                for output in one["outputs"]
            }
        except (OSError, ValueError, KeyError, TypeError) as error:
            want = "name the folder that headway launch writes to"
            raise FileError(
                "no launched car can be watched here", place=Place(str(path)), want=want
            ) from error
        self._nodes = {node: _Node(folder, node) for node in nodes}
        self._log = RecentEvents()
        self._first: int | None = None
        self._last = 0

    def look(self) -> LiveState:
        new = [event for node in self._nodes.values() for event in node.look()]
        for event in sorted(new, key=lambda one: int(one.get("at", 0))):
            self._note(event)
        for output in self._outputs.values():
            output.look()
        return LiveState(
            query=self._query,
            vehicle="",
            engine="nodes",
            running=any(node.state not in _DONE for node in self._nodes.values()),
            passed=self._last - (self._first or 0),
            outputs=tuple(output.live() for output in self._outputs.values()),
            nodes=tuple(node.live() for node in self._nodes.values()),
            events=self._log.all(),
            counts=dict(sum((node.counts for node in self._nodes.values()), Counter())),
        )

    def _note(self, event: dict[str, Any]) -> None:
        at = int(event.get("at", 0))
        self._first = at if self._first is None else self._first
        self._last = max(self._last, at)
        known = {"at", "node", "event", "first_arrival", "epoch", "start"}
        rest = ", ".join(f"{key}: {value}" for key, value in event.items() if key not in known)
        what = f"{event.get('event', '')}{f' ({rest})' if rest else ''}"
        self._log.add(at - self._first, str(event.get("node", "")), what)


class _Node:
    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.state = name, "starting"
        self.counts: Counter[str] = Counter()
        self._events = NewLines(folder / f"{name}.events.jsonl")
        self._report = folder / f"{name}.report.json"
        self._peers: dict[str, str] = {}

    def look(self) -> list[dict[str, Any]]:
        """The events since the last look."""
        new: list[dict[str, Any]] = [json.loads(line) for line in self._events.read()]
        for event in new:
            what, peer = str(event.get("event", "")), event.get("peer")
            if what.startswith("peer ") and isinstance(peer, str):
                self._peers[peer] = what.removeprefix("peer ")
            elif what in ("ready", "running", "stopping", "finished"):
                self.state = what
        if self.state == "finished" and not self.counts and self._report.exists():
            report = json.loads(self._report.read_text(encoding="utf-8"))
            numbers = ("arrived", "received", "sent", "decisions", "preemptions", "timeouts")
            self.counts = Counter({name: int(report.get(name, 0)) for name in numbers})
        return new

    def live(self) -> LiveNode:
        return LiveNode(node=self.name, state=self.state, peers=tuple(sorted(self._peers.items())))


class _Output:
    def __init__(self, folder: Path, name: str) -> None:
        self.name, self._deadline = name, 0
        self._lines = NewLines(folder / f"{name}.jsonl")
        self._latencies = RecentLatencies()

    def look(self) -> None:
        for line in self._lines.read():
            given = json.loads(line)
            sensed = int(given["row"]["timestamp"]) * MICROSECOND
            self._deadline = int(given["deadline"]) - sensed
            self._latencies.note(int(given["completed"]) - sensed, missed=bool(given["missed"]))

    def live(self) -> LiveOutput:
        seen = self._latencies
        return LiveOutput(
            output=self.name,
            hard=False,
            deadline=self._deadline,
            bound=None,
            tuples=seen.tuples,
            missed=seen.missed,
            **seen.times(),
        )
