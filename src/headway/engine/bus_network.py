"""Buses, links and gateways in virtual time: contention frame by frame, by priority.

A tuple takes the frames the compiler counted (:mod:`headway.model.vehicle`). The most urgent
waiting frame goes when the medium is free; a frame under way is never stopped. A stream for several
receivers is sent once on each medium it enters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from headway.engine.jobs import DELIVERY
from headway.model.plan import HopKind, Plan
from headway.model.routes import architecture_of
from headway.model.vehicle import frame_times

Schedule = Callable[[int, int, Callable[[Any], None], Any], None]
"""(time, kind, function, argument): calls the function then"""
Deliver = Callable[[str, str, Any], None]
"""(stream, node, message): the message has reached the node"""
OnFrame = Callable[[str, str, Any, int, int, int], None]
"""(medium, stream, message, its time, its place, how many there are): a frame begins"""


@dataclass(slots=True)
class Branch:
    """Where a stream goes from a medium: to nodes at once, through gateways to other media."""

    frames: tuple[int, ...]
    priority: int
    nodes: list[str] = field(default_factory=list)
    onward: dict[str, int] = field(default_factory=dict)
    """next medium -> delay of the gateway in between"""


class BusMedium:
    """A bus or link: one frame at a time."""

    def __init__(self, name: str, network: BusNetwork) -> None:
        self.name = name
        self._network = network
        self._waiting: list[tuple[int, int, int, str, Any]] = []
        """(priority, number, frames sent, stream, message)"""
        self._number = 0
        self._busy = False
        self.carried = 0
        """frame time so far, for the load"""

    def offer(self, stream: str, message: Any) -> None:
        """A tuple wants to be sent."""
        self._number += 1
        priority = self._network.branches[stream, self.name].priority
        heappush(self._waiting, (priority, self._number, 0, stream, message))
        if not self._busy:
            self._next()

    def _next(self) -> None:
        if not self._waiting:
            return
        entry = heappop(self._waiting)
        frames = self._network.branches[entry[3], self.name].frames
        time = frames[entry[2]]
        self._busy = True
        self.carried += time
        if self._network.on_frame is not None:
            stream, message = entry[3], entry[4]
            self._network.on_frame(self.name, stream, message, time, entry[2], len(frames))
        self._network.after(time, self._sent, entry)

    def _sent(self, entry: tuple[int, int, int, str, Any]) -> None:
        priority, number, sent, stream, message = entry
        self._busy = False
        branch = self._network.branches[stream, self.name]
        if sent + 1 < len(branch.frames):
            heappush(self._waiting, (priority, number, sent + 1, stream, message))
        else:
            self._network.arrived(stream, branch, message)
        if not self._busy:
            self._next()


class BusNetwork:
    """All media of a vehicle and the ways of the crossing streams."""

    def __init__(
        self,
        plan: Plan,
        now: Callable[[], int],
        schedule: Schedule,
        deliver: Deliver,
        on_frame: OnFrame | None = None,
    ) -> None:
        self.on_frame = on_frame
        self._now, self._schedule, self._deliver = now, schedule, deliver
        known = architecture_of(plan.vehicle).media
        self.media = {name: BusMedium(name, self) for name in known}
        self.branches: dict[tuple[str, str], Branch] = {}
        self.first: dict[str, list[str]] = {}
        """stream -> the media it enters from its own node"""
        self.last_receiver: dict[str, str] = {}
        """stream -> the node farthest away: when it has a tuple, all have it"""
        farthest: dict[str, int] = {}
        for crossing in plan.crossings:
            if crossing.delay >= farthest.get(crossing.stream, 0):
                farthest[crossing.stream] = crossing.delay
                self.last_receiver[crossing.stream] = crossing.receiver
            before: Branch | None = None
            delay = 0
            for hop in crossing.hops:
                if hop.kind is HopKind.GATEWAY:
                    delay = hop.delay
                    continue
                key = (crossing.stream, hop.name)
                branch = self.branches.get(key)
                if branch is None:
                    frames = frame_times(crossing.size_bytes, known[hop.name])
                    branch = self.branches[key] = Branch(frames, crossing.priority)
                if before is None:
                    entries = self.first.setdefault(crossing.stream, [])
                    if hop.name not in entries:
                        entries.append(hop.name)
                else:
                    before.onward[hop.name] = delay
                before = branch
            assert before is not None
            before.nodes.append(crossing.receiver)

    def send(self, stream: str, message: Any) -> None:
        """A tuple leaves its node, to all nodes that want its stream."""
        for name in self.first.get(stream, ()):
            self.media[name].offer(stream, message)

    def after(self, time: int, function: Callable[[Any], None], argument: Any) -> None:
        self._schedule(self._now() + time, DELIVERY, function, argument)

    def arrived(self, stream: str, branch: Branch, message: Any) -> None:
        """The last frame is through: nodes on the medium have the tuple, gateways pass it on."""
        for node in branch.nodes:
            self._deliver(stream, node, message)
        for medium, delay in branch.onward.items():
            self.after(delay, self._pass_on, (medium, stream, message))

    def _pass_on(self, argument: tuple[str, str, Any]) -> None:
        medium, stream, message = argument
        self.media[medium].offer(stream, message)
