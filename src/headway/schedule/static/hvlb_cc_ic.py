"""Schedule holes and what imprecise computation makes of them (HVLB_CC section 4.4).

The hole behind a task is the time by which its finish may move without moving anything else's
start. Against a successor on the same processor (equation 20) that is

    min(EST(successor), EST(next on the processor)) - finish

and against one elsewhere (equation 21) the start of the message counts too, as late as it can be:
LST'' is found by going back along the route from the successor's start, with each link free only
until the next message on it. All holes may be used at once: a message gives way to nothing but
the original start of the one behind it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from headway.model.static_network import LinkSlot, Message, Schedule
from headway.schedule.static.algorithm import AlphaInterval
from headway.schedule.static.hvlb_cc import HvlbCcC
from headway.schedule.static.instance import Instance
from headway.schedule.static.timing import MessageTiming


def schedule_holes(instance: Instance, schedule: Schedule) -> dict[str, Fraction]:
    """The hole behind every task, 0 where there is none; for the last on its processor and
    without successors, up to the makespan."""
    following = _next_starts(schedule)
    latest = {
        (message.sender, message.receiver): message.links[0].start
        for message in latest_messages(instance, schedule)
    }
    holes = {}
    for slot in schedule.tasks:
        bounds = [following.get(slot.task, schedule.makespan)]
        for successor in instance.graph.successors[slot.task]:
            bounds.append(schedule.of_task[successor].start)
            if (slot.task, successor) in latest:
                bounds.append(latest[slot.task, successor])
        holes[slot.task] = max(Fraction(0), min(bounds) - slot.finish)
    return holes


def latest_messages(instance: Instance, schedule: Schedule) -> tuple[Message, ...]:
    """Every message as late as it can be; the start on its first link is LST''."""
    timing = MessageTiming(instance)
    edges = {(e.sender, e.receiver): number for number, e in enumerate(instance.graph.edges)}
    free_until = _free_until(schedule)
    found = []
    for message in schedule.messages:
        pair = message.sender, message.receiver
        sender = instance.processors.index(schedule.of_task[message.sender].processor)
        arrival = schedule.of_task[message.receiver].start
        route = [instance.links.index(slot.link) for slot in message.links]
        times = [instance.time(timing.times[edges[pair]][sender][link]) for link in route]
        held = [instance.time(timing.held.get(hop, 0)) for hop in pairwise(route)]
        bounds = [free_until.get((slot.link, *pair), arrival) for slot in message.links]
        starts = _latest_starts(arrival, times, [*held, Fraction(0)], bounds, timing.stored)
        finish, links = Fraction(0), []
        for slot, start, time, delay in zip(
            message.links, starts, times, [Fraction(0), *held], strict=True
        ):
            finish = max(finish + delay, start + time)
            links.append(LinkSlot(link=slot.link, start=start, finish=finish))
        found.append(replace(message, links=tuple(links)))
    return tuple(found)


def _latest_starts(
    arrival: Fraction,
    times: list[Fraction],
    held: list[Fraction],
    bounds: list[Fraction],
    stored: bool,
) -> list[Fraction]:
    """Back along a route: each link must have finished before its bound, and early enough for the
    link behind it; ``held`` is the delay between the two."""
    finish = start = arrival
    starts = []
    for time, delay, bound in zip(times[::-1], held[::-1], bounds[::-1], strict=True):
        last = start if stored else finish
        finish = min(last - delay, bound)
        start = min(start - delay, finish - time)
        starts.append(start)
    return starts[::-1]


def _free_until(schedule: Schedule) -> dict[tuple[str, str, str], Fraction]:
    """(link, sender, receiver) -> when the next message on the link starts"""
    found = {}
    if schedule.contention:
        for link in dict.fromkeys(slot.link for m in schedule.messages for slot in m.links):
            for (message, _), (_, behind) in pairwise(schedule.on_link(link)):
                found[link, message.sender, message.receiver] = behind.start
    return found


def _next_starts(schedule: Schedule) -> dict[str, Fraction]:
    """When the next task on the same processor starts."""
    found = {}
    for processor in dict.fromkeys(slot.processor for slot in schedule.tasks):
        slots = schedule.on_processor(processor)
        for slot, behind in pairwise(slots):
            found[slot.task] = behind.start
    return found


def precision(hole: Fraction, mandatory: Fraction, arrival_rate: Fraction) -> Fraction:
    """Processed / requested time of a task at an arrival rate λ.

    λ is (mandatory + optional) / mandatory, so λ times the mandatory part is requested; the hole
    serves the optional part."""
    requested = arrival_rate * mandatory
    return min(Fraction(1), (mandatory + hole) / requested) if requested else Fraction(1)


# ------------------------------------------------------------
# HVLB_CC_IC: room for imprecise computation.


class HvlbCcIc(HvlbCcC):
    """The queue that is (B) where (B) does not fail; among schedules of the least makespan the one
    with the largest holes.

    What counts are the holes behind the imprecise tasks; behind all tasks, if none is marked."""

    name = "hvlb-cc-ic"
    summary = "as hvlb-cc-c, of equal makespans the one with the largest schedule holes"
    paper = "HVLB_CC, section 4.4, equations 19 to 21"
    makes_holes = True

    def choose(self, instance: Instance, intervals: tuple[AlphaInterval, ...]) -> AlphaInterval:
        least = min(interval.makespan for interval in intervals)
        wanted = {task.name for task in instance.graph.tasks if task.imprecise}

        def room(interval: AlphaInterval) -> Fraction:
            holes = schedule_holes(instance, interval.schedule)
            return sum((holes[task] for task in wanted or holes), Fraction(0))

        return max((found for found in intervals if found.makespan == least), key=room)
