"""What a node schedules: trains or single operators, ready to run, wired to what follows them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from headway.model.graph import Graph, graph_of
from headway.model.operators import Operator
from headway.model.plan import Plan, Task
from headway.model.quantities import Cost
from headway.model.schema import Schema
from headway.model.vehicle import Node
from headway.runtime.backlog import Backlog
from headway.runtime.operators.base import StatefulOperator
from headway.runtime.operators.build import build_stateful, steps_of
from headway.runtime.operators.custom import CustomOperator
from headway.runtime.operators.fused import Fused, is_stateless
from headway.runtime.operators.gather import Gathering
from headway.runtime.static_order import StaticOrder
from headway.schedule.online.policy import (
    KeyFunction,
    Policy,
    RankFunction,
    RerankingPolicy,
    UnitFacts,
)

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
class Flight:
    """A job or message under way; ``landed`` when it is done."""

    landed: bool = False


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
    rank: RankFunction | None = None
    """in place of ``key`` where the policy ranks jobs again"""
    gathering: Gathering | None = None
    custom: CustomOperator | None = None
    base_cost: int = 0
    item_cost: int = 0
    between_items: bool = False
    name: str = field(init=False)
    cost: int = field(init=False)
    spent: tuple[int, ...] = field(init=False)
    whole: Fused | None = field(init=False)
    """the one fused function that is the whole train, for the fast way"""
    stream: str = field(init=False)
    free: bool = field(init=False)
    """whether its jobs take no time at all"""
    ran: list[int] = field(init=False)
    """how many tuples ran through n operators, by n (for the fast way)"""
    flights: list[tuple[int, int, Flight]] | None = None
    """(timestamp, number, job under way) as a heap, if windows after it must wait for its jobs"""
    backlog: Backlog = field(default_factory=Backlog)
    """tuples that wait to run as a batch"""
    oldest: tuple[int, bool] | None = None
    """timestamp and late mark of the oldest tuple in the batch being gathered"""

    def __post_init__(self) -> None:
        self.name = self.task.name
        total = [0]
        for cost in self.costs:
            total.append(total[-1] + cost)
        self.spent = tuple(total)
        self.cost = total[-1]
        alone = len(self.steps) == 1 and self.gathering is None
        self.whole = self.steps[0].fused if alone else None
        self.stream = self.task.operators[-1]
        self.free = self.cost == 0
        self.ran = [0] * (len(self.costs) + 1)

    @property
    def operators(self) -> tuple[str, ...]:
        return self.task.operators


@dataclass(slots=True)
class Program:
    """Everything of a plan that runs, under one policy."""

    graph: Graph
    schemas: Mapping[str, Schema]
    units: list[Unit]
    entering: dict[tuple[str, str], list[tuple[Unit, str]]]
    """(stream, node) -> the units there that it enters, and by which port"""
    stateful: dict[str, StatefulOperator]
    windows: Windows
    nodes: dict[str, Node]


def assemble(
    plan: Plan,
    policy: Policy,
    tasks: Sequence[Task],
    order: StaticOrder,
    *,
    charged: bool = True,
    apart: Collection[str] = (),
    leaving: Collection[str] = (),
) -> Program:
    """The units that run these tasks. ``charged`` off gives every operator the cost nothing.

    Operators ``apart`` are not fused with their neighbours; other nodes want to know how far time
    has come on the streams ``leaving``.
    """
    graph = graph_of(plan.query)
    schemas = dict(plan.schemas)
    nodes = {node.name: node for node in plan.vehicle.nodes}
    stateful = {
        name: build_stateful(operator, schemas)
        for name, operator in graph.operators.items()
        if not is_stateless(operator)
    }

    def cost_of(operator: Operator, node: Node) -> Cost:
        return (operator.cost or FREE) if charged else FREE

    units = [
        _unit(
            index, task, graph, schemas, stateful, nodes[task.node], policy, order, cost_of, apart
        )
        for index, task in enumerate(tasks)
    ]
    entering: dict[tuple[str, str], list[tuple[Unit, str]]] = {}
    declared = {name: place for place, name in enumerate(graph.operators)}

    def turn(unit: Unit) -> int:
        """Where nothing costs anything, consumers go in the query's order: no policy, deadline or
        other consumer must change the meaning of a query."""
        return order.rank[unit.task.name] if charged else declared[unit.head.name]

    for unit in sorted(units, key=turn):
        for port in unit.head.inputs:
            if port.stream in unit.task.entries:
                entering.setdefault((port.stream, unit.node), []).append((unit, port.port))
    return Program(
        graph=graph,
        schemas=schemas,
        units=units,
        entering=entering,
        stateful=stateful,
        windows=windows_of(graph, units, stateful, leaving),
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
    apart: Collection[str],
) -> Unit:
    operators = [graph.operators[name] for name in task.operators]
    head = operators[0]
    costs = tuple(cost_of(operator, node).worst(node.speed) for operator in operators)
    steps: list[Step] = []
    position = 0
    for built in steps_of(operators, schemas, stateful, apart):
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
        cost=sum(costs),
        period=_period(task, graph),
        rank=order.rank[task.name],
        position=order.position[task.name],
        level=order.level[task.name],
        capacity=order.capacity[task.name],
    )
    unit = Unit(index, task, task.node, steps, costs, policy.key(facts), head)
    if isinstance(policy, RerankingPolicy):
        unit.rank = policy.rank(facts)
    if head.gathering is not None:
        custom = stateful[head.name]
        assert isinstance(custom, CustomOperator)
        cost = cost_of(head, node)
        unit.custom = custom
        unit.gathering = Gathering([p.port for p in head.inputs], head.gathering)
        unit.base_cost = cost.of(0, node.speed)
        unit.item_cost = cost.of(1, node.speed) - cost.of(0, node.speed)
        unit.between_items = cost.between_items
        unit.free = unit.free and not unit.base_cost and not unit.item_cost
        unit.whole = None
    return unit


def _period(task: Task, graph: Graph) -> int | None:
    curves = [graph.sources[name].arrivals for name in graph.sources_before(task.operators[0])]
    periods = [curve.sustained.period for curve in curves if curve is not None]
    return min(periods) if periods and len(periods) == len(curves) else None


@dataclass(slots=True)
class Windows:
    """The operators whose state depends on how far time has come, and what lies before them."""

    order: tuple[str, ...]
    """operators before or among them, in topological order"""
    aggregates: tuple[tuple[Unit, StatefulOperator], ...]
    joins: tuple[StatefulOperator, ...]
    units: dict[str, tuple[Unit, ...]]
    """operator -> the units it stands in"""

    def __bool__(self) -> bool:
        return bool(self.order)


def windows_of(
    graph: Graph,
    units: list[Unit],
    stateful: Mapping[str, StatefulOperator],
    leaving: Collection[str] = (),
) -> Windows:
    """The joins and aggregates, and the operators before them; their units note jobs under way.
    So do those before streams ``leaving`` for windows elsewhere."""
    traits = {name: operator.traits for name, operator in graph.operators.items()}
    windowed = [n for n in graph.order if traits[n].drops_late or traits[n].emits_on_time]
    pending = [*windowed, *(name for name in leaving if name in graph.operators)]
    before = set(pending)
    while pending:
        for stream in graph.operators[pending.pop()].streams:
            if stream in graph.operators and stream not in before:
                before.add(stream)
                pending.append(stream)
    within = {name: tuple(u for u in units if name in u.operators) for name in before}
    for unit in units:
        if not before.isdisjoint(unit.operators):
            unit.flights = []
    heads = {unit.operators[0]: unit for unit in units}
    return Windows(
        order=tuple(name for name in graph.order if name in before),
        aggregates=tuple((heads[n], stateful[n]) for n in windowed if traits[n].emits_on_time),
        joins=tuple(stateful[n] for n in windowed if not traits[n].emits_on_time),
        units=within,
    )
