"""TGFF files: task graphs with periods and deadlines, and tables of processors and arcs.

R. P. Dick, D. L. Rhodes, W. Wolf, "TGFF: task graphs for free", CODES 1998. All task graphs of a
file become one, each task with its graph's period where these differ. A task's work is its time in
the first table of processors that has its type (1 when there is none); a message's volume likewise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headway.errors import FileError, Place, Problem
from headway.files.graphs.draft import Draft
from headway.files.graphs.tgff_tables import Table
from headway.files.graphs.words import Word, checked_name, lines_of_words
from headway.model.taskgraph import Edge, Task

DEFAULT = 1.0
"""Work or volume of a type that no table names."""


@dataclass
class _Graph:
    number: str
    period: float | None = None
    tasks: list[tuple[Word, int]] = field(default_factory=list)
    arcs: list[tuple[Word, Word, int]] = field(default_factory=list)
    deadlines: list[tuple[Word, float]] = field(default_factory=list)


def read_tgff(text: str, file: str) -> Draft:
    """All task graphs of the file as one; FileError with the place of what is wrong."""
    graphs, tables = _Parser(text, file).read()
    if not any(graph.tasks for graph in graphs):
        raise FileError(
            Problem(
                "no task graph in this file",
                place=Place(file, 1, 1),
                want="write '@TASK_GRAPH 0 {' and lines 'TASK name TYPE 0'",
            )
        )
    names = [word.text for graph in graphs for word, _ in graph.tasks]
    several = len(graphs) > 1 and len(set(names)) < len(names)
    periods = {graph.period for graph in graphs}
    common = periods.pop() if len(periods) == 1 else None
    draft = Draft(file, name="tgff", period=common)
    works = [table for table in tables if not table.of_arcs]
    volumes = [table for table in tables if table.of_arcs]
    for graph in graphs:
        prefix = f"g{graph.number}_" if several else ""
        deadlines = {word.text: at for word, at in graph.deadlines}
        known = {word.text for word, _ in graph.tasks}
        for word, _ in graph.deadlines:
            if word.text not in known:
                raise word.refusal("a deadline on an unknown task", "name a TASK of this graph")
        for word, kind in graph.tasks:
            task = Task(
                name=prefix + checked_name(word),
                work=_lookup(works, kind),
                period=graph.period if common is None else None,
                deadline=deadlines.get(word.text),
            )
            draft.add_task(task, word.place)
        for sender, receiver, kind in graph.arcs:
            edge = Edge(
                sender=prefix + sender.text,
                receiver=prefix + receiver.text,
                volume=_lookup(volumes, kind),
            )
            draft.add_edge(edge, sender.place)
    return draft


def _lookup(tables: list[Table], kind: int) -> float:
    values = (table.value(kind) for table in tables)
    return next((value for value in values if value is not None), DEFAULT)


class _Parser:
    """Line by line; what is not of interest (prices, @HYPERPERIOD) is read over."""

    def __init__(self, text: str, file: str) -> None:
        self._text, self._file = text, file
        self._graphs: list[_Graph] = []
        self._tables: list[Table] = []
        self._open: _Graph | Table | None = None

    def read(self) -> tuple[list[_Graph], list[Table]]:
        words = {line[0].place.line: line for line in lines_of_words(self._text, self._file)}
        place = Place(self._file, 1, 1)
        for number, text in enumerate(self._text.splitlines(), start=1):
            if text.lstrip().startswith("#") and isinstance(self._open, Table):
                self._open.head(text)
            if line := words.get(number):
                place = line[0].place
                self._line(line)
        if self._open is not None:
            raise FileError(Problem("a block is not closed", place=place, want="write '}'"))
        return self._graphs, self._tables

    def _line(self, line: list[Word]) -> None:
        if line[0].text.startswith("@"):
            self._start(line)
        elif line[0].text == "}":
            self._open = None
        elif isinstance(self._open, Table):
            self._open.add(line)
        elif isinstance(self._open, _Graph):
            self._graph_line(self._open, line)
        else:
            raise line[0].refusal("outside a block", "start one with '@NAME number {'")

    def _start(self, line: list[Word]) -> None:
        if self._open is not None:
            raise line[0].refusal("a block inside another", "close the other with '}'")
        name = line[0].text[1:].upper()
        if line[-1].text != "{":
            return
        number = line[1].text if len(line) > 2 else ""
        if name == "TASK_GRAPH":
            self._open = _Graph(number)
            self._graphs.append(self._open)
        else:
            self._open = Table(name)
            self._tables.append(self._open)

    def _graph_line(self, graph: _Graph, line: list[Word]) -> None:
        kind = line[0].text.upper()
        if kind == "PERIOD":
            graph.period = self._after(line, "PERIOD").number("a period")
        elif kind == "TASK":
            graph.tasks.append((self._after(line, "TASK"), self._type(line)))
        elif kind == "ARC":
            ends = self._after(line, "FROM"), self._after(line, "TO")
            graph.arcs.append((*ends, self._type(line)))
        elif kind in ("HARD_DEADLINE", "SOFT_DEADLINE"):
            at = self._after(line, "AT").number("a deadline")
            graph.deadlines.append((self._after(line, "ON"), at))
        elif kind != "APERIODIC":
            raise line[0].refusal(
                "not a line of a task graph",
                "write PERIOD, TASK, ARC, HARD_DEADLINE or SOFT_DEADLINE",
            )

    def _type(self, line: list[Word]) -> int:
        return self._after(line, "TYPE").whole("a type")

    def _after(self, line: list[Word], keyword: str) -> Word:
        """The word that follows the keyword in this line."""
        for position, word in enumerate(line[:-1]):
            if word.text.upper() == keyword:
                return line[position + 1]
        raise line[0].refusal(f"no '{keyword}' with a word after it", "complete the line")
