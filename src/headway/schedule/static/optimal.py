"""The best schedule there is, or how far from it one is at most: OR-Tools CP-SAT.

For graphs of a dozen tasks or so. The search starts from the best list schedule and ends when the
optimum is proven or the time is up; then the answer is the best schedule found and a bound below
which no schedule can be. See :mod:`headway.schedule.static.constraint_program` for what a schedule
is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from headway.errors import EnvironmentMissing
from headway.model.static_network import Schedule
from headway.schedule.static.algorithm import Algorithm
from headway.schedule.static.compact import Rough, compact
from headway.schedule.static.constraint_program import ConstraintProgram
from headway.schedule.static.cpop import Cpop
from headway.schedule.static.heft import Heft
from headway.schedule.static.hvlb_cc_a import HvlbCcA
from headway.schedule.static.hvlb_cc_c import HvlbCcC
from headway.schedule.static.instance import Instance
from headway.schedule.static.options import AlphaChoice, ExactAlpha
from headway.schedule.static.result import AlphaInterval, StaticResult

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpSolver


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
    """``bound``: no schedule is shorter. ``proven``: the schedule reaches it."""

    schedule: Schedule
    bound: Fraction
    seconds: float

    @property
    def makespan(self) -> Fraction:
        return self.schedule.makespan

    @property
    def proven(self) -> bool:
        return self.bound >= self.makespan

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
    """The shortest of the list schedules; queues that fail are passed over."""
    results = [
        algorithm.run(instance, ExactAlpha())
        for algorithm in (HvlbCcC(), HvlbCcA(), Heft(), Cpop())
    ]
    found = [result.schedule for result in results if result.schedule is not None]
    return min(found, key=lambda schedule: schedule.makespan)


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
    program = ConstraintProgram(model, instance, instance.ticks(start.makespan))
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
        best = min(start, compact(instance, _rough(program, solver)), key=lambda s: s.makespan)
    bound = _bound(program, solver.best_objective_bound)
    return Optimum(schedule=best, bound=min(bound, best.makespan), seconds=solver.wall_time)


def _bound(program: ConstraintProgram, objective: float) -> Fraction:
    """The bound in the graph's unit; rounding has made each activity longer by up to a grain."""
    coarse = round(objective)
    if program.grain > 1:
        coarse = max(0, coarse - program.activities)
    return program.instance.time(coarse * program.grain)


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
