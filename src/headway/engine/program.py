"""What runs: trains or single operators as the policy wants them, assembled from a plan.

A *unit* is what a node schedules as one. :func:`build_program` makes the units of all nodes;
:func:`assemble` those of given tasks, which is all that a node's executable needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from headway.engine.operators.fused import Fused, is_stateless
from headway.engine.operators.implementations import build_stateful, steps_of
from headway.engine.operators.operator_base import BatchOperator, StatefulOperator
from headway.engine.operators.sample import Sampling
from headway.engine.operators.user_defined import CustomOperator, Gathering
from headway.model.graph import Graph, graph_of
from headway.model.operators import Operator
from headway.model.plan import Plan, Task
from headway.model.quantities import SECOND, Cost
from headway.model.schema import Schema
from headway.model.vehicle import Node
from headway.schedule.online.policy import (
    KeyFunction,
    Policy,
    RankFunction,
    RerankingPolicy,
    UnitFacts,
)

if TYPE_CHECKING:
    from headway.engine.execution_times import UnitTimes

FREE = Cost(0)

BuildOperator = Callable[[Operator, Mapping[str, Schema]], StatefulOperator]
"""(operator, schemas of all streams) -> what keeps its state"""


@dataclass(frozen=True, slots=True)
class StaticOrder:
    """By task name. ``rank`` is topological with the branch to the shorter deadline first;
    ``position`` that of the plan's static schedule, or the rank. The others as in
    :class:`~headway.schedule.online.policy.UnitFacts`."""

    rank: dict[str, int]
    position: dict[str, int]
    level: dict[str, int]
    capacity: dict[str, float]
    chain: dict[str, int]
    query_deadline: dict[str, int]

    def of(self, names: Collection[str]) -> StaticOrder:
        """The order of some of the tasks."""
        return StaticOrder(
            rank={name: self.rank[name] for name in names},
            position={name: self.position[name] for name in names},
            level={name: self.level[name] for name in names},
            capacity={name: self.capacity[name] for name in names},
            chain={name: self.chain[name] for name in names},
            query_deadline={name: self.query_deadline[name] for name in names},
        )


# -------------------------------------------------------------------- units


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


@dataclass(frozen=True, slots=True)
class Refining:
    """The optional part of a unit's last operator on its node: so many pieces of that time."""

    place: int
    """index of the operator in the train"""
    pieces: int
    piece: int


@dataclass(slots=True, eq=False)
class Flight:
    """A job or message under way; ``landed`` when it is done."""

    landed: bool = False


Flights = list[tuple[int, int, Flight]]
"""(timestamp, number, what is under way) as a heap"""


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
    facts: UnitFacts
    speed: Fraction | int = 1
    """of its node"""
    times: UnitTimes | None = None
    """what its executions take, where it is not always the declared cost"""
    rank: RankFunction | None = None
    """in place of ``key`` where the policy ranks jobs again"""
    gathering: Gathering | None = None
    sampling: Sampling | None = None
    place: int = 0
    """of its head among the operators, producers first"""
    custom: BatchOperator | None = None
    base_cost: int = 0
    item_cost: int = 0
    between_items: bool = False
    by_items: bool = False
    """whether its head can really stop between them"""
    refining: Refining | None = None
    name: str = field(init=False)
    cost: int = field(init=False)
    spent: tuple[int, ...] = field(init=False)
    whole: Fused | None = field(init=False)
    """the one fused function that is the whole train, to run it at once"""
    stream: str = field(init=False)
    free: bool = field(init=False)
    """whether its jobs take no time at all"""
    ran: list[int] = field(init=False)
    """how many tuples ran through n operators, by n, where the whole train ran at once"""
    flights: Flights | None = None
    """jobs under way, if windows after it must wait for them"""
    oldest: tuple[int, bool] | None = None
    """timestamp and late mark of the oldest tuple in the batch being gathered"""

    def __post_init__(self) -> None:
        self.name = self.task.name
        total = [0]
        for cost in self.costs:
            total.append(total[-1] + cost)
        self.spent = tuple(total)
        self.cost = total[-1]
        alone = len(self.steps) == 1 and self.gathering is None and self.sampling is None
        self.whole = self.steps[0].fused if alone else None
        self.stream = self.task.operators[-1]
        self.free = self.cost == 0
        self.ran = [0] * (len(self.costs) + 1)

    @property
    def operators(self) -> tuple[str, ...]:
        return self.task.operators

    @property
    def declares_nothing(self) -> bool:
        """Whether its declared cost is nothing; where time passes by itself it takes some."""
        return not (self.cost or self.base_cost or self.item_cost)


