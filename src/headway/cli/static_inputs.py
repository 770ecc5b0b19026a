"""What ``headway schedule`` works on: a graph and a network from files, or both from a plan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from headway.errors import FileError, GraphError, InputError, Place, Problem
from headway.files.graphs import LoadedGraph, LoadedNetwork, load_graph, load_network
from headway.files.reading import read_text
from headway.model.codec import plan_from_json
from headway.model.plan import Plan
from headway.model.static_network import Network
from headway.model.task_memory import Memory
from headway.model.taskgraph import TaskGraph
from headway.model.time import MILLISECOND
from headway.schedule.static import graph_of_plan


@dataclass(frozen=True, kw_only=True)
class StaticInput:
    """``unit`` of the graph's time is one ``unit_name``."""

    graph: TaskGraph
    network: Network
    memories: Mapping[str, Memory] = field(default_factory=dict)
    unit: Fraction = Fraction(1)
    unit_name: str = ""
    loaded_graph: LoadedGraph | None = None
    loaded_network: LoadedNetwork | None = None

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Problems of graph and network raised inside point at their files."""
        try:
            yield
        except GraphError as error:
            raise type(error)(self._place(problem) for problem in error.problems) from None

    def _place(self, problem: Problem) -> Problem:
        of_graph = problem.at.partition(".")[0] in ("tasks", "edges", "period")
        loaded = self.loaded_graph if of_graph else self.loaded_network
        return loaded.attach([problem])[0] if loaded is not None else problem


def static_input(path: Path, network: Path | None) -> StaticInput:
    """Reads the files that are named on the command line."""
    plan = _plan_in(path)
    if plan is not None:
        if network is not None:
            raise _wrong(path, "a plan has its vehicle's network", "leave out --network")
        graph, vehicle_network = graph_of_plan(plan)
        return StaticInput(
            graph=_with_deadlines(graph, plan),
            network=vehicle_network,
            unit=Fraction(MILLISECOND),
            unit_name="ms",
        )
    loaded = load_graph(path)
    if network is None:
        raise InputError(
            Problem("a task graph needs a network", want="name its file with --network NET.yaml")
        )
    loaded_network = load_network(network)
    return StaticInput(
        graph=loaded.graph,
        network=loaded_network.network,
        memories=loaded.memories,
        loaded_graph=loaded,
        loaded_network=loaded_network,
    )


def _plan_in(path: Path) -> Plan | None:
    """The plan, if the file holds one: JSON with a query and a vehicle."""
    if path.suffix.lower() != ".json":
        return None
    text = read_text(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or not {"query", "vehicle"} <= content.keys():
        return None
    return plan_from_json(text, str(path))


def _with_deadlines(graph: TaskGraph, plan: Plan) -> TaskGraph:
    """Each operator with the shortest deadline of the outputs it feeds directly."""
    deadlines: dict[str, int] = {}
    for output in plan.query.outputs:
        if output.deadline is not None:
            least = min(output.deadline, deadlines.get(output.stream, output.deadline))
            deadlines[output.stream] = least
    tasks = tuple(replace(task, deadline=deadlines.get(task.name)) for task in graph.tasks)
    return replace(graph, tasks=tasks)


def _wrong(path: Path, what: str, want: str) -> FileError:
    return FileError(Problem(what, place=Place(str(path), 1, 1), want=want))
