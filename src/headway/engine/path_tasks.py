"""Which task a tuple's job belongs to, how much work it brings (ROP-EDF figure 3), and what a
source may bring at all.

Tasks are the operator paths of :mod:`headway.schedule.overload.plan_paths`. A tuple that comes to a
path on a node is a job there, and stays the same job through the trains of that path on the node.
(a) Operators in a row are one train. (b) A train behind several sources belongs to the path of the
source that its tuple came from. (c) Behind a branch the key path goes on with the job; each other
branch is a task, and begins a job, of its own. What a gathering operator runs is a job of its own,
too: it has other tuples in it than the one that set it off.

The capacity of hard paths is that of the declared rates, so a hard output is only as safe as they
are true. A tuple that comes earlier than they allow is not given to trains that a hard output
needs; it is listed as rejected. Soft trains may still take it, as a job that has to be admitted, as
far as neither they nor what follows them sends anything over a bus: there nothing is reserved.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.compiler.latency.job_flows import work_of
from headway.compiler.latency.soft_room import is_soft, soft_rooms
from headway.compiler.latency.verdict import graph_with_partners
from headway.engine.declared_limits import RateWatch, rate_text
from headway.engine.kernel import Outlet
from headway.engine.program import RunProgram, Unit
from headway.model.graph import Graph
from headway.model.plan import Plan
from headway.model.quantities import ArrivalCurve
from headway.model.query import Criticality
from headway.model.taskset import FULL, TaskKind
from headway.schedule.online.reservation import TaskFacts
from headway.schedule.overload.plan_paths import (
    BEYOND,
    OperatorPath,
    check_nodes,
    operator_paths,
    task_sets_of,
)
from headway.schedule.overload.simulate import facts_of


@dataclass(frozen=True, slots=True)
class PathPlace:
    """Where a job belongs: a task on a node, behind so many gatherings."""

    node: str
    task: int
    hard: bool
    stage: int


@dataclass(frozen=True, slots=True)
class JobWork:
    """What a job brings to a node at most, by declared costs, decisions included (ns)."""

    once: int
    """paid once by a gathering head"""
    each: int
    """for each tuple"""
    bounded: bool
    """no join on the way makes pairs that are charged to the tuples of its other side"""
    last: int
    """relative deadline of the last train of the path on this node"""

    def of(self, items: int) -> int:
        return self.once + items * self.each


class PathTasks:
    """The tasks of all nodes of a plan; TaskSetError when the hard ones of a node do not fit."""

    def __init__(self, plan: Plan, program: RunProgram) -> None:
        self._program = program
        self._graph = graph = graph_with_partners(plan)
        sets = task_sets_of(plan)
        check_nodes(sets)
        self.facts: dict[str, list[TaskFacts]] = {}
        for one in sets:
            declared = [task for task in one.tasks if BEYOND not in task.name]
            self.facts[one.name] = facts_of(declared)
        rooms, taken = soft_rooms(plan), {one.name: one.hard_capacity for one in sets}
        self.overheads = {
            node: max(0, FULL - taken.get(node, 0) - room) for node, room in rooms.items()
        }
        """α of each node: what stays free because operators are not interrupted"""
        owner = {
            (name, path.source.name): path
            for path in operator_paths(plan)
            for name in path.operators
        }
        stages = _stages(program)
        self._places: dict[tuple[int, str], PathPlace] = {}
        for unit in program.units:
            if unit.free:
                continue
            for source in graph.sources_before(unit.operators[0]):
                path = owner[unit.operators[0], source]
                hard = path.kind is TaskKind.HARD
                number = self._number(unit.node, path)
                place = PathPlace(unit.node, number, hard, stages[unit.operators[0]])
                self._places[unit.index, source] = place
        self._first_source = [graph.sources_before(unit.operators[0])[0] for unit in program.units]
        self._works: dict[tuple[int, str, str], JobWork] = {}

    def _number(self, node: str, path: OperatorPath) -> int:
        """The task of a path on a node; a path that declares to bring nothing gets one, too."""
        facts = self.facts.setdefault(node, [])
        names = [task.name for task in facts]
        if path.name not in names:
            hard = path.kind is TaskKind.HARD
            facts.append(TaskFacts(path.name, hard, path.window, path.window, 0, 0))
            return len(names)
        return names.index(path.name)

    def place(self, unit: Unit, source: str | None) -> PathPlace:
        """The task of a tuple from a source (none: what a timer or a window made) before a unit
        that costs something."""
        return self._places[unit.index, source or self._first_source[unit.index]]

    def work(self, unit: Unit, port: str, source: str | None) -> JobWork:
        """What a job that enters by this unit and port brings, on this node."""
        source = source or self._first_source[unit.index]
        found = self._works.get((unit.index, port, source))
        if found is None:
            streams = {one.port: one.stream for one in unit.head.inputs}
            entry = streams.get(port, unit.head.inputs[0].stream)
            found = self._works[unit.index, port, source] = self._work(unit, entry, source)
        return found

    def _work(self, unit: Unit, entry: str, source: str) -> JobWork:
        own = work_of(unit.task, entry, self._graph, self._program.nodes[unit.node])
        each, last = own.per_tuple, unit.task.relative_deadline
        results, bounded = self._results(unit, entry)
        place = self._places[unit.index, source]
        for following, _ in self._program.entering.get((unit.stream, unit.node), []):
            if self._places.get((following.index, source)) == place:
                more = self._work(following, unit.stream, source)
                each += results * more.each
                last = max(last, more.last)
                bounded = bounded and more.bounded
        return JobWork(own.per_execution, each, bounded, last)

    def _results(self, unit: Unit, entry: str) -> tuple[int, bool]:
        """How many tuples leave the unit for one that enters, and whether that is a bound."""
        results, bounded = 1, True
        for name in unit.operators:
            operator = self._graph.operators[name]
            most = operator.most_results(entry)
            if not operator.has_bound or (operator.partner_limit is not None and most == 0):
                bounded = False
            results *= max(1, most)
            entry = name
        return results, bounded


def _stages(program: RunProgram) -> dict[str, int]:
    """Gatherings on the way to and in each operator."""
    stages = dict.fromkeys(program.graph.sources, 0)
    for name in program.graph.order:
        operator = program.graph.operators[name]
        stages[name] = max(stages[s] for s in operator.streams) + (operator.gathering is not None)
    return stages


# -------------------------------------------------------------------- declared rates


class Policer:
    """Whether a tuple at this time still keeps to all rates of an arrival curve
    (:class:`~headway.engine.declared_limits.RateWatch`); one that does not takes no place."""

    def __init__(self, curve: ArrivalCurve) -> None:
        self._watches = [RateWatch(rate) for rate in curve.rates]

    def lets_in(self, now: int) -> bool:
        """Decides on a tuple that comes now, and counts it if it may."""
        if any(now < watch.earliest[0] for watch in self._watches):
            return False
        for watch in self._watches:
            watch.arrived(now)
        return True


class Entrance:
    """A source that a hard path begins at."""

    def __init__(self, curve: ArrivalCurve, wire: Outlet, program: RunProgram) -> None:
        self.policer = Policer(curve)
        graph = program.graph
        self.takers = [(u, port) for u, port in wire.units if _soft_and_here(u, graph, program)]
        """soft trains that may take what is beyond the rate"""
        self.sinks = [
            sink
            for name, sink in zip(wire.output_names, wire.outputs, strict=True)
            if graph.outputs[name].criticality is Criticality.SOFT
        ]
        self.reason = f"beyond the declared rate ({rate_text(curve.sustained)}) of a hard path"


def _soft_and_here(unit: Unit, graph: Graph, program: RunProgram) -> bool:
    """Whether the unit serves soft outputs only, and all that follows it runs on its node."""
    if not is_soft(unit.task, graph):
        return False
    node_of = {name: one.node for one in program.units for name in one.operators}
    reached, pending = set(unit.operators), list(unit.operators)
    while pending:
        new = set(graph.consumers[pending.pop()]) - reached
        reached |= new
        pending += new
    return all(node_of[name] == unit.node for name in reached)
