"""Static distribution: the network of processors and links, and a schedule on it (HVLB_CC 2.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

from headway.errors import GraphError, Problem
from headway.model.quantities import Number, exact

# ------------------------------------------------------------
# Networks for static distribution: TG = <P, S, L> of HVLB_CC section 2.3, and routes through it.
#
# Processors and switches (or gateways) are vertices. A link joins two of them, or more when it is
# a bus. A message takes the links of one route, in order; a link carries one message at a time.

Route = tuple[str, ...]
"""The links of a route, from the sender's processor to the receiver's."""


class NoRouteError(GraphError):
    """There is no way from one processor to another."""


class SpeedError(GraphError):
    """A processor or link has a speed of zero or less."""


class Switching(StrEnum):
    """How a message passes from link to link."""

    CUT_THROUGH = "cut-through"
    """A link may start as soon as the one before it has (equations 13 and 14)."""
    STORE_AND_FORWARD = "store-and-forward"
    """A link starts only when the one before it has finished."""


@dataclass(frozen=True, kw_only=True)
class Processor:
    """p_u with its execution rate μ; 1 is the machine that the tasks' work is measured on."""

    name: str
    rate: Number = 1


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A switch or gateway; it holds a message for ``delay`` between two links."""

    name: str
    delay: Number = 0


@dataclass(frozen=True, kw_only=True)
class NetworkLink:
    """l_v with its communication speed: volume per unit of time. More than two ends are a bus."""

    name: str
    ends: tuple[str, ...]
    speed: Number = 1


@dataclass(frozen=True, kw_only=True)
class ProcessorNetwork:
    """``given_routes`` lists the routes of a pair of processors outright, for both directions; all
    other pairs get their simple routes, shortest first, at most ``most_routes``.

    ``processors_forward`` lets a route pass through a processor, as the paper's figure 2 does."""

    name: str = "network"
    processors: tuple[Processor, ...]
    switches: tuple[Switch, ...] = ()
    links: tuple[NetworkLink, ...] = ()
    given_routes: Mapping[tuple[str, str], tuple[Route, ...]] = field(default_factory=dict)
    most_routes: int = 16
    processors_forward: bool = True
    switching: Switching = Switching.CUT_THROUGH

    @cached_property
    def link_named(self) -> dict[str, NetworkLink]:
        return {link.name: link for link in self.links}

    @cached_property
    def processor_names(self) -> tuple[str, ...]:
        return tuple(processor.name for processor in self.processors)

    @cached_property
    def routes(self) -> dict[tuple[str, str], tuple[Route, ...]]:
        """R^{a,b} for every ordered pair of processors; a pair without a way has no routes."""
        names = self.processor_names
        found: dict[tuple[str, str], tuple[Route, ...]] = {}
        for number, one in enumerate(names):
            for other in names[number + 1 :]:
                forth = self.given_routes.get((one, other))
                back = self.given_routes.get((other, one))
                if forth is None and back is not None:
                    forth = tuple(route[::-1] for route in back)
                elif forth is None:
                    forth = tuple(self._simple_routes(one, other))
                found[one, other] = forth
                found[other, one] = back or tuple(route[::-1] for route in forth)
        return found

    def _simple_routes(self, start: str, end: str) -> Iterator[Route]:
        """Routes that pass no vertex twice, fewest links first."""
        at: dict[str, list[NetworkLink]] = {}
        for link in self.links:
            for vertex in link.ends:
                at.setdefault(vertex, []).append(link)
        closed = set() if self.processors_forward else set(self.processor_names)
        paths: list[tuple[tuple[str, ...], Route]] = [((start,), ())]
        found = 0
        while paths:
            longer = []
            for vertices, route in paths:
                for link in at.get(vertices[-1], ()):
                    if link.name in route:
                        continue
                    for vertex in link.ends:
                        if vertex == end:
                            yield (*route, link.name)
                            found += 1
                            if found == self.most_routes:
                                return
                        elif vertex not in vertices and vertex not in closed:
                            longer.append(((*vertices, vertex), (*route, link.name)))
            paths = longer


