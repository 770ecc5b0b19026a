"""The best schedule there is, or how far from it one is at most: OR-Tools CP-SAT.

For graphs of a dozen tasks or so. The search starts from the best list schedule and ends when the
optimum is proven or the time is up; then the answer is the best schedule found and a bound below
which no schedule can be. Where tasks are due, few late ones come first, then a short schedule.

The timing rules are those of :mod:`headway.schedule.static.timing`; only the order is free: a
message may use a link, and a task a processor, between two others. So the optimum is at most the
makespan of any list schedule.

- Every task takes one processor; the tasks of a processor do not overlap.
- Every message takes one route, unless both tasks are on one processor. On each link of the route
  it holds an interval of at least its transfer time; the intervals of a link do not overlap. A link
  starts no earlier than the link before it and finishes no earlier (equations 13 and 14).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from headway.errors import EnvironmentMissing
from headway.model.static_network import LinkSlot, Message, Schedule, TaskSlot
from headway.schedule.static.algorithm import (
    Algorithm,
    AlphaChoice,
    AlphaInterval,
    ExactAlpha,
    StaticResult,
)
from headway.schedule.static.due_times import Merit, due_times, merit
from headway.schedule.static.instance import Instance
from headway.schedule.static.portfolio import Best
from headway.schedule.static.timing import MessageTiming

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, IntervalVar, IntVar

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
        self.late = self._add_late()
        self.makespan = model.new_int_var(0, self.horizon, "makespan")
        model.add_max_equality(self.makespan, self.finish)
        for p in range(len(instance.processors)):
            busy = [self._comp(t, p) * here[p] for t, here in enumerate(self.where) if p in here]
            model.add(self.makespan >= sum(busy))
        model.minimize(sum(self.late) * (self.horizon + 1) + self.makespan)

    def _add_late(self) -> list[IntVar]:
        """For each task that is due, whether it is late."""
        late = []
        for task, due in enumerate(due_times(self.instance)):
            if due is not None:
                late.append(self.model.new_bool_var(f"{task} late"))
                in_time = self.finish[task] <= max(due // self.grain, 0)
                self.model.add(in_time).only_enforce_if(~late[-1])
        return late

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


# ------------------------------------------------------------
# From the order of tasks and messages to the earliest times that keep it, exactly.
#
# A solver's answer says who runs where, by which route, and in which order; its times may be
# rounded or later than they need be.


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


# ------------------------------------------------------------
# The search.


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How long to search. One worker gives the same answer on every run that ends by itself;
    several are quicker. ``work`` is a limit in the solver's own measure of work, about a second
    each: with one worker, a search that it ends also ends the same on every machine."""

    seconds: float = 60.0
    workers: int = 8
    seed: int = 0
    work: float | None = None


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """``bound``: no schedule is shorter. ``proven``: the schedule reaches it, and is late with as
    few tasks as can be."""

    schedule: Schedule
    bound: Fraction
    seconds: float
    late: int = 0
    """tasks that are late"""
    fewest_late: int = 0
    """no schedule has fewer; ``bound`` is for those that have as few as this one"""

    @property
    def makespan(self) -> Fraction:
        return self.schedule.makespan

    @property
    def proven(self) -> bool:
        return self.bound >= self.makespan and self.fewest_late >= self.late

    @property
    def gap(self) -> Fraction:
        """How much of the makespan could be saved at most; 0 when it is proven."""
        return 1 - self.bound / self.makespan if self.makespan else Fraction(0)


@dataclass(frozen=True, kw_only=True)
class OptimalResult(StaticResult):
    """A result that knows how good it is."""

    optimum: Optimum


class Optimal(Algorithm):
    """Starts from the best of the list schedules that cannot fail."""

    name = "optimal"
    summary = "the shortest schedule there is, or the gap that is left when the time is up"
    paper = "OR-Tools CP-SAT, developers.google.com/optimization"

    def __init__(self, effort: Effort | None = None) -> None:
        self.effort = effort or Effort()

    def run(self, instance: Instance, alpha: AlphaChoice) -> OptimalResult:
        start = best_heuristic(instance)
        optimum = find_optimum(instance, start, self.effort)
        schedule = optimum.schedule
        only = AlphaInterval(
            low=Fraction(0),
            high=None,
            low_closed=True,
            high_closed=False,
            makespan=schedule.makespan,
            build=lambda: schedule,
        )
        return OptimalResult(
            algorithm=self.name,
            order=tuple(slot.task for slot in schedule.tasks),
            intervals=(only,),
            best=only,
            optimum=optimum,
        )


def best_heuristic(instance: Instance) -> Schedule:
    """The best of the list schedules."""
    schedule = Best().run(instance, ExactAlpha()).schedule
    assert schedule is not None  # HEFT cannot fail
    return schedule


