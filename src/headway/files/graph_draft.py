"""A task graph as read, before it is checked: the common ground of all graph files.

Readers only say what stands where. Whether it is a task graph (known tasks, no cycle) is for the
model to say, once, in the same words for every format.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NoReturn

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from headway.errors import FileError, GraphError, Place, Problem
from headway.files.forms import refusal
from headway.model.taskgraph import Edge, GraphTask, TaskGraph, check_task_graph

# ---------------------------------------------- words of plain text, for the formats of other tools


LARGEST = 1e12
"""No time, volume or speed is beyond it, in a file of whatever format: sums stay exact to a
thousandth, and people can read them."""
LONGEST_NAME = 120
_WORD = re.compile(r"[{}]|[^\s{}]+")


def amount_form(largest: float) -> str:
    return f"write a number from 0 to {largest:g}, in a larger unit if need be"


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    place: Place

    def whole(self, what: str, least: int = 0) -> int:
        """The word as a whole number."""
        if re.fullmatch(r"\+?[0-9]{1,15}", self.text) and int(self.text) >= least:
            return int(self.text)
        raise self.refusal(f"not {what}", f"write a whole number of at least {least}")

    def number(self, what: str) -> float:
        """The word as a number that is finite and not negative."""
        try:
            value = float(self.text)
        except ValueError:
            value = math.nan
        if "_" in self.text or not math.isfinite(value) or value < 0:
            raise self.refusal(f"not {what}", "write a number of at least 0")
        if value > LARGEST:
            raise self.refusal(f"too large for {what}", amount_form(LARGEST))
        return value

    def refusal(self, what: str, want: str) -> FileError:
        return FileError(what, place=self.place, got=repr(self.text[:60]), want=want)


def lines_of_words(text: str, file: str) -> Iterator[list[Word]]:
    """The words of each line that has some; braces stand alone, '#' starts a comment."""
    for number, line in enumerate(text.splitlines(), start=1):
        found = [
            Word(match[0], Place(file, number, match.start() + 1))
            for match in _WORD.finditer(line.partition("#")[0])
        ]
        if found:
            yield found


def checked_name(word: Word) -> str:
    if len(word.text) > LONGEST_NAME or not word.text.isprintable():
        raise word.refusal("not a name", f"use at most {LONGEST_NAME} printable characters")
    return word.text


# ---------------------------------------------------------------- the draft


@dataclass
class Draft:
    """A graph under construction and the places of its parts, by their dotted paths."""

    file: str
    name: str = "graph"
    period: float | None = None
    tasks: dict[str, GraphTask] = field(default_factory=dict)
    edges: dict[tuple[str, str], Edge] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)

    def add_task(self, task: GraphTask, place: Place) -> None:
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
        raise FileError(what, place=place, want=want, got=got)

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


# ---------------------------------------------------------------- kinds of values


def _check(text: str) -> str:
    if not text or len(text) > LONGEST_NAME or not text.isprintable() or text != text.strip():
        raise refusal("not a name", f"use 1 to {LONGEST_NAME} printable characters")
    if "." in text or "->" in text:
        raise refusal("not a name", "use no '.' and no '->': they build the paths in messages")
    return text


Label = Annotated[str, AfterValidator(_check)]
Amount = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
"""Times, volumes, speeds. That they are above 0 is for the model to ask for."""
NotNegative = Annotated[float, Field(ge=0, le=LARGEST)]

PINNED = -1.0
"""Stands for 'pinned' in a form."""


def _state(value: Any) -> float:
    if value == "pinned":
        return PINNED
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        raise refusal("not a state", "write the volume that moves with it, or 'pinned'")
    return float(value)


State = Annotated[
    float,
    BeforeValidator(_state),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"const": "pinned"}]}),
]
