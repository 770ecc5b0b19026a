"""Task graphs and networks as files: YAML that reads back equal, TGFF and STG for other tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headway.files.emit import to_yaml
from headway.files.graphs.graph_plain import graph_plain
from headway.files.graphs.network_form import network_plain
from headway.files.graphs.numbers import number
from headway.model.exact import Number
from headway.model.static_network import Network
from headway.model.task_memory import Memory
from headway.model.taskgraph import Edge, Task, TaskGraph


def graph_to_yaml(graph: TaskGraph, memories: Mapping[str, Memory] | None = None) -> str:
    """YAML that reads back as an equal graph (numbers that are no decimals become the nearest)."""
    return to_yaml(graph_plain(graph, memories))


def network_to_yaml(network: Network) -> str:
    """YAML that reads back as an equal network."""
    return to_yaml(network_plain(network))


def graph_to_tgff(graph: TaskGraph) -> str:
    """TGFF: every task and arc a type of its own, so that tables can say its work and volume."""
    names = {task.name: f"t0_{number}" for number, task in enumerate(graph.tasks)}
    lines = ["@TASK_GRAPH 0 {"]
    if graph.period is not None:
        lines += [f"\tPERIOD {_number(graph.period)}", ""]
    lines += [f"\tTASK {names[task.name]}\tTYPE {i}" for i, task in enumerate(graph.tasks)]
    lines += [
        f"\tARC a0_{i}\tFROM {names[edge.sender]}  TO  {names[edge.receiver]} TYPE {i}"
        for i, edge in enumerate(graph.edges)
    ]
    lines += [
        f"\tHARD_DEADLINE d0_{i} ON {names[task.name]} AT {_number(task.deadline)}"
        for i, task in enumerate(graph.tasks)
        if task.deadline is not None
    ]
    lines += ["}", "", "@PE 0 {", "# type exec_time"]
    lines += [f"{i} {_number(_work(task))}" for i, task in enumerate(graph.tasks)]
    lines += ["}", "", "@COMMUN 0 {", "# type exec_time"]
    lines += [f"{i} {_number(_volume(edge, graph))}" for i, edge in enumerate(graph.edges)]
    return "\n".join([*lines, "}", ""])


def graph_to_stg(graph: TaskGraph) -> str:
    """STG with communication costs, between a dummy entry and a dummy exit."""
    return "\n".join(_stg_lines(graph)) + "\n"


def _stg_lines(graph: TaskGraph) -> Iterator[str]:
    place = {task.name: position for position, task in enumerate(graph.tasks, start=1)}
    volumes = {(edge.sender, edge.receiver): _volume(edge, graph) for edge in graph.edges}
    yield str(len(graph.tasks))
    yield "0 0 0"
    for task in graph.tasks:
        before = graph.predecessors[task.name]
        pairs = [f"{place[name]} {_number(volumes[name, task.name])}" for name in before]
        found = pairs or ["0 0"]
        yield f"{place[task.name]} {_number(_work(task))} {len(found)} {' '.join(found)}"
    exits = [f"{place[name]} 0" for name in graph.exits]
    yield f"{len(graph.tasks) + 1} 0 {len(exits)} {' '.join(exits)}"


def _work(task: Task) -> Number:
    """Its work, or its least time where only times are known."""
    return task.work if task.work is not None else min(task.times.values(), default=0)


def _volume(edge: Edge, graph: TaskGraph) -> Number:
    if edge.volume is not None:
        return edge.volume
    return float(edge.ccr or 0) * float(_work(graph.by_name[edge.sender]))


def _number(value: Number) -> str:
    return repr(number(value))
