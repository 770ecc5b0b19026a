"""A task graph as read, before it is checked: the common ground of all graph files.

Readers only say what stands where. Whether it is a task graph (known tasks, no cycle) is for the
model to say, once, in the same words for every format.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NoReturn

from headway.errors import FileError, GraphError, Place, Problem
from headway.model.taskgraph import Edge, Task, TaskGraph, check_task_graph


@dataclass
class Draft:
    """A graph under construction and the places of its parts, by their dotted paths."""

    file: str
    name: str = "graph"
    period: float | None = None
    tasks: dict[str, Task] = field(default_factory=dict)
    edges: dict[tuple[str, str], Edge] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)

    def add_task(self, task: Task, place: Place) -> None:
        if task.name in self.tasks:
            first = self.places[f"tasks.{task.name}"]
            self.refuse(f"the task '{task.name[:60]}' stands twice", place, _keep(first))
        self.tasks[task.name] = task
        self.places[f"tasks.{task.name}"] = place

    def add_edge(self, edge: Edge, place: Place) -> None:
        ends = (edge.sender, edge.receiver)
        if ends in self.edges:
            first = self.places[_path(edge)]
            what = f"two messages from '{ends[0][:60]}' to '{ends[1][:60]}'"
            self.refuse(what, place, _keep(first))
        self.edges[ends] = edge
        self.places[_path(edge)] = place

    def graph(self) -> TaskGraph:
        """The graph, checked; the model's error, with places, when it does not hold together."""
        graph = TaskGraph(
            name=self.name,
            tasks=tuple(self.tasks.values()),
            edges=tuple(self.edges.values()),
            period=self.period,
        )
        try:
            check_task_graph(graph)
        except GraphError as error:
            raise type(error)(self.attach_all(error.problems)) from None
        return graph

    def refuse(self, what: str, place: Place, want: str = "", got: str = "") -> NoReturn:
        raise FileError(Problem(what, place=place, want=want, got=got))

    def attach_all(self, problems: Iterable[Problem]) -> list[Problem]:
        """The problems with the place of the longest part of their path that is known."""
        return [
            problem if problem.place else replace(problem, place=self._locate(path_of(problem)))
            for problem in problems
        ]

    def _locate(self, at: str) -> Place:
        parts = at.split(".")
        for count in range(len(parts), 0, -1):
            if (place := self.places.get(".".join(parts[:count]))) is not None:
                return place
        return Place(self.file, 1, 1)


def path_of(problem: Problem) -> str:
    """The path of a problem; of a circle of tasks, that of its first edge."""
    ends = [name.strip() for name in problem.got.split("->")[:2]]
    return f"edges.{'->'.join(ends)}" if problem.at == "edges" and len(ends) == 2 else problem.at


def _path(edge: Edge) -> str:
    return f"edges.{edge.sender}->{edge.receiver}"


def _keep(first: Place) -> str:
    return f"keep one; the other is at line {first.line}, column {first.column}"
