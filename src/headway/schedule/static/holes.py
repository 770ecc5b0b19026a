"""Schedule holes and what imprecise computation makes of them (HVLB_CC section 4.4).

The hole behind a task is the time by which its finish may move without moving anything else's
start. Against a successor on the same processor (equation 20) that is

    min(EST(successor), EST(next on the processor)) - finish

and against one elsewhere (equation 21) the start of the message counts too, as late as it can be:
LST'' is found by going back along the route from the successor's start, with each link free only
until the next message on it. All holes may be used at once: a message gives way to nothing but
the original start of the one behind it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from headway.model.static_schedule import Message, Schedule
from headway.schedule.static.instance import Instance
from headway.schedule.static.timing import Timing


def schedule_holes(instance: Instance, schedule: Schedule) -> dict[str, Fraction]:
    """The hole behind every task, 0 where there is none; for the last on its processor and
    without successors, up to the makespan."""
    following = _next_starts(schedule)
    latest = {
        (message.sender, message.receiver): slots[0][1]
        for message, slots in latest_slots(instance, schedule)
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


Slot = tuple[str, Fraction, Fraction]
"""(link, start, finish)"""


def latest_slots(instance: Instance, schedule: Schedule) -> list[tuple[Message, list[Slot]]]:
    """Every message with its links as late as they can be; the first start is LST''."""
    timing = Timing(instance)
    free_until: dict[tuple[str, str, str], Fraction] = {}
    if schedule.contention:
        for link in dict.fromkeys(slot.link for m in schedule.messages for slot in m.links):
            traffic = schedule.on_link(link)
            for (message, _), (_, behind) in pairwise(traffic):
                free_until[link, message.sender, message.receiver] = behind.start
    edges = {(e.sender, e.receiver): number for number, e in enumerate(instance.graph.edges)}
    found = []
    for message in schedule.messages:
        pair = message.sender, message.receiver
        sender = instance.processors.index(schedule.of_task[message.sender].processor)
        times = timing.times[edges[pair]][sender]
        finish = start = schedule.of_task[message.receiver].start
        slots: list[Slot] = []
        later = -1
        for slot in reversed(message.links):
            number = instance.links.index(slot.link)
            if later >= 0:
                held = instance.time(timing.held.get((number, later), 0))
                finish, start = (start if timing.stored else finish) - held, start - held
            finish = min(finish, free_until.get((slot.link, *pair), finish))
            start = min(start, finish - instance.time(times[number]))
            slots.append((slot.link, start, finish))
            later = number
        found.append((message, slots[::-1]))
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
