"""``hw.compile``: a query and a vehicle to a plan, however they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from os import PathLike
from pathlib import Path

from headway.compiler.compilation import silent
from headway.compiler.latency.soft_room import soft_rooms
from headway.compiler.passes import compile_query
from headway.compiler.python_code import refuse_python
from headway.errors import InputError, PlacementError, Problem, QueryError, VehicleError
from headway.files.load_queries import LoadedQuery, LoadedVehicle, load_query, load_vehicle, placed
from headway.fluent import QueryBuilder, VehicleBuilder
from headway.model.codec import plan_to_json
from headway.model.plan import Plan, Promise
from headway.model.query import Query
from headway.model.taskset import percent
from headway.model.user_operator import find_modules_beside
from headway.model.vehicle import Vehicle
from headway.report.plan.plan_page import plan_cell, plan_html
from headway.report.plan.plan_picture import plan_svg
from headway.report.plan.plan_tables import sign, summary
from headway.schedule.online import OVERLOAD_POLICIES, overload_policy_named
from headway.schedule.online.reservation import SoftRule
from headway.schedule.overload.plan_paths import BEYOND, check_nodes, task_sets_of
from headway.schedule.overload.soft_expectations import expectations, soft_room
from headway.schedule.static import (
    ALGORITHMS,
    ExactAlpha,
    Instance,
    algorithm_named,
    graph_of_plan,
    pinned,
)

QueryGiven = Query | LoadedQuery | QueryBuilder | PathLike[str] | str
VehicleGiven = Vehicle | LoadedVehicle | VehicleBuilder | PathLike[str] | str
"""a text is the path of a YAML file; YAML itself is read by ``hw.parse_query``"""

LEAST_TRAFFIC = "least-traffic"
FAMILY = "hvlb-cc"
"""Stands for the member of the family that cannot fail."""


@dataclass(frozen=True, kw_only=True)
class CompiledQuery:
    """A plan, and what only the one who compiled it knows: where the query is written.

    The plan itself is a plain value of the lowest layer, which knows no pictures; this shows it.
    In a notebook it is the picture and the table of promises, as text a line.
    """

    plan: Plan
    reservations: tuple[str, ...] = ()
    """with ``policy``: a line for each node and each soft path, what is left for soft load"""
    way: str = LEAST_TRAFFIC
    """how operators were placed"""
    loaded_query: LoadedQuery | None = field(default=None, repr=False)
    loaded_vehicle: LoadedVehicle | None = field(default=None, repr=False)

    @property
    def promises(self) -> tuple[Promise, ...]:
        """What can be said of each output's deadline; nothing without a vehicle."""
        return self.plan.verdict.promises if self.plan.verdict is not None else ()

    @property
    def safe(self) -> bool:
        """Whether every deadline can be promised; without a vehicle there is nothing to break."""
        return self.plan.verdict is None or self.plan.verdict.safe

    def to_json(self) -> str:
        """What ``headway compile --json`` prints, and ``headway run`` takes as ``PLAN.json``."""
        return plan_to_json(self.plan)

    def to_svg(self) -> str:
        """The picture."""
        return plan_svg(self.plan)

    def to_html(self) -> str:
        """A whole page: the picture, what can be promised and why, and the plan's tables."""
        return plan_html(self.plan)

    def placing(self) -> AbstractContextManager[None]:
        """Problems raised inside get their place in the files that were compiled."""
        return placed(self.loaded_query, self.loaded_vehicle)

    def unused_pins(self) -> Iterator[Problem]:
        """Pins that name no operator of this query: another query's, or a slip of the pen."""
        operators = [operator.name for operator in self.plan.query.operators]
        for name, _ in self.plan.vehicle.pins:
            if name not in operators:
                near = get_close_matches(name, operators, n=1)
                want = f"did you mean {near[0]!r}?" if near else "it has no effect"
                problem = Problem("this query has no such operator", at=f"pins.{name}", want=want)
                if self.loaded_vehicle is not None:
                    (problem,) = self.loaded_vehicle.places.attach_all([problem])
                yield problem

    def __repr__(self) -> str:
        on = f" on {self.plan.vehicle.name}" if self.plan.verdict is not None else ""
        return f"<CompiledQuery {self.plan.query.name}{on}: {summary(self.plan)}>"

    def _repr_html_(self) -> str:
        return plan_cell(self.plan)


