"""The timing core: when messages arrive, given who runs where and what the links already carry.

Equations 13 to 15 of HVLB_CC: a message takes the links of a route in order,

    LST(first) = max(AFT, avail(first))         LFT(first) = LST(first) + tpl/speed
    LST(next)  = max(LST(prev), avail(next))    LFT(next)  = max(LFT(prev), LST(next) + tpl/speed)

and a link is available again at LFT. The messages to a task are taken in the order of the sending
tasks; each takes the route that brings it there first, the earlier listed one where two are equal.
Links are never given out between two bookings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from headway.model.static_network import LinkSlot, Message, Schedule, Switching, TaskSlot
from headway.schedule.static.instance import Instance

Sent = tuple[int, int, Sequence[int]]
"""A message under way: AFT of its sender, the sender's processor, its time on each link."""

Links = list[int]
"""From when on each link is available. Never changed in place once handed out."""

Arrive = Callable[[Sequence[Sent], int, Links], int]
"""(messages, receiving processor, links) -> arrival of the last"""

Booking = tuple[int, int, int]
"""(link, start, finish)"""


class MessageTiming:
    """When messages arrive in one instance, by the rules its options and network ask for."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        network = instance.network
        self.idle: Links = [0] * len(instance.links)
        self.held = _held_between(instance)
        self.stored = network.switching is Switching.STORE_AND_FORWARD
        self.contention = instance.options.contention
        self.routes, self.predecessors = instance.routes, instance.predecessors
        processors = range(len(instance.processors))
        self.times = [
            [instance.on_links(edge, sender) for sender in processors]
            for edge in range(len(instance.graph.edges))
        ]
        """times[edge][sending processor]: the message's time on every link"""
        plain = not self.held and not self.stored
        if plain and self.contention:
            self.arrive: Arrive = self._cut_through
            self.after = self._after_cut_through
        else:
            self.arrive = self._general
            self.after = self._after_general

    def sent(self, task: int, finish: Sequence[int], where: Sequence[int]) -> list[Sent]:
        """The messages that a task whose predecessors are scheduled waits for."""
        times = self.times
        return [
            (finish[sender], where[sender], times[edge][where[sender]])
            for sender, edge in self.predecessors[task]
        ]

    def book(self, message: Sent, processor: int, links: Links) -> list[Booking]:
        """The links one message takes on its best route, with start and finish."""
        finish, sender, times = message
        if not self.contention:
            links = self.idle
        routes = self.instance.routes[sender][processor]
        bookings = [self._along(finish, sender, route, times, links) for route in routes]
        return min(bookings, key=lambda booking: booking[-1][2])

    def _along(
        self, ready: int, sender: int, route: Sequence[int], times: Sequence[int], links: Links
    ) -> list[Booking]:
        start, finish, before = ready, 0, -1
        booking: list[Booking] = []
        for link in route:
            if before >= 0:
                held = self.held.get((before, link), 0)
                start, finish = (finish if self.stored else start) + held, finish + held
            start = max(start, links[link])
            finish = max(finish, start + times[link])
            booking.append((link, start, finish))
            before = link
        return booking

    def _cut_through(self, messages: Sequence[Sent], processor: int, links: Links) -> int:
        """The paper's rule, unrolled: this is where the time goes."""
        arrival = 0
        shared = len(messages) > 1
        for ready, sender, times in messages:
            best = ready
            if sender != processor:
                best = -1
                for route in self.routes[sender][processor]:
                    start = ready
                    finish = 0
                    for link in route:
                        if links[link] > start:
                            start = links[link]
                        if start + times[link] > finish:
                            finish = start + times[link]
                    if finish < best or best < 0:
                        best = finish
                        chosen = route
                if shared:  # the others find its links taken
                    links = self._taken(ready, chosen, times, links)
            if best > arrival:
                arrival = best
        return arrival

    def _taken(self, ready: int, route: Sequence[int], times: Sequence[int], links: Links) -> Links:
        links = links[:]
        start, finish = ready, 0
        for link in route:
            if links[link] > start:
                start = links[link]
            if start + times[link] > finish:
                finish = start + times[link]
            links[link] = finish
        return links

    def _after_cut_through(self, messages: Sequence[Sent], processor: int, links: Links) -> Links:
        for ready, sender, times in messages:
            if sender != processor:
                routes = self.routes[sender][processor]
                chosen = routes[0]
                if len(routes) > 1:
                    best = -1
                    for route in routes:
                        start = ready
                        finish = 0
                        for link in route:
                            if links[link] > start:
                                start = links[link]
                            if start + times[link] > finish:
                                finish = start + times[link]
                        if finish < best or best < 0:
                            best = finish
                            chosen = route
                links = self._taken(ready, chosen, times, links)
        return links

    def _general(self, messages: Sequence[Sent], processor: int, links: Links) -> int:
        arrival = 0
        if self.contention:
            links = links[:]
        for message in messages:
            reached = message[0]
            if message[1] != processor:
                for link, _, reached in self.book(message, processor, links):
                    if self.contention:
                        links[link] = reached
            arrival = max(arrival, reached)
        return arrival

    def _after_general(self, messages: Sequence[Sent], processor: int, links: Links) -> Links:
        """What the links are like once these messages have gone to a processor."""
        if not self.contention:
            return links
        links = links[:]
        for message in messages:
            if message[1] != processor:
                for link, _, finish in self.book(message, processor, links):
                    links[link] = finish
        return links


def _held_between(instance: Instance) -> dict[tuple[int, int], int]:
    """How long the switch between two links holds a message; the least where there are several."""
    held: dict[tuple[int, int], int] = {}
    links = instance.network.links
    if not instance.delays:
        return held
    for one, link in enumerate(links):
        for other, next_link in enumerate(links):
            between = set(link.ends) & set(next_link.ends)
            if one != other and between:
                held[one, other] = min(instance.delays.get(name, 0) for name in between)
    return {pair: delay for pair, delay in held.items() if delay}


# ------------------------------------------------------------
# From who-runs-where to a whole schedule, with every task's and every message's times.


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


# ------------------------------------------------------------
# How good a schedule is (HVLB_CC section 5.1).


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """``slr`` is the schedule length ratio: makespan / the least time of the critical path.
    ``load_balance`` (LB) is makespan / mean busy time of a processor. Less is better of both."""

    makespan: Fraction
    slr: Fraction
    speedup: Fraction
    load_balance: Fraction


def metrics_of(instance: Instance, schedule: Schedule) -> Metrics:
    """Equations 22 to 25. Ratios are 0 where there is nothing to divide by."""
    makespan = schedule.makespan
    sequential = instance.time(instance.best_sequential)
    busy = sum((slot.finish - slot.start for slot in schedule.tasks), Fraction(0))
    mean_busy = busy / len(instance.processors)
    return Metrics(
        makespan=makespan,
        slr=_ratio(makespan, critical_path_time(instance)),
        speedup=_ratio(sequential, makespan),
        load_balance=_ratio(makespan, mean_busy),
    )


def critical_path_time(instance: Instance) -> Fraction:
    """The longest path when every task runs where it is quickest and messages take no time: no
    schedule is shorter."""
    longest = [0] * len(instance.tasks)
    for task in reversed(instance.topological):
        behind = max((longest[successor] for successor in instance.successors[task]), default=0)
        quickest = min(instance.comp[task][p] for p in instance.allowed[task])
        longest[task] = quickest + behind
    return instance.time(max(longest))


def _ratio(above: Fraction, below: Fraction) -> Fraction:
    return above / below if below else Fraction(0)