def find_optimum(instance: Instance, start: Schedule, effort: Effort | None = None) -> Optimum:
    """Searches from a schedule that is known; the answer is never worse than that one."""
    try:
        from ortools.sat.python import cp_model  # an extra, and slow to import
    except ImportError:
        raise EnvironmentMissing(
            "'optimal' needs OR-Tools, which is not installed: pip install 'headway[optimal]'"
        ) from None
    effort = effort or Effort()
    model = cp_model.CpModel()
    known = merit(instance, start)
    program = ConstraintProgram(model, instance, _horizon(instance, known))
    _hint(program, start)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = effort.seconds
    solver.parameters.num_workers = effort.workers
    solver.parameters.random_seed = effort.seed
    if effort.work is not None:
        solver.parameters.max_deterministic_time = effort.work
    status = solver.solve(model)
    best = start
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        found = compact(instance, _rough(program, solver))
        best = min(start, found, key=lambda schedule: merit(instance, schedule).in_time)
    late = merit(instance, best).late
    fewest, bound = _bounds(program, solver.best_objective_bound, late)
    return Optimum(
        schedule=best,
        bound=min(bound, best.makespan),
        seconds=solver.wall_time,
        late=late,
        fewest_late=min(fewest, late),
    )


def _horizon(instance: Instance, known: Merit) -> int:
    """A time by which the best schedule ends: where all are in time that is as short as the one
    that is known; with fewer late tasks it may be longer, but not than everything one by one."""
    if not known.late:
        return known.makespan
    timing = MessageTiming(instance)
    alone = max(instance.release) + sum(max(row) for row in instance.comp)
    hops = max((len(route) for row in instance.routes for ways in row for route in ways), default=0)
    held = max(timing.held.values(), default=0)
    slowest = (max((max(row, default=0) for row in edge), default=0) for edge in timing.times)
    return max(known.makespan, alone + sum(hops * (time + held) for time in slowest))


def _bounds(program: ConstraintProgram, objective: float, late: int) -> tuple[int, Fraction]:
    """The fewest late tasks, and the least makespan of schedules with as few as are known, in the
    graph's unit. Rounding has made each activity longer by up to a grain: then nothing is said
    where tasks are due, because one that is late by rounding may be in time."""
    coarse = max(round(objective), 0)
    if program.grain > 1:
        coarse = 0 if program.late else max(0, coarse - program.activities)
        return 0, program.instance.time(coarse * program.grain)
    fewest, left = divmod(coarse, program.horizon + 1)
    return fewest, program.instance.time(left if fewest == late else 0)


def _hint(program: ConstraintProgram, start: Schedule) -> None:
    """Tells the solver the schedule to start from."""
    instance, model = program.instance, program.model
    processor = {name: index for index, name in enumerate(instance.processors)}
    link = {name: index for index, name in enumerate(instance.links)}
    where = start.placement
    for task, name in enumerate(instance.tasks):
        slot = start.of_task[name]
        model.add_hint(program.start[task], program.coarse(instance.ticks(slot.start)))
        for p, here in program.where[task].items():
            model.add_hint(here, p == processor[slot.processor])
    messages = {(message.sender, message.receiver): message for message in start.messages}
    for edge, ways in enumerate(program.ways):
        ends = instance.graph.edges[edge]
        sent = messages.get((ends.sender, ends.receiver))
        route = tuple(link[name] for name in sent.route) if sent else ()
        pair = processor[where[ends.sender]], processor[where[ends.receiver]]
        for way, taken in ways.items():
            model.add_hint(taken, (way.sender, way.receiver) == pair and way.route == route)
        for slot_on in sent.links if sent else ():
            begin, end = program.on_link[edge][link[slot_on.link]]
            model.add_hint(begin, program.coarse(instance.ticks(slot_on.start)))
            model.add_hint(end, program.coarse(instance.ticks(slot_on.finish)))


def _rough(program: ConstraintProgram, solver: CpSolver) -> Rough:
    where = [
        next(p for p, here in choices.items() if solver.boolean_value(here))
        for choices in program.where
    ]
    routes = {}
    for edge, ways in enumerate(program.ways):
        taken = next(way for way, chosen in ways.items() if solver.boolean_value(chosen))
        if taken.route:
            routes[edge] = taken.route
    return Rough(
        where=where,
        routes=routes,
        task_times=[
            (solver.value(start), solver.value(finish))
            for start, finish in zip(program.start, program.finish, strict=True)
        ],
        link_times={
            (edge, link): (
                solver.value(program.on_link[edge][link][0]),
                solver.value(program.on_link[edge][link][1]),
            )
            for edge, route in routes.items()
            for link in route
        },
    )
