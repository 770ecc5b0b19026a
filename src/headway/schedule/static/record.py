"""From who-runs-where to a whole schedule, with every task's and every message's times."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.static_network import LinkSlot, Message, Schedule, TaskSlot
from headway.schedule.static.instance import Instance
from headway.schedule.static.timing import MessageTiming


def record(
    instance: Instance,
    order: Sequence[int],
    where: Sequence[int],
    starts: Sequence[int] | None = None,
) -> Schedule:
    """The schedule of tasks placed in this order on these processors (``where[task]``).

    A task starts as early as its messages, its processor and its release allow, or when
    ``starts`` says."""
    timing = MessageTiming(instance)
    available = [0] * len(instance.processors)
    finish = [0] * len(instance.tasks)
    links = timing.idle
    slots, messages = [], []
    for task in order:
        processor = where[task]
        arrival = instance.release[task]
        pairs = zip(instance.predecessors[task], timing.sent(task, finish, where), strict=True)
        for (sender, _), sent in pairs:
            if sent[1] == processor:
                arrival = max(arrival, sent[0])
                continue
            bookings = timing.book(sent, processor, links)
            links = links[:]
            for link, _, end in bookings:
                links[link] = end
            arrival = max(arrival, bookings[-1][2])
            messages.append(
                Message(
                    sender=instance.tasks[sender],
                    receiver=instance.tasks[task],
                    links=tuple(
                        LinkSlot(
                            link=instance.links[link],
                            start=instance.time(start),
                            finish=instance.time(end),
                        )
                        for link, start, end in bookings
                    ),
                )
            )
        start = max(arrival, available[processor]) if starts is None else starts[task]
        finish[task] = start + instance.comp[task][processor]
        available[processor] = max(available[processor], finish[task])
        slots.append(
            TaskSlot(
                task=instance.tasks[task],
                processor=instance.processors[processor],
                start=instance.time(start),
                finish=instance.time(finish[task]),
            )
        )
    return Schedule(
        tasks=tuple(slots),
        messages=tuple(messages),
        contention=instance.options.contention,
    )
