"""Response times on buses and links: non-preemptive fixed priorities, frame by frame.

A tuple that is offered while the medium is busy at its priority or above leaves before that busy
period ends. The longest such period, one lower frame in front of it, bounds the response (after
Davis et al., "Controller Area Network schedulability analysis: refuted, revisited and revised").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from headway.compiler.latency.demand import Demand, busy_period, plus
from headway.compiler.latency.job_flows import Flows, why_boundless
from headway.model.plan import Crossing, HopKind
from headway.model.quantities import ArrivalCurve
from headway.model.vehicle import Bus, Link, frame_times

Responses = dict[tuple[str, str], int | None]


class StreamAges(Protocol):
    """What this module needs of the analysis."""

    @property
    def flows(self) -> Flows: ...
    @property
    def curves(self) -> dict[str, ArrivalCurve]: ...
    @property
    def boundless(self) -> dict[str, str]: ...
    def sent_after(self, stream: str, source: str) -> int | None: ...


@dataclass(frozen=True, slots=True)
class BusMessage:
    """A stream on one medium. ``entries`` counts the ways it comes in (one, unless routes part)."""

    stream: str
    medium: str
    priority: int
    frames: tuple[int, ...]
    entries: int
    before: tuple[tuple[str, int], ...]
    """(earlier hop, its uncontended delay) on the longest way here"""


def messages_of(
    crossings: tuple[Crossing, ...], media: dict[str, Bus | Link]
) -> dict[str, list[BusMessage]]:
    """The streams of each medium, most urgent first; one that goes to several nodes is sent
    once."""
    found: dict[tuple[str, str], dict[str, tuple[Crossing, int]]] = {}
    for crossing in crossings:
        for position, hop in enumerate(crossing.hops):
            if hop.kind is not HopKind.GATEWAY:
                previous = crossing.hops[position - 1].name if position else crossing.sender
                ways = found.setdefault((crossing.stream, hop.name), {})
                ways.setdefault(previous, (crossing, position))
    messages: dict[str, list[BusMessage]] = {name: [] for name in media}
    for (stream, medium), ways in found.items():
        crossing, position = max(ways.values(), key=lambda way: way[1])
        messages[medium].append(
            BusMessage(
                stream=stream,
                medium=medium,
                priority=crossing.priority,
                frames=frame_times(crossing.size_bytes, media[medium]),
                entries=len(ways),
                before=tuple((hop.name, hop.delay) for hop in crossing.hops[:position]),
            )
        )
    for listed in messages.values():
        listed.sort(key=lambda message: message.priority)
    return messages


def media_responses(
    messages: dict[str, list[BusMessage]],
    ages: StreamAges,
    known: Responses,
    reasons: dict[str, str],
) -> Responses:
    """New response bounds from the current ages and the known responses of earlier hops."""
    responses: Responses = {}
    for medium, listed in messages.items():
        demands: list[Demand] = []
        for index, message in enumerate(listed):
            if message.stream in ages.boundless:
                reasons.setdefault(medium, why_boundless(ages.boundless[message.stream]))
            work = sum(message.frames) * message.entries
            for source, flow in ages.flows[message.stream].items():
                after = ages.sent_after(message.stream, source)
                for hop, delay in message.before:
                    after = plus(after, known.get((message.stream, hop), delay))
                if after is None:
                    reasons.setdefault(medium, f"{message.stream} reaches {medium} without a bound")
                else:
                    demands.append(Demand(ages.curves[source], flow.count * work, after))
            if medium in reasons:
                responses[message.stream, medium] = None
                continue
            blocking = max((max(lower.frames) for lower in listed[index + 1 :]), default=0)
            response = busy_period(demands, blocking)
            if response is None:
                reasons.setdefault(medium, f"{medium} is asked for more than it can carry")
            responses[message.stream, medium] = response
    return responses
