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

from headway.compiler.latency.job_flows import work_of
from headway.compiler.latency.soft_room import is_soft, needed_by_hard, soft_rooms
from headway.compiler.latency.verdict import graph_with_partners
from headway.engine.declared_limits import rate_text
from headway.engine.program import RunProgram, Unit
from headway.engine.reserved_paths import Entrance, JobWork, PathPlace, ReservedPaths
from headway.model.graph import Graph
from headway.model.plan import Plan
from headway.model.query import Criticality
from headway.model.taskset import FULL, TaskKind
from headway.schedule.online.reservation import TaskFacts
from headway.schedule.overload.one_processor import facts_of
from headway.schedule.overload.plan_paths import (
    BEYOND,
    OperatorPath,
    check_nodes,
    operator_paths,
    task_sets_of,
)


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
            if unit.declares_nothing:
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

    def tables(self) -> ReservedPaths:
        """All of it, by names."""
        program, graph = self._program, self._program.graph
        named = [(unit, source) for unit in program.units for source in graph.sources]
        placed = [(u, source) for u, source in named if (u.index, source) in self._places]
        return ReservedPaths(
            sources=tuple(graph.sources),
            facts={node: tuple(facts) for node, facts in self.facts.items()},
            overheads=self.overheads,
            places={(u.name, source): self._places[u.index, source] for u, source in placed},
            works={
                (u.name, port, source): self.work(u, port, source)
                for u, source in placed
                for port in ("", *(one.port for one in u.head.inputs))
            },
            first_source={u.name: self._first_source[u.index] for u in program.units},
            entrances={
                name: _entrance(name, program)
                for name, source in graph.sources.items()
                if source.arrivals is not None and needed_by_hard(name, graph)
            },
        )


def _stages(program: RunProgram) -> dict[str, int]:
    """Gatherings on the way to and in each operator."""
    stages = dict.fromkeys(program.graph.sources, 0)
    for name in program.graph.order:
        operator = program.graph.operators[name]
        stages[name] = max(stages[s] for s in operator.streams) + (
            operator.gathering is not None or operator.clock is not None
        )
    return stages


# -------------------------------------------------------------------- declared rates


def _entrance(source: str, program: RunProgram) -> Entrance:
    graph = program.graph
    curve = graph.sources[source].arrivals
    assert curve is not None
    entering = [
        (unit, port)
        for (stream, _), units in program.entering.items()
        if stream == source
        for unit, port in units
    ]
    return Entrance(
        units=tuple(
            (unit.name, port) for unit, port in entering if _soft_and_here(unit, graph, program)
        ),
        outputs=tuple(
            name
            for name in graph.outputs_of[source]
            if graph.outputs[name].criticality is Criticality.SOFT
        ),
        reason=f"beyond the declared rate ({rate_text(curve.sustained)}) of a hard path",
    )


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
