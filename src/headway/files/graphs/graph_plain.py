"""Task graphs as a person would write them in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.files.graphs.numbers import number
from headway.model.task_memory import Memory
from headway.model.taskgraph import Edge, Task, TaskGraph


def graph_plain(graph: TaskGraph, memories: Mapping[str, Memory] | None = None) -> dict[str, Any]:
    """What a person would write for that graph."""
    messages: dict[str, dict[str, Any]] = {}
    for edge in graph.edges:
        messages.setdefault(edge.sender, {})[edge.receiver] = _edge_plain(edge)
    result: dict[str, Any] = {"graph": graph.name}
    if graph.period is not None:
        result["period"] = number(graph.period)
    result["tasks"] = {
        task.name: _task_plain(task, (memories or {}).get(task.name)) for task in graph.tasks
    }
    if messages:
        result["messages"] = messages
    return result


def _task_plain(task: Task, memory: Memory | None) -> Any:
    plain: dict[str, Any] = {
        "work": None if task.work is None else number(task.work),
        "times": {name: number(time) for name, time in task.times.items()},
        "on": list(task.processors),
        "imprecise": task.imprecise,
        "release": number(task.release),
        "period": None if task.period is None else number(task.period),
        "deadline": None if task.deadline is None else number(task.deadline),
    }
    if memory is not None:
        plain["state"] = "pinned" if memory.pinned else number(memory.state) or None
        plain["window"] = None if memory.window is None else number(memory.window)
    written = {key: value for key, value in plain.items() if value not in (None, {}, [], False)}
    if not task.release:
        written.pop("release", None)
    return written["work"] if written.keys() == {"work"} else written


def _edge_plain(edge: Edge) -> Any:
    if edge.ccr is None and not edge.times and edge.volume is not None:
        return number(edge.volume)
    plain = {
        "volume": None if edge.volume is None else number(edge.volume),
        "ccr": None if edge.ccr is None else number(edge.ccr),
        "times": {name: number(time) for name, time in edge.times.items()},
    }
    return {key: value for key, value in plain.items() if value not in (None, {})}
