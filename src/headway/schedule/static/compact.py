"""From the order of tasks and messages to the earliest times that keep it, exactly.

A solver's answer says who runs where, by which route, and in which order; its times may be rounded
or later than they need be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.model.static_network import LinkSlot, Message, Schedule, TaskSlot
from headway.schedule.static.instance import Instance
from headway.schedule.static.timing import MessageTiming


@dataclass(frozen=True, kw_only=True)
class Rough:
    """``task_times`` and, for each edge with a route, ``link_times`` as (start, finish)."""

    where: Sequence[int]
    routes: Mapping[int, Sequence[int]]
    """edge -> the links of its route; edges inside a processor are missing"""
    task_times: Sequence[tuple[int, int]]
    link_times: Mapping[tuple[int, int], tuple[int, int]]
    """(edge, link) -> (start, finish)"""


def compact(instance: Instance, rough: Rough) -> Schedule:
    """The schedule with the same decisions and the earliest times (a semi-active schedule)."""
    timing = MessageTiming(instance)
    senders = _senders(instance)
    contention = instance.options.contention
    available = [0] * len(instance.processors)
    links = [0] * len(instance.links)
    finish = [0] * len(instance.tasks)
    booked: dict[int, list[tuple[int, int, int]]] = {edge: [] for edge in rough.routes}
    slots = []
    for edge, item in _sequence(instance, rough):
        if edge < 0:
            p = rough.where[item]
            start = max(available[p], instance.release[item])
            for sender, into in instance.predecessors[item]:
                start = max(start, booked[into][-1][2] if booked.get(into) else finish[sender])
            finish[item] = available[p] = start + instance.comp[item][p]
            slots.append(
                TaskSlot(
                    task=instance.tasks[item],
                    processor=instance.processors[p],
                    start=instance.time(start),
                    finish=instance.time(finish[item]),
                )
            )
            continue
        sender = senders[edge]
        start, end = finish[sender], 0
        if booked[edge]:
            before, start, end = booked[edge][-1]
            held = timing.held.get((before, item), 0)
            start, end = (end if timing.stored else start) + held, end + held
        if contention:
            start = max(start, links[item])
        end = max(end, start + instance.on_links(edge, rough.where[sender])[item])
        links[item] = end
        booked[edge].append((item, start, end))
    return Schedule(
        tasks=tuple(slots),
        messages=tuple(
            Message(
                sender=instance.graph.edges[edge].sender,
                receiver=instance.graph.edges[edge].receiver,
                links=tuple(
                    LinkSlot(
                        link=instance.links[link],
                        start=instance.time(start),
                        finish=instance.time(end),
                    )
                    for link, start, end in bookings
                ),
            )
            for edge, bookings in booked.items()
        ),
        contention=contention,
    )


def _sequence(instance: Instance, rough: Rough) -> list[tuple[int, int]]:
    """(-1, task) and (edge, link), so that each comes after all it waits for.

    Things that start at once and take no time are told apart by the graph: a message comes after
    its sender and before its receiver, and takes its links in route order."""
    senders = _senders(instance)
    position = {task: 2 * index for index, task in enumerate(instance.topological)}
    keyed = [
        ((*times, position[task], 0), (-1, task)) for task, times in enumerate(rough.task_times)
    ]
    for edge, route in rough.routes.items():
        after = position[senders[edge]] + 1
        for hop, link in enumerate(route):
            keyed.append(((*rough.link_times[edge, link], after, hop), (edge, link)))
    return [item for _, item in sorted(keyed)]


def _senders(instance: Instance) -> list[int]:
    number = {name: index for index, name in enumerate(instance.tasks)}
    return [number[edge.sender] for edge in instance.graph.edges]
