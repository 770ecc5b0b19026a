"""A task graph on a network as a constraint program (OR-Tools CP-SAT).

The timing rules are those of :mod:`headway.schedule.static.timing`; only the order is free: a
message may use a link, and a task a processor, between two others. So the optimum is at most the
makespan of any list schedule.

- Every task takes one processor; the tasks of a processor do not overlap.
- Every message takes one route, unless both tasks are on one processor. On each link of the route
  it holds an interval of at least its transfer time; the intervals of a link do not overlap. A link
  starts no earlier than the link before it and finishes no earlier (equations 13 and 14).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.schedule.static.instance import Instance
from headway.schedule.static.timing import MessageTiming

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntervalVar, IntVar

LARGEST_HORIZON = 2**40
"""CP-SAT's arithmetic is safe far above this; search slows down with the size of numbers."""


@dataclass(frozen=True)
class Way:
    """One way of a message: the processors it joins and the links between; none on the same."""

    sender: int
    receiver: int
    route: tuple[int, ...]


class ConstraintProgram:
    """The variables of the program. Times are in ticks divided by ``grain``, rounded up."""

    def __init__(self, model: CpModel, instance: Instance, horizon: int) -> None:
        self.model, self.instance = model, instance
        self.timing = MessageTiming(instance)
        self.grain = -(-horizon // LARGEST_HORIZON)
        self.horizon = self.coarse(horizon) + self.activities
        self.where: list[dict[int, IntVar]] = []
        self.start: list[IntVar] = []
        self.finish: list[IntVar] = []
        self.ways: list[dict[Way, IntVar]] = []
        self.on_link: list[dict[int, tuple[IntVar, IntVar]]] = []
        """of every edge: link -> (start, finish)"""
        self._add_tasks()
        self._add_messages()
        self.makespan = model.new_int_var(0, self.horizon, "makespan")
        model.add_max_equality(self.makespan, self.finish)
        for p in range(len(instance.processors)):
            busy = [self._comp(t, p) * here[p] for t, here in enumerate(self.where) if p in here]
            model.add(self.makespan >= sum(busy))
        model.minimize(self.makespan)

    @property
    def activities(self) -> int:
        """Tasks and link bookings: each is rounded up by less than a grain."""
        longest = max(
            (len(route) for row in self.instance.routes for routes in row for route in routes),
            default=0,
        )
        return len(self.instance.tasks) + len(self.instance.graph.edges) * longest

    def coarse(self, ticks: int) -> int:
        return -(-ticks // self.grain)

    def _comp(self, task: int, processor: int) -> int:
        return self.coarse(self.instance.comp[task][processor])

    def _add_tasks(self) -> None:
        model, instance = self.model, self.instance
        on_processor: list[list[IntervalVar]] = [[] for _ in instance.processors]
        for task, allowed in enumerate(instance.allowed):
            release = self.coarse(instance.release[task])
            start = model.new_int_var(release, self.horizon, f"start {task}")
            finish = model.new_int_var(release, self.horizon, f"finish {task}")
            here = {p: model.new_bool_var(f"{task} on {p}") for p in allowed}
            model.add_exactly_one(here.values())
            model.add(finish == start + sum(self._comp(task, p) * here[p] for p in allowed))
            for p in allowed:
                on_processor[p].append(
                    model.new_optional_fixed_size_interval_var(
                        start, self._comp(task, p), here[p], f"run {task} on {p}"
                    )
                )
            self.start.append(start)
            self.finish.append(finish)
            self.where.append(here)
        for intervals in on_processor:
            model.add_no_overlap(intervals)

    def _add_messages(self) -> None:
        model, instance = self.model, self.instance
        bookings: list[list[IntervalVar]] = [[] for _ in instance.links]
        number = {name: index for index, name in enumerate(instance.tasks)}
        for index, edge in enumerate(instance.graph.edges):
            sender, receiver = number[edge.sender], number[edge.receiver]
            ways = {
                way: model.new_bool_var(f"{index} by {way}") for way in self._all(sender, receiver)
            }
            model.add_exactly_one(ways.values())
            for side, task in (("sender", sender), ("receiver", receiver)):
                for p, here in self.where[task].items():
                    model.add(sum(z for way, z in ways.items() if getattr(way, side) == p) == here)
            links: dict[int, tuple[IntVar, IntVar]] = {}
            for link in sorted({link for way in ways for link in way.route}):
                begin = model.new_int_var(0, self.horizon, f"{index} on {link} from")
                end = model.new_int_var(0, self.horizon, f"{index} on {link} to")
                size = model.new_int_var(0, self.horizon, f"{index} on {link} for")
                used = model.new_bool_var(f"{index} uses {link}")
                model.add(sum(z for way, z in ways.items() if link in way.route) == used)
                booking = model.new_optional_interval_var(
                    begin, size, end, used, f"{index} on {link}"
                )
                bookings[link].append(booking)
                links[link] = begin, end
            self.ways.append(ways)
            self.on_link.append(links)
            self._time_message(index, sender, receiver)
        if instance.options.contention:
            for intervals in bookings:
                model.add_no_overlap(intervals)

    def _all(self, sender: int, receiver: int) -> list[Way]:
        allowed = self.instance.allowed
        return [
            Way(one, other, route)
            for one in allowed[sender]
            for other in allowed[receiver]
            for route in (self.instance.routes[one][other] if one != other else ((),))
        ]

    def _time_message(self, edge: int, sender: int, receiver: int) -> None:
        """Equations 13 and 14 for the way taken, and what they come to without contention."""
        model, links = self.model, self.on_link[edge]
        least = []
        for way, taken in self.ways[edge].items():
            times = [self.coarse(t) for t in self.instance.on_links(edge, way.sender)]
            before = -1
            for link in way.route:
                begin, end = links[link]
                model.add(end >= begin + times[link]).only_enforce_if(taken)
                if before < 0:
                    model.add(begin >= self.finish[sender]).only_enforce_if(taken)
                else:
                    held = self.coarse(self.timing.held.get((before, link), 0))
                    start_before, end_before = links[before]
                    ready = end_before if self.timing.stored else start_before
                    model.add(begin >= ready + held).only_enforce_if(taken)
                    model.add(end >= end_before + held).only_enforce_if(taken)
                before = link
            if way.route:
                model.add(self.start[receiver] >= links[before][1]).only_enforce_if(taken)
                least.append(max(times[link] for link in way.route) * taken)
        model.add(self.start[receiver] >= self.finish[sender] + sum(least))
