"""The nodes of a launched car as they are now, read off what they write into its output folder.

Native and Python nodes note the same events and write a line of JSON for each tuple of an output,
so both are watched alike, from any process of the machine, and none is asked anything. Python nodes
also write down what each operator took and gave. What becomes of the processes, which one that is
killed cannot tell, the launch notes.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from headway.engine.live_state import (
    LiveMedium,
    LiveNode,
    LiveOperator,
    LiveOutput,
    LiveState,
    RecentEvents,
    RecentLatencies,
    live_outputs,
)
from headway.engine.nodes.launcher import LAUNCH_LOG
from headway.engine.nodes.live_counts import live_file
from headway.engine.nodes.live_nodes import NewLines
from headway.engine.nodes.node_slice import DEPLOYMENT, WHOLE_PLAN
from headway.errors import FileError, Place
from headway.model.codec import plan_from_json
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND

_DONE = {"finished", "failed"}
_STATES = ("ready", "running", "stopping", "finished", "failed")
_OF_THE_PROCESS = {"broke": "failed", "started again": "starting"}
"""what the launch notes of a node -> its state"""
_KNOWN = {"at", "node", "event", "first_arrival", "epoch", "start", "resumed"}


class WatchedCar:
    """``folder`` is what ``headway launch`` writes to. FileError where it is none. ``clock`` is the
    machine's monotonic one, which the nodes go by."""

    def __init__(self, folder: Path, clock: Callable[[], int] = time.monotonic_ns) -> None:
        path = folder / DEPLOYMENT
        try:
            deployment = json.loads(path.read_text(encoding="utf-8"))
            self._query = str(deployment["query"])
            nodes: dict[str, Any] = deployment["nodes"]
            names = [output for one in nodes.values() for output in one["outputs"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            want = "name the folder that headway launch writes to"
            raise FileError(
                "no launched car can be watched here", place=Place(str(path)), want=want
            ) from error
        self.plan = _whole_plan(folder)
        """None for a build of before it was written beside the deployment"""
        self._outputs = {output: _Output(folder, output) for output in names}
        self._nodes = {node: _Node(folder, node) for node in nodes}
        self._launch = NewLines(folder / LAUNCH_LOG)
        self._loads = _CrossingLoads(self.plan)
        self._ended = False
        self._log = RecentEvents()
        self._clock = clock
        self._first: int | None = None
        self._last = 0

    def look(self) -> LiveState:
        new = [event for node in self._nodes.values() for event in node.look()]
        new += [json.loads(line) for line in self._launch.read()]
        for event in sorted(new, key=lambda one: int(one.get("at", 0))):
            self._note(event)
        for output in self._outputs.values():
            output.look()
        nodes = [node.live(self._heard_of(name)) for name, node in self._nodes.items()]
        running = not self._ended and any(node.state not in _DONE for node in nodes)
        first = self._first
        until = max(self._last, self._clock()) if running else self._last
        return LiveState(
            query=self._query,
            vehicle="" if self.plan is None else self.plan.vehicle.name,
            engine="its nodes",
            running=running,
            passed=0 if first is None else until - first,
            outputs=self._live_outputs(),
            operators=tuple(one for node in self._nodes.values() for one in node.operators()),
            nodes=tuple(nodes),
            media=self._loads.look(self._nodes.values()),
            events=self._log.all(),
            counts=dict(sum((node.counts for node in self._nodes.values()), Counter())),
        )

    def _note(self, event: dict[str, Any]) -> None:
        at, what = int(event.get("at", 0)), str(event.get("event", ""))
        self._first = at if self._first is None else self._first
        self._last = max(self._last, at)
        if (node := self._nodes.get(str(event.get("node")))) is not None:
            node.note(event)
        elif what == "ended":
            self._ended = True
        elif (node := self._nodes.get(str(event.get("of")))) is not None:
            node.state = _OF_THE_PROCESS.get(what, node.state)
        self._log.add(at - self._first, str(event.get("of", event.get("node", ""))), _told(event))

    def _heard_of(self, name: str) -> set[str]:
        """How the others hear of a node."""
        return {node.peers[name] for node in self._nodes.values() if name in node.peers}

    def _live_outputs(self) -> tuple[LiveOutput, ...]:
        if self.plan is not None:
            seen = {name: one.latencies for name, one in self._outputs.items()}
            return live_outputs(self.plan, seen)
        return tuple(output.live() for output in self._outputs.values())


def _whole_plan(folder: Path) -> Plan | None:
    try:
        text = (folder / WHOLE_PLAN).read_text(encoding="utf-8")
        return plan_from_json(text, str(folder / WHOLE_PLAN))
    except (OSError, FileError):
        return None


def _told(event: Mapping[str, Any]) -> str:
    """An event in words."""
    what = str(event.get("event", ""))
    if isinstance(event.get("peer"), str) and what.startswith("peer "):
        return f"{what}: {event['peer']}"
    if "what" in event:
        return f"{what}: {event['what']}"
    rest = ", ".join(f"{k}: {v}" for k, v in event.items() if k not in {*_KNOWN, "of"})
    return f"{what} ({rest})" if rest else what


class _Node:
    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.state = name, "starting"
        self.counts: Counter[str] = Counter()
        self.peers: dict[str, str] = {}
        self.told: dict[str, Any] = {}
        """what it wrote down last of how it stands"""
        self._events = NewLines(folder / f"{name}.events.jsonl")
        self._report = folder / f"{name}.report.json"
        self._live = live_file(folder, name)

    def look(self) -> list[dict[str, Any]]:
        """The events since the last look."""
        self.told = _json_object(self._live) or self.told
        if self.state == "finished" and not self.counts:
            report = _json_object(self._report)
            numbers = ("arrived", "received", "sent", "decisions", "preemptions", "timeouts")
            self.counts = Counter({name: int(report.get(name, 0)) for name in numbers})
        return [json.loads(line) for line in self._events.read()]

    def note(self, event: Mapping[str, Any]) -> None:
        what, peer = str(event.get("event", "")), event.get("peer")
        if what.startswith("peer ") and isinstance(peer, str):
            self.peers[peer] = what.removeprefix("peer ")
        elif what in _STATES:
            self.state = what

    def live(self, heard: set[str]) -> LiveNode:
        """``heard`` is how the others hear of it."""
        state = "lost" if self.state not in _DONE and "lost" in heard else self.state
        here = state not in {*_DONE, "lost"}
        return LiveNode(
            node=self.name,
            state=state,
            load=self.told.get("load") if here else None,
            waiting=self.told.get("waiting") if here else None,
            peers=tuple(sorted(self.peers.items())) if here else (),
        )

    def operators(self) -> list[LiveOperator]:
        return [LiveOperator(node=self.name, **one) for one in self.told.get("operators", ())]


def _json_object(path: Path) -> dict[str, Any]:
    """Empty where there is none, or none yet."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class _CrossingLoads:
    """How much of each bus and link the tuples need that nodes gave since they last told."""

    def __init__(self, plan: Plan | None) -> None:
        self._crossings = () if plan is None else plan.crossings
        self._before: dict[str, tuple[int, int]] = {}
        """stream -> when, and how many had been given"""
        self._shares: dict[str, float] = {}
        """stream -> tuples a nanosecond"""

    def look(self, nodes: Iterable[_Node]) -> tuple[LiveMedium, ...]:
        for node in nodes:
            for one in node.operators():
                self._count(one.operator, int(node.told["at"]), one.given)
        media: dict[str, float] = {}
        for crossing in self._crossings:
            if crossing.stream in self._shares:
                for hop in crossing.hops:
                    need = self._shares[crossing.stream] * hop.delay
                    media[hop.name] = media.get(hop.name, 0.0) + need
        return tuple(LiveMedium(medium=name, load=load) for name, load in media.items())

    def _count(self, stream: str, at: int, given: int) -> None:
        was_at, was = self._before.get(stream, (at, given))
        if at > was_at:
            self._shares[stream] = max(0, given - was) / (at - was_at)
        if at != was_at or stream not in self._before:
            self._before[stream] = (at, given)


class _Output:
    def __init__(self, folder: Path, name: str) -> None:
        self.name, self._deadline = name, 0
        self._lines = NewLines(folder / f"{name}.jsonl")
        self.latencies = RecentLatencies()

    def look(self) -> None:
        for line in self._lines.read():
            given = json.loads(line)
            sensed = int(given["row"]["timestamp"]) * MICROSECOND
            self._deadline = int(given["deadline"]) - sensed
            self.latencies.note(int(given["completed"]) - sensed, missed=bool(given["missed"]))

    def live(self) -> LiveOutput:
        """Where no plan tells of it."""
        seen = self.latencies
        return LiveOutput(
            output=self.name,
            hard=False,
            deadline=self._deadline,
            bound=None,
            tuples=seen.tuples,
            missed=seen.missed,
            **seen.times(),
        )