@dataclass(slots=True)
class RunProgram:
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
    build: BuildOperator = build_stateful,
) -> RunProgram:
    """The units that run these tasks. ``charged`` off gives every operator the cost nothing.

    Operators ``apart`` are not fused with their neighbours; other nodes want to know how far time
    has come on the streams ``leaving``. ``build`` makes the operators that keep state: one who only
    wants to know how a program is laid out needs nothing that runs.
    """
    graph = graph_of(plan.query)
    schemas = dict(plan.schemas)
    nodes = {node.name: node for node in plan.vehicle.nodes}
    stateful = {
        name: build(operator, schemas)
        for name, operator in graph.operators.items()
        if not is_stateless(operator)
    }

    def cost_of(operator: Operator, node: Node) -> Cost:
        return (operator.cost or FREE) if charged else FREE

    units = [
        _unit(
            index,
            task,
            graph,
            schemas,
            stateful,
            nodes[task.node],
            policy,
            order,
            cost_of,
            apart,
            charged,
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
    return RunProgram(
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
    charged: bool,
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
        chain=order.chain[task.name],
        query_deadline=order.query_deadline[task.name],
    )
    unit = Unit(index, task, task.node, steps, costs, policy.key(facts), head, facts)
    unit.speed = node.speed
    if isinstance(policy, RerankingPolicy):
        unit.rank = policy.rank(facts)
    last, part = steps[-1], operators[-1].optional_part
    if part is not None and not graph.consumers[operators[-1].name]:
        if isinstance(last.stateful, CustomOperator):  # not where a program is only laid out
            last.stateful.check_refines()
        if charged:
            unit.refining = Refining(last.first, part.pieces, part.piece_on(node.speed))
    if head.clock is not None:
        reader = stateful[head.name]
        if isinstance(reader, BatchOperator):  # not where a program is only laid out
            unit.custom = reader
        unit.sampling = Sampling([p.port for p in head.inputs], head.clock)
        unit.place = graph.order.index(head.name)
        unit.base_cost = costs[0]
        unit.whole = None
    if head.gathering is not None:
        custom = stateful[head.name]
        cost = cost_of(head, node)
        if isinstance(custom, CustomOperator):
            unit.custom = custom
            unit.by_items = cost.between_items and custom.by_items
        unit.gathering = Gathering([p.port for p in head.inputs], head.gathering)
        unit.base_cost = cost.of(0, node.speed)
        unit.item_cost = cost.of(1, node.speed) - cost.of(0, node.speed)
        unit.between_items = cost.between_items
        unit.free = unit.declares_nothing
        unit.whole = None
    return unit


def _period(task: Task, graph: Graph) -> int | None:
    clock = graph.operators[task.operators[0]].clock
    if clock is not None:
        return clock.every
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


# -------------------------------------------------------------------- order


def static_order(plan: Plan, tasks: Sequence[Task]) -> StaticOrder:
    """What policies may know of the tasks of all nodes together."""
    from headway.schedule.online.chain import chain_places
    from headway.schedule.online.rtstream import query_deadlines

    by_name = {task.name: task for task in tasks}
    ranked = _ranked(tasks)
    level: dict[str, int] = {}
    fastest_in: dict[str, int] = {}
    for name in ranked:
        task = by_name[name]
        level.setdefault(name, 0)
        fastest_in.setdefault(name, 0)
        for follower in task.successors:
            reached = level[name] + len(task.operators)
            level[follower.task] = max(level.get(follower.task, 0), reached)
            so_far = fastest_in[name] + task.cost
            fastest_in[follower.task] = min(fastest_in.get(follower.task, so_far), so_far)
    fastest_out: dict[str, int] = {}
    for name in reversed(ranked):
        task = by_name[name]
        after = [fastest_out[follower.task] for follower in task.successors]
        fastest_out[name] = task.cost + min(after, default=0)
    capacity = {name: SECOND / max(fastest_in[name] + fastest_out[name], 1) for name in ranked}
    for name in ranked:  # branches are scheduled together with the path they leave
        for follower in by_name[name].successors:
            capacity[follower.task] = max(capacity[follower.task], capacity[name])
    rank = {name: i for i, name in enumerate(ranked)}
    starts = {operator: i for i, operator in enumerate(plan.static_order)}
    position = {
        name: starts.get(by_name[name].operators[0], len(starts) + rank[name]) for name in ranked
    }
    selectivity = {name: one.selectivity for name, one in graph_of(plan.query).operators.items()}
    deadlines = {output.name: output.deadline or 0 for output in plan.query.outputs}
    return StaticOrder(
        rank=rank,
        position=position,
        level=level,
        capacity=capacity,
        chain=chain_places([by_name[name] for name in ranked], selectivity),
        query_deadline=query_deadlines(tasks, deadlines),
    )


def _ranked(tasks: Sequence[Task]) -> list[str]:
    """Reverse postorder of a depth-first walk that visits the longest deadline first."""
    by_name = {task.name: task for task in tasks}

    def children(task: Task) -> list[str]:
        later = sorted(
            enumerate(task.successors),
            key=lambda item: (by_name[item[1].task].relative_deadline, item[0]),
            reverse=True,
        )
        return [follower.task for _, follower in later]

    followed = {follower.task for task in tasks for follower in task.successors}
    roots = [task for task in tasks if task.name not in followed]
    roots.sort(key=lambda task: -task.relative_deadline)
    seen: set[str] = set()
    finished: list[str] = []
    for root in roots:
        stack = [(root.name, iter(children(root)))]
        if root.name in seen:
            continue
        seen.add(root.name)
        while stack:
            name, rest = stack[-1]
            child = next((c for c in rest if c not in seen), None)
            if child is None:
                finished.append(name)
                stack.pop()
            else:
                seen.add(child)
                stack.append((child, iter(children(by_name[child]))))
    return finished[::-1]


# -------------------------------------------------------------------- of a whole plan


def tasks_for(plan: Plan, policy: Policy) -> tuple[tuple[Task, ...], StaticOrder]:
    """The tasks of all nodes under a policy (trains or single operators) and their static order."""
    tasks = plan.scheduled(trains=policy.fuse)
    return tasks, static_order(plan, tasks)


def build_program(
    plan: Plan,
    policy: Policy,
    *,
    charged: bool = True,
    apart: Collection[str] = (),
    build: BuildOperator = build_stateful,
) -> RunProgram:
    """The units of all nodes. ``charged`` off gives every operator the cost nothing: the meaning
    of the query (design: a run on an infinitely fast machine)."""
    tasks, order = tasks_for(plan, policy)
    return assemble(plan, policy, tasks, order, charged=charged, apart=apart, build=build)
