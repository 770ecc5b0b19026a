"""Plans from files: read, and held to all that the compiler guarantees of one.

Somebody may have edited the file, or it is damaged. Its query and vehicle are checked like those a
person wrote, its typed trees against the columns; and since a plan follows from its query, its
vehicle, the placement and the routes, whatever follows is derived again and compared. Nothing is
parsed and nothing is placed. What cannot be derived cheaply, the latency bounds, is taken as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from typing import Any

from headway.compiler.check_query import query_problems
from headway.compiler.check_vehicle import vehicle_problems
from headway.compiler.compilation import Compilation
from headway.compiler.deadlines import deadlines
from headway.compiler.latency.verdict import loads_of
from headway.compiler.node_queries import split
from headway.compiler.schemas import infer
from headway.compiler.trains import trains
from headway.compiler.utilisation import rates
from headway.errors import FileError, InputError, Problem
from headway.model.codec import plan_from_json
from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.query import ComponentUse, Criticality
from headway.model.routes import architecture_of

AGAIN = "compile the query again"


def read_plan(text: str, name: str = "plan.json") -> Plan:
    """The plan in a text; FileError with the place of what does not fit."""
    plan = plan_from_json(text, name)
    for check in _CHECKS:
        # One after the other: each may rely on what those before have asked.
        if problems := list(check(plan)):
            raise FileError(_told(problem, name) for problem in problems[:5])
    return plan


def _told(problem: Problem, name: str) -> Problem:
    want = problem.want
    if AGAIN not in want:
        want = f"{want}, or {AGAIN}" if want else AGAIN
    return replace(problem, at=f"{name}: {problem.at}" if problem.at else name, want=want)


# ------------------------------------------------------------
# What is declared: vehicle, query, schemas.


def _declared(plan: Plan) -> Iterator[Problem]:
    yield from (problem.within("vehicle") for problem in vehicle_problems(plan.vehicle))
    if plan.query.components or any(isinstance(s, ComponentUse) for s in plan.query.steps):
        yield Problem("a plan has operators only and no components", at="query")
        return
    timed = plan.verdict is not None
    problems = query_problems(plan.query, timed=timed, expanded=True)
    yield from (problem.within("query") for problem in problems)


def _typed(plan: Plan) -> Iterator[Problem]:
    graph = graph_of(plan.query)
    origins = {name: f"query.operators.{name}" for name in graph.operators}
    compilation = Compilation(
        query=plan.query, vehicle=plan.vehicle, timed=False, graph=graph, origins=origins
    )
    try:
        compilation = infer(compilation)
    except InputError as error:
        yield from error.problems
        return
    if compilation.query != plan.query:
        yield Problem("an expression lacks its typed tree", at="query")
    yield from _differing("schemas", plan.schemas, tuple(compilation.schemas.items()))


# ------------------------------------------------------------
# What was decided: placement, routes, a static order.


def _placed(plan: Plan) -> Iterator[Problem]:
    nodes = {node.name for node in plan.vehicle.nodes}
    streams = [source.name for source in plan.query.sources]
    streams += [operator.name for operator in plan.query.operators]
    yield from _exactly("placement", [name for name, _ in plan.placement], streams)
    kept = dict((*plan.vehicle.sensors, *plan.vehicle.pins))
    for place, (name, node) in enumerate(plan.placement):
        if node not in nodes:
            yield Problem(f"unknown node {node!r}", at=f"placement.{place}.1")
        elif kept.get(name, node) != node:
            want = f"the vehicle keeps {name!r} on {kept[name]!r}"
            yield Problem(
                "not the node of the vehicle", at=f"placement.{place}.1", got=node, want=want
            )
    known = set(streams)
    unknown = [name for name in plan.static_order if name not in known]
    if unknown or len(set(plan.static_order)) != len(plan.static_order):
        yield Problem("not an order of operators", at="static_order", got=", ".join(unknown[:3]))


def _routed(plan: Plan) -> Iterator[Problem]:
    graph, placement = graph_of(plan.query), dict(plan.placement)
    crossing = [
        f"{stream} to {receiver}"
        for stream, consumers in graph.consumers.items()
        for receiver in dict.fromkeys(placement[consumer] for consumer in consumers)
        if receiver != placement[stream]
    ]
    given = [f"{one.stream} to {one.receiver}" for one in plan.crossings]
    yield from _exactly("crossings", given, crossing)
    neighbours = architecture_of(plan.vehicle).neighbours
    nodes = {node.name for node in plan.vehicle.nodes}
    for number, one in enumerate(plan.crossings):
        way = [one.sender, *(hop.name for hop in one.hops), one.receiver]
        for place, (here, there) in enumerate(pairwise(way)):
            inner = place < len(one.hops)
            if there not in neighbours.get(here, ()) or (inner and there in nodes):
                at = f"crossings.{number}.hops.{place}" if inner else f"crossings.{number}.receiver"
                yield Problem(f"no way from {here!r} to {there!r}", at=at)
                break


# ------------------------------------------------------------
# What follows: low-level queries, tasks, deadlines, priorities, loads.


def _following(plan: Plan) -> Iterator[Problem]:
    compilation = Compilation(
        query=plan.query,
        vehicle=plan.vehicle,
        timed=plan.verdict is not None,
        graph=graph_of(plan.query),
        schemas=dict(plan.schemas),
        placement=dict(plan.placement),
        routes={
            (one.stream, one.receiver): tuple(hop.name for hop in one.hops)
            for one in plan.crossings
        },
    )
    derived = deadlines(trains(split(rates(compilation))))
    for field in ("node_queries", "crossings", "tasks", "operator_tasks"):
        yield from _differing(field, getattr(plan, field), getattr(derived, field))
    if plan.verdict is None:
        return
    yield from _differing("verdict.loads", plan.verdict.loads, tuple(loads_of(derived)))
    promises, outputs = plan.verdict.promises, plan.query.outputs
    at = "verdict.promises"
    yield from _exactly(at, [one.output for one in promises], [one.name for one in outputs])
    declared = tuple(
        replace(
            promise,
            output=output.name,
            deadline=output.deadline or 0,
            hard=output.criticality is Criticality.HARD,
        )
        for promise, output in zip(promises, outputs, strict=False)
    )
    yield from _differing(at, promises[: len(outputs)], declared)


_CHECKS: tuple[Callable[[Plan], Iterable[Problem]], ...] = (
    _declared,
    _typed,
    _placed,
    _routed,
    _following,
)


def _exactly(at: str, given: Sequence[str], wanted: Sequence[str]) -> Iterator[Problem]:
    """Each that is wanted, once, and nothing else."""
    counts, known = Counter(given), set(wanted)
    for place, name in enumerate(given):
        if name not in known:
            yield Problem(f"{name!r} does not belong here", at=f"{at}.{place}")
        elif counts[name] > 1:
            yield Problem(f"{name!r} is there twice", at=f"{at}.{place}")
    for name in wanted:
        if name not in counts:
            yield Problem(f"{name!r} is missing", at=at)


def _differing(at: str, given: Any, derived: Any) -> Iterator[Problem]:
    """The first place where two values of a plan differ."""
    if given == derived:
        return
    if isinstance(given, tuple | list) and isinstance(derived, tuple | list):
        for place, (one, other) in enumerate(zip(given, derived, strict=False)):
            if one != other:
                yield from _differing(f"{at}.{place}", one, other)
                return
        got, want = f"{len(given)} entries", f"{len(derived)} follow from the query and its vehicle"
        yield Problem("not what the compiler gives", at=at, got=got, want=want)
    elif is_dataclass(given) and type(given) is type(derived):
        name = next(
            field.name
            for field in fields(given)
            if getattr(given, field.name) != getattr(derived, field.name)
        )
        yield from _differing(f"{at}.{name}", getattr(given, name), getattr(derived, name))
    else:
        want = f"{derived!r:.80} follows from the query and its vehicle"
        yield Problem("not what the compiler gives", at=at, got=f"{given!r:.80}", want=want)
