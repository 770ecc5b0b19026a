"""What the passes hand on to each other: a value that grows, pass by pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headway.model.graph import Graph
from headway.model.plan import Crossing, NodeQuery, Plan, Task, Verdict
from headway.model.query import Query
from headway.model.schema import Schema
from headway.model.vehicle import Vehicle


@dataclass(frozen=True, slots=True)
class PortCheck:
    """A stream given to a component's input must have the shape the component declares."""

    stream: str
    schema: Schema
    at: str


def silent(text: str) -> None:
    """For who does not want to hear what is being done."""


@dataclass(frozen=True, kw_only=True)
class Compilation:
    """The state of one compilation. Fields are filled by the pass named in their comment."""

    query: Query
    vehicle: Vehicle
    timed: bool
    """False without a vehicle: costs and rates are not needed and no verdict is given."""
    graph: Graph = field(default_factory=lambda: Graph({}, {}, {}, {}, {}))  # expand
    origins: Mapping[str, str] = field(default_factory=dict)
    """expand: operator -> its dotted path in the file it was written in"""
    port_checks: tuple[PortCheck, ...] = ()  # expand
    schemas: Mapping[str, Schema] = field(default_factory=dict)  # infer
    rates: Mapping[str, float] = field(default_factory=dict)  # rates: tuples per second by stream
    placement: Mapping[str, str] = field(default_factory=dict)  # place: operator or source -> node
    routes: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """place: (stream, receiving node) -> the buses, gateways and links passed on the way"""
    node_queries: tuple[NodeQuery, ...] = ()  # split
    crossings: tuple[Crossing, ...] = ()  # split
    tasks: tuple[Task, ...] = ()  # trains, then deadlines
    operator_tasks: tuple[Task, ...] = ()  # trains, then deadlines
    verdict: Verdict | None = None  # judge
    tell: Callable[[str], None] = field(default=silent, repr=False, compare=False)
    """hears what a pass that takes long is doing"""


Pass = Callable[[Compilation], Compilation]


def plan_of(compilation: Compilation) -> Plan:
    """The finished compilation as one value."""
    return Plan(
        query=compilation.query,
        vehicle=compilation.vehicle,
        schemas=tuple(compilation.schemas.items()),
        placement=tuple(compilation.placement.items()),
        node_queries=compilation.node_queries,
        crossings=compilation.crossings,
        tasks=compilation.tasks,
        operator_tasks=compilation.operator_tasks,
        verdict=compilation.verdict,
    )
