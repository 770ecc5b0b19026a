"""A compiled query as tasks for overload: operator paths on each node, and paths over nodes.

Every operator path is a task (figure 3). A path leads from a source to an output. (a) Operators in
a row are one task. (b) An operator with several inputs runs for each of them, so it stands in the
path of every source. (c) Where a path branches, the output with the shortest deadline owns the
shared operators (the key path; a hard output before all soft ones), and the others begin behind the
branch. A path is hard or soft as its output is. Its job is all that a source delivers in one of its
periods; its work comes from declared costs and rates. The time that the deadline leaves after
delays, gathering and messages is divided over the path's nodes in proportion to the work there.

What a load shedder would drop are soft tasks of their own: with reservations it need not be dropped
while there is room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from headway.compiler.compilation import Compilation
from headway.compiler.utilisation import operator_load, rates
from headway.errors import TaskSetError, UnsupportedError
from headway.model.graph import Graph, graph_of
from headway.model.plan import Plan
from headway.model.quantities import format_duration
from headway.model.query import Criticality, Output, Source
from headway.model.taskset import (
    FULL,
    Constant,
    OverloadTask,
    TaskKind,
    TaskSet,
    check_hard_load,
    percent,
)
from headway.schedule.overload.admission_over_nodes import NodePath, Stage

# ---------------------------------------------------------------- task sets, one for each node

BEYOND = "beyond"
"""marks the tasks that are what a shedder would drop"""
PART, MOST_PARTS = FULL * 12 // 100, 16
"""such tasks ask for about so much each, so that some of them may fit where all do not"""


@dataclass(frozen=True, kw_only=True)
class OperatorPath:
    """An OP: the operators for which ``output`` pays, per tuple of ``source``."""

    source: Source
    output: Output
    operators: tuple[str, ...]
    loads: Mapping[str, float]
    """node -> share of it at the declared rates"""
    window: int
    """time for computing: the deadline less delays, gathering and messages (ns)"""

    @property
    def name(self) -> str:
        return f"{self.source.name}→{self.output.name}"

    @property
    def kind(self) -> TaskKind:
        return TaskKind.HARD if self.output.criticality is Criticality.HARD else TaskKind.SOFT


def task_sets_of(plan: Plan, overhead: int = 0) -> list[TaskSet]:
    """The task sets of all nodes that run anything; TaskSetError when a deadline leaves no time."""
    if plan.verdict is None:
        raise UnsupportedError(
            "reservations need costs, rates and a vehicle", want="name one with --vehicle"
        )
    for node in plan.vehicle.nodes:
        if node.cores > 1:
            raise UnsupportedError(
                "reservations are for one processor",
                at=f"nodes.{node.name}.cores",
                got=f"{node.cores} cores",
                want="ROP-EDF has no version for several",
            )
    paths = operator_paths(plan)
    sets = []
    for node in plan.vehicle.nodes:
        tasks = tuple(task for path in paths for task in _tasks(path, node.name))
        if tasks:
            sets.append(TaskSet(name=node.name, tasks=tasks, overhead=overhead))
    return sets


def operator_paths(plan: Plan) -> list[OperatorPath]:
    """All paths of the query: hard ones, then soft ones, by deadline."""
    graph = graph_of(plan.query)
    compilation = Compilation(query=plan.query, vehicle=plan.vehicle, timed=True, graph=graph)
    found = rates(compilation).rates
    taken: dict[str, set[str]] = {source: set() for source in graph.sources}
    outputs = [output for output in plan.query.outputs if output.deadline is not None]
    paths = []
    for output in sorted(outputs, key=_first_to_own):
        before = _before(graph, output.stream)
        for source in graph.sources.values():
            on_way = [n for n in graph.order if n in before and n in _behind(graph, source.name)]
            mine = tuple(name for name in on_way if name not in taken[source.name])
            taken[source.name].update(mine)
            if mine:
                window = (output.deadline or 0) - _waiting(plan, graph, source, on_way)
                if window <= 0:
                    raise TaskSetError(
                        f"no time is left to compute for tuples of {source.name!r}",
                        at=f"outputs.{output.name}.deadline",
                        got=f"{format_duration(-window)} too little",
                    )
                loads = _loads(plan, graph, found, source.name, mine)
                paths.append(
                    OperatorPath(
                        source=source, output=output, operators=mine, loads=loads, window=window
                    )
                )
    return paths


def _first_to_own(output: Output) -> tuple[bool, int]:
    """What a hard output needs is hard, even if a soft one wants it sooner: else it could be
    rejected. Among outputs of a kind the shortest deadline is the key path."""
    return output.criticality is Criticality.SOFT, output.deadline or 0


def _tasks(path: OperatorPath, node: str) -> Iterator[OverloadTask]:
    load, total = path.loads.get(node, 0.0), sum(path.loads.values())
    arrivals = path.source.arrivals
    if load <= 0 or arrivals is None:
        return
    period = arrivals.sustained.period
    deadline = max(1, min(period, int(path.window * load / total)))
    use = -(-int(load * period * FULL) // deadline)
    yield _task(path.name, path.kind, period, deadline, use)
    more = int(use * times_beyond(path))
    for name in beyond_names(path, more):
        yield _task(name, TaskKind.SOFT, period, deadline, more // parts_of(more))


def times_beyond(path: OperatorPath) -> float:
    """How many times as much as its shedder keeps a source may bring besides."""
    declared, arrivals = path.source.rate, path.source.arrivals
    if declared is None or arrivals is None:
        return 0.0
    times = declared.per_second / arrivals.sustained.per_second - 1
    return times if times > 0.001 else 0.0


def parts_of(use: int) -> int:
    """Into how many tasks what is beyond a shedder is divided."""
    return min(MOST_PARTS, -(-use // PART))


def beyond_names(path: OperatorPath, use: int) -> list[str]:
    parts = parts_of(use)
    return [f"{path.name} {BEYOND}" + f" {n}" * (parts > 1) for n in range(1, parts + 1)]


def _task(name: str, kind: TaskKind, period: int, deadline: int, use: int) -> OverloadTask:
    return OverloadTask(
        name=name,
        kind=kind,
        period=period,
        deadline=deadline,
        utilisation=Constant(max(1, use)),
        sporadic=True,
    )


def _loads(
    plan: Plan, graph: Graph, found: Mapping[str, float], source: str, operators: tuple[str, ...]
) -> dict[str, float]:
    """Each operator's load, as far as this source's tuples cause it."""
    nodes, placement = {node.name: node for node in plan.vehicle.nodes}, dict(plan.placement)
    share = {name: 1.0 if name == source else 0.0 for name in graph.sources}
    loads: dict[str, float] = {}
    for name in graph.order:
        operator = graph.operators[name]
        inputs = [found[stream] for stream in operator.streams]
        caused = sum(found[stream] * share[stream] for stream in operator.streams)
        share[name] = caused / sum(inputs) if sum(inputs) else 0.0
        if name in operators:
            node = placement[name]
            load = operator_load(operator, inputs, nodes[node]) * share[name]
            loads[node] = loads.get(node, 0.0) + load
    return loads


def _waiting(plan: Plan, graph: Graph, source: Source, on_way: list[str]) -> int:
    """Time on the way in which nothing is computed for a tuple (ns)."""
    streams = {source.name, *on_way}
    crossed = {c.stream: c.delay for c in plan.crossings if c.stream in streams}
    operators = [graph.operators[name] for name in on_way]
    gathering = sum(
        operator.timeout or 0 for operator in operators if operator.gathering is not None
    )
    held = sum(operator.clock.hold for operator in operators if operator.clock is not None)
    return source.delay + source.held + held + gathering + sum(crossed.values())


def _before(graph: Graph, stream: str) -> set[str]:
    found: set[str] = set()
    pending = [stream]
    while pending:
        name = pending.pop()
        if name in graph.operators and name not in found:
            found.add(name)
            pending += graph.operators[name].streams
    return found


def _behind(graph: Graph, source: str) -> set[str]:
    found = {source}
    for name in graph.order:
        if not found.isdisjoint(graph.operators[name].streams):
            found.add(name)
    return found


# ------------------------------------------------------- paths over nodes, for end-to-end admission


def check_nodes(sets: Iterable[TaskSet]) -> None:
    """Hard paths within 1 − α on every node; TaskSetError names the node and the output to blame
    first, which is where the query file says something about it."""
    for task_set in sets:
        try:
            check_hard_load(task_set)
        except TaskSetError as error:
            raise TaskSetError(
                replace(
                    problem,
                    what=f"on {task_set.name!r} {problem.what}",
                    at=f"outputs.{problem.at.partition('→')[2].partition(' ')[0]}",
                )
                for problem in error.problems
            ) from None


def paths_over_nodes(plan: Plan) -> list[NodePath]:
    """The operator paths of a plan with a stage on each node they visit.

    Windows are those of :func:`task_sets_of`; latencies are those of the messages in between."""
    tasks = {
        (task_set.name, task.name): task
        for task_set in task_sets_of(plan)
        for task in task_set.tasks
    }
    placement = dict(plan.placement)
    found = []
    for path in operator_paths(plan):
        nodes = list(dict.fromkeys(placement[name] for name in path.operators))
        visited = [node for node in nodes if (node, path.name) in tasks]
        stages = []
        for index, node in enumerate(visited):
            task = tasks[node, path.name]
            following = visited[index + 1] if index + 1 < len(visited) else None
            latency = _latency(plan, path, node, following) if following else 0
            stages.append(
                Stage(node=node, window=task.deadline, peak=task.peak, latency=latency)
            )  # fmt: skip
        if stages:
            gap = tasks[visited[0], path.name].period
            found.append(NodePath(name=path.name, kind=path.kind, gap=gap, stages=tuple(stages)))
    return found


def paths_beyond(plan: Plan) -> list[NodePath]:
    """What load shedders would drop, as soft paths of their own."""
    by_name = {path.name: path for path in operator_paths(plan)}
    found = []
    for path in paths_over_nodes(plan):
        times = times_beyond(by_name[path.name])
        most = max(int(stage.peak * times) for stage in path.stages)
        names = beyond_names(by_name[path.name], most)
        stages = tuple(
            replace(stage, peak=max(1, int(stage.peak * times) // len(names)))
            for stage in path.stages
            if names
        )
        found += [replace(path, name=name, kind=TaskKind.SOFT, stages=stages) for name in names]
    return found


def at_load(paths: Sequence[NodePath], load: int) -> list[NodePath]:
    """The paths with soft stages scaled so that on the node that is asked for most ``load``
    (millionths) is requested."""
    hard, soft = _asked(paths, hard=True), _asked(paths, hard=False)
    fitting = [Fraction(load - hard.get(node, 0), use) for node, use in soft.items() if use]
    factor = min(fitting, default=Fraction(1))
    if factor < 0:
        raise TaskSetError(
            f"the load cannot be {percent(load)}",
            got=", ".join(f"{node} {percent(use)}" for node, use in hard.items()),
            want="only soft paths are scaled: ask for more than the hard ones need",
        )
    return [
        path
        if path.hard
        else replace(
            path,
            stages=tuple(replace(s, peak=max(1, int(s.peak * factor))) for s in path.stages),
        )
        for path in paths
    ]


def _asked(paths: Sequence[NodePath], *, hard: bool) -> dict[str, int]:
    asked: dict[str, int] = {}
    for path in paths:
        for stage in path.stages:
            if path.hard is hard:
                asked[stage.node] = asked.get(stage.node, 0) + stage.peak
    return asked


def _latency(plan: Plan, path: OperatorPath, sender: str, receiver: str) -> int:
    streams = {path.source.name, *path.operators}
    return max(
        (
            crossing.delay
            for crossing in plan.crossings
            if crossing.stream in streams
            and (crossing.sender, crossing.receiver) == (sender, receiver)
        ),
        default=0,
    )