def compile(
    query: QueryGiven,
    vehicle: VehicleGiven | None = None,
    *,
    placement: str = LEAST_TRAFFIC,
    policy: str | None = None,
    python: bool = True,
    tell: Callable[[str], None] = silent,
) -> CompiledQuery:
    """Compiles a query for a vehicle: where each operator runs, by when, what can be promised.

    Both may be values of the model, what ``hw.load_query`` and ``hw.load_vehicle`` give, builders,
    or paths of YAML files. Without a vehicle there is one node and no verdict: enough to run the
    query. ``placement`` is ``'least-traffic'`` or the name of a static scheduling algorithm
    (``'hvlb-cc'``, ``'heft'``, …); ``policy`` (``'rop-edf-1'`` or ``'rop-edf-2'``) also says what
    is left for soft tasks. ``python=False`` refuses a query that names Python code, before anything
    of it is imported: for queries of strangers. ``tell`` hears what takes long.

    InputError, with the place in the file where there is one, when something does not hold
    together. A deadline that cannot be promised is no error: see :attr:`CompiledQuery.safe`.
    """
    loaded_query, plain_query = _query(query)
    loaded_vehicle, plain_vehicle = _vehicle(vehicle)
    with placed(loaded_query, loaded_vehicle):
        if not python:
            refuse_python(plain_query)
        plan = compile_query(plain_query, plain_vehicle, tell)
        if placement != LEAST_TRAFFIC:
            plan = placed_by_schedule(plain_query, plan, placement)
        reserved = tuple(reservations_of(plan, policy)) if policy is not None else ()
    return CompiledQuery(
        plan=plan,
        reservations=reserved,
        way=placement,
        loaded_query=loaded_query,
        loaded_vehicle=loaded_vehicle,
    )


def _query(given: object) -> tuple[LoadedQuery | None, Query]:
    if isinstance(given, str | PathLike):
        find_modules_beside(Path(given))
        given = load_query(Path(given))
    if isinstance(given, LoadedQuery):
        return given, given.query
    if isinstance(given, QueryBuilder):
        given = given.build()
    if not isinstance(given, Query):
        want = "a Query, a QueryBuilder, what load_query gives, or the path of a YAML file"
        raise QueryError("this is no query", got=type(given).__name__, want=want)
    return None, given


def _vehicle(given: object) -> tuple[LoadedVehicle | None, Vehicle | None]:
    if isinstance(given, str | PathLike):
        given = load_vehicle(Path(given))
    if isinstance(given, LoadedVehicle):
        return given, given.vehicle
    if isinstance(given, VehicleBuilder):
        given = given.build()
    if not isinstance(given, Vehicle | None):
        want = "a Vehicle, a VehicleBuilder, what load_vehicle gives, or the path of a YAML file"
        raise VehicleError("this is no vehicle", got=type(given).__name__, want=want)
    return None, given


# ---------------------------------------------------------------- options
#
# The compiler lies below the schedulers and knows nothing of them. So the way to a placement by a
# static schedule is: compile, schedule the plan's task graph, and compile again with every operator
# pinned where the schedule has it. The schedule's order of starts goes into the plan; the policy
# ``static`` keeps it at run time.


def placed_by_schedule(query: Query, plan: Plan, name: str) -> Plan:
    """The query compiled again, its operators where the algorithm's schedule puts them.

    PlacementError when the algorithm has no schedule; the nodes' capacities still hold, so that
    compiling may refuse the schedule's placement too."""
    algorithm = ALGORITHMS["hvlb-cc-c"] if name == FAMILY else algorithm_named(name)
    graph, network = graph_of_plan(plan)
    result = algorithm.run(Instance(graph, network), ExactAlpha())
    if result.schedule is None:
        raise PlacementError(
            f"{algorithm.name} has no schedule",
            got=str(result.failure),
            want=f"use --placement {FAMILY}, which cannot fail",
        )
    placed = compile_query(query, pinned(plan.vehicle, plan, result.schedule))
    operators = {operator.name for operator in placed.query.operators}
    starts = sorted(result.schedule.tasks, key=lambda task: (task.start, task.task))
    order = tuple(task.task for task in starts if task.task in operators)
    return replace(placed, static_order=order)


def reservations_of(plan: Plan, policy: str) -> list[str]:
    """A line for each node and each soft path; TaskSetError when the hard ones do not fit."""
    rule = overload_policy_named(policy).soft_rule
    if rule is None:
        known = [name for name, one in OVERLOAD_POLICIES.items() if one.soft_rule is not None]
        want = f"choose {' or '.join(known)}"
        raise InputError(f"{policy!r} gives no guarantee to speak of", want=want)
    lines = []
    sets = task_sets_of(plan)
    check_nodes(sets)
    rooms = soft_rooms(plan)
    for task_set in sets:
        room = soft_room(task_set)
        lines.append(
            f"{sign(True)} {task_set.name}: hard paths reserve {percent(task_set.hard_capacity)}, "
            f"{percent(room)} is left for soft load, whatever the soft load is"
        )
        engine = min(room, rooms.get(task_set.name, room))
        if engine < room:
            lines.append(
                f"  in the engine {percent(engine // 1000 * 1000)} is left: operators there are "
                "not interrupted, and hard outputs must be able to wait for one"
            )
        for one in expectations(task_set):
            chance = one.whole_jobs if rule is SoftRule.WHOLE_JOBS else one.shares
            kept = f", {percent(one.reserved)} reserved" if rule is SoftRule.SHARES else ""
            if BEYOND not in one.task:
                lines.append(f"  {one.task} asks for {percent(one.wanted)}: {chance.value}{kept}")
        beyond = [one for one in expectations(task_set) if BEYOND in one.task]
        if beyond:
            wanted = sum(one.wanted for one in beyond)
            fit = min(100.0, 100 * room / wanted)
            lines.append(
                f"  beyond the shedders {percent(wanted)} more may come: "
                f"at most {fit:.0f} % of it fits"
            )
    return lines
