"""What a node schedules: trains or single operators, ready to run, wired to what follows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headway.compile.deadlines import with_deadlines
from headway.compile.trains import form_tasks
from headway.model.cost import Cost
from headway.model.graph import Graph, graph_of
from headway.model.operators import Aggregate, Fusion, Join, Operator, UserDefined
from headway.model.plan import Plan, Task
from headway.model.schema import Schema
from headway.model.vehicle import Node
from headway.runtime.operators.base import StatefulOperator
from headway.runtime.operators.build import build_stateful, steps_of
from headway.runtime.operators.custom import CustomOperator
from headway.runtime.operators.fused import Fused
from headway.runtime.operators.gather import Gathering
from headway.runtime.static_order import StaticOrder, static_order
from headway.schedule.online import Policy, UnitFacts
from headway.schedule.online.policy import KeyFunction

FREE = Cost(0)


@dataclass(slots=True)
class Step:
    """A part of a train: fused stateless operators, or one stateful operator entered by
    ``port``."""

    fused: Fused | None
    stateful: StatefulOperator | None
    port: str
    first: int
    """index of its first operator in the train"""
    costs: tuple[int, ...]
    """computation time of each operator, per tuple"""


@dataclass(slots=True, eq=False)
class Unit:
    """A train (or operator) on a node. ``key`` orders its jobs; ``cost`` is that of one tuple
    through all of it; ``spent[n]`` the time when n of its operators ran."""

    index: int
    task: Task
    node: str
    steps: list[Step]
    costs: tuple[int, ...]
    key: KeyFunction
    head: Operator
    gathering: Gathering | None = None
    custom: CustomOperator | None = None
    base_cost: int = 0
    item_cost: int = 0
    between_items: bool = False
    cost: int = field(init=False)
    spent: tuple[int, ...] = field(init=False)
    whole: Fused | None = field(init=False)
    """the one fused function that is the whole train, for the fast way"""
    stream: str = field(init=False)
    ran: list[int] = field(init=False)
    """how many tuples ran through n operators, by n (for the fast way)"""
    watched: tuple[Aggregating, ...] = ()
    """aggregates behind this unit, whose windows must not close before its jobs are done"""

    def __post_init__(self) -> None:
        total = [0]
        for cost in self.costs:
            total.append(total[-1] + cost)
        self.spent = tuple(total)
        self.cost = total[-1]
        alone = len(self.steps) == 1 and self.gathering is None
        self.whole = self.steps[0].fused if alone else None
        self.stream = self.task.operators[-1]
        self.ran = [0] * (len(self.costs) + 1)

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def operators(self) -> tuple[str, ...]:
        return self.task.operators


@dataclass(slots=True, eq=False)
class Aggregating:
    """An aggregate and what its windows wait for."""

    unit: Unit
    operator: StatefulOperator
    sources: tuple[str, ...]
    flights: list[tuple[int, int, Flight]] = field(default_factory=list)
    """(timestamp, number, job under way) of the units before it, as a heap"""
    told: int | None = None


@dataclass(slots=True, eq=False)
class Flight:
    """A job or message under way; ``landed`` when it is done."""

    landed: bool = False


@dataclass(slots=True)
class Program:
    """Everything of a plan that runs, under one policy."""

    graph: Graph
    schemas: Mapping[str, Schema]
    units: list[Unit]
    entering: dict[tuple[str, str], list[tuple[Unit, str]]]
    """(stream, node) -> the units there that it enters, and by which port"""
    stateful: dict[str, StatefulOperator]
    aggregates: list[Aggregating]
    nodes: dict[str, Node]


def build_program(plan: Plan, policy: Policy, *, charged: bool = True) -> Program:
    """The units of all nodes. ``charged`` off gives every operator the cost nothing: the meaning
    of the query (design: a run on an infinitely fast machine)."""
    graph = graph_of(plan.query)
    schemas = dict(plan.schemas)
    placement = dict(plan.placement)
    nodes = {node.name: node for node in plan.vehicle.nodes}
    tasks = with_deadlines(
        form_tasks(graph, placement, plan.vehicle, fuse=policy.fuse), graph, plan.crossings
    )
    stateful = {
        name: build_stateful(operator, schemas)
        for name, operator in graph.operators.items()
        if isinstance(operator, Join | Aggregate | UserDefined | Fusion)
    }
    order = static_order(graph, tasks)

    def cost_of(operator: Operator, node: Node) -> Cost:
        return (operator.cost or FREE) if charged else FREE

    units = [
        _unit(index, task, graph, schemas, stateful, nodes[task.node], policy, order, cost_of)
        for index, task in enumerate(tasks)
    ]
    entering: dict[tuple[str, str], list[tuple[Unit, str]]] = {}
    for unit in sorted(units, key=lambda unit: order.rank[unit.task.name]):
        for port in unit.head.inputs:
            if port.stream in unit.task.entries:
                entering.setdefault((port.stream, unit.node), []).append((unit, port.port))
    return Program(
        graph=graph,
        schemas=schemas,
        units=units,
        entering=entering,
        stateful=stateful,
        aggregates=_aggregates(graph, units, stateful),
        nodes=nodes,
    )


def _unit(
    index: int,
    task: Task,
    graph: Graph,
    schemas: Mapping[str, Schema],
    stateful: Mapping[str, StatefulOperator],
    node: Node,
    policy: Policy,
    order: StaticOrder,
    cost_of: Callable[[Operator, Node], Cost],
) -> Unit:
    operators = [graph.operators[name] for name in task.operators]
    head = operators[0]
    costs = tuple(cost_of(operator, node).worst(node.speed) for operator in operators)
    steps: list[Step] = []
    position = 0
    for built in steps_of(operators, schemas, stateful):
        count = len(built.operators) if isinstance(built, Fused) else 1
        before = operators[position - 1].name if position else ""
        port = next((p.port for p in operators[position].inputs if p.stream == before), "")
        steps.append(
            Step(
                fused=built if isinstance(built, Fused) else None,
                stateful=built if isinstance(built, StatefulOperator) else None,
                port=port,
                first=position,
                costs=costs[position : position + count],
            )
        )
        position += count
    facts = UnitFacts(
        deadline=task.relative_deadline,
        rank=order.rank[task.name],
        level=order.level[task.name],
        capacity=order.capacity[task.name],
    )
    unit = Unit(index, task, task.node, steps, costs, policy.key(facts), head)
    if isinstance(head, UserDefined | Fusion) and head.timeout is not None:
        custom = stateful[head.name]
        assert isinstance(custom, CustomOperator)
        cost = cost_of(head, node)
        unit.custom = custom
        unit.gathering = Gathering([p.port for p in head.inputs], head.gather)
        unit.base_cost = cost.of(0, node.speed)
        unit.item_cost = cost.of(1, node.speed) - cost.of(0, node.speed)
        unit.between_items = cost.between_items
        unit.whole = None
    return unit


def _aggregates(
    graph: Graph, units: list[Unit], stateful: Mapping[str, StatefulOperator]
) -> list[Aggregating]:
    """The aggregates in topological order, each known to the units before it."""
    found = []
    heads = {unit.task.operators[0]: unit for unit in units}
    for name in graph.order:
        if not isinstance(graph.operators[name], Aggregate):
            continue
        before = _upstream(graph, name)
        aggregating = Aggregating(
            unit=heads[name],
            operator=stateful[name],
            sources=tuple(s for s in graph.sources if s in before),
        )
        for unit in units:
            if unit is aggregating.unit or unit.stream in before:
                unit.watched = (*unit.watched, aggregating)
        found.append(aggregating)
    return found


def _upstream(graph: Graph, name: str) -> set[str]:
    seen: set[str] = set()
    pending = list(graph.operators[name].streams)
    while pending:
        stream = pending.pop()
        if stream not in seen:
            seen.add(stream)
            if stream in graph.operators:
                pending += graph.operators[stream].streams
    return seen