def check_network(network: ProcessorNetwork) -> None:
    """Raises the named error of the first kind of fault, with every problem of that kind."""
    if not network.processors:
        raise GraphError("the network has no processors", at=network.name)
    vertices = [*network.processor_names, *(switch.name for switch in network.switches)]
    links = [link.name for link in network.links]
    counted = (*Counter(vertices).items(), *Counter(links).items())
    twice = [name for name, count in counted if count > 1]
    if twice:
        raise GraphError(Problem("this name is given twice", at=name) for name in twice)
    slow = [*_wrong_speeds(network)]
    if slow:
        raise SpeedError(slow)
    wrong = [*_wrong_ends(network, set(vertices)), *_wrong_routes(network)]
    if wrong:
        raise GraphError(wrong)


def _wrong_speeds(network: ProcessorNetwork) -> Iterator[Problem]:
    speeds: list[tuple[str, Number]] = [
        *((f"processors.{one.name}.rate", one.rate) for one in network.processors),
        *((f"links.{link.name}.speed", link.speed) for link in network.links),
    ]
    for at, speed in speeds:
        try:
            wrong = exact(speed) <= 0
        except ValueError:
            wrong = True
        if wrong:
            yield Problem("not a speed above 0", at=at, got=str(speed))


def _wrong_ends(network: ProcessorNetwork, vertices: set[str]) -> Iterator[Problem]:
    for link in network.links:
        at = f"links.{link.name}.ends"
        if len(set(link.ends)) < 2:
            yield Problem("a link joins two or more", at=at, got=str(list(link.ends)))
        for end in link.ends:
            if end not in vertices:
                known = ", ".join(sorted(vertices))
                yield Problem("unknown end", at=at, got=repr(end), want=f"one of {known}")


def _wrong_routes(network: ProcessorNetwork) -> Iterator[Problem]:
    for pair, routes in network.given_routes.items():
        at = f"routes.{'-'.join(pair)}"
        if not set(pair) <= set(network.processor_names):
            yield Problem("a route joins two processors", at=at)
            continue
        for route in routes:
            unknown = [name for name in route if name not in network.link_named]
            if unknown:
                yield Problem("unknown link", at=at, got=", ".join(unknown))
            elif not leads(network, route, *pair):
                yield Problem("these links do not lead there", at=at, got=" ".join(route))


def leads(network: ProcessorNetwork, route: Route, start: str, end: str) -> bool:
    """Whether the links, one after the other, join two processors."""
    reached = {start}
    for name in route:
        ends = set(network.link_named[name].ends)
        here = reached & ends
        if not here:
            return False
        reached = ends if len(here) > 1 else ends - here
    return end in reached


# ------------------------------------------------------------
# A static schedule: when each task runs where, and when each message is on which link.


@dataclass(frozen=True, kw_only=True)
class TaskSlot:
    """A task on its processor, from its start (EST) to its finish (AFT)."""

    task: str
    processor: str
    start: Fraction
    finish: Fraction


@dataclass(frozen=True, kw_only=True)
class LinkSlot:
    """A message on one link, from LST to LFT."""

    link: str
    start: Fraction
    finish: Fraction


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message between tasks on different processors, link by link in route order."""

    sender: str
    receiver: str
    links: tuple[LinkSlot, ...]

    @property
    def route(self) -> tuple[str, ...]:
        return tuple(slot.link for slot in self.links)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Tasks and messages in the order in which they were scheduled.

    ``contention`` says whether links carry one message at a time. Times are exact fractions in
    the graph's unit."""

    tasks: tuple[TaskSlot, ...]
    messages: tuple[Message, ...]
    contention: bool = True

    @cached_property
    def makespan(self) -> Fraction:
        """The finish of the last task."""
        return max((slot.finish for slot in self.tasks), default=Fraction(0))

    @cached_property
    def of_task(self) -> dict[str, TaskSlot]:
        return {slot.task: slot for slot in self.tasks}

    @property
    def placement(self) -> dict[str, str]:
        """task -> processor"""
        return {slot.task: slot.processor for slot in self.tasks}

    def on_processor(self, name: str) -> tuple[TaskSlot, ...]:
        """What runs on a processor, in time order."""
        slots = [slot for slot in self.tasks if slot.processor == name]
        return tuple(sorted(slots, key=lambda slot: (slot.start, slot.finish)))

    def on_link(self, name: str) -> tuple[tuple[Message, LinkSlot], ...]:
        """What a link carries, in time order."""
        found = [(m, slot) for m in self.messages for slot in m.links if slot.link == name]
        return tuple(sorted(found, key=lambda pair: (pair[1].start, pair[1].finish)))
