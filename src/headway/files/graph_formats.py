"""Task graphs in the formats of others: STG, TGFF, WfCommons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from headway.errors import FileError, Place, Problem
from headway.files.graph_draft import (
    LARGEST,
    Draft,
    Word,
    amount_form,
    checked_name,
    lines_of_words,
)
from headway.model.taskgraph import Edge, GraphTask
from headway.yaml_tree import Document, Mapping, Node, Scalar, Sequence, parse_yaml

# ---------------------------------------------------------------- STG
# The Standard Task Graph Set of Waseda University,
# http://www.kasahara.cs.waseda.ac.jp/schedule/format_e.html. The first number counts the tasks,
# without the dummy entry and exit. A line for each task follows: number, processing time, how
# many predecessors, their numbers; in files with communication costs a cost follows each
# predecessor's number. ``#`` starts a comment.


def read_stg(text: str, file: str, *, volume: float = 0.0) -> Draft:
    """The graph, its dummy tasks left out; ``volume`` is for messages without a cost."""
    lines = list(lines_of_words(text, file))
    if not lines:
        raise FileError(
            Problem(
                "the file is empty", place=Place(file, 1, 1), want="start with the number of tasks"
            )
        )
    count = lines[0][0].whole("the number of tasks", least=1)
    numbered = {_task(line): line for line in lines[1:]}
    with_dummies = len(lines) == count + 3
    if len(lines) - 1 not in (count, count + 2) or len(numbered) != len(lines) - 1:
        raise lines[0][0].refusal(
            f"the number of tasks does not fit the {len(lines) - 1} lines that follow",
            "write a line for each task, with or without a dummy entry and a dummy exit",
        )
    first = min(numbered)
    dummies = {first, max(numbered)} if with_dummies else set()
    for dummy in sorted(dummies):
        if numbered[dummy][1].number("a processing time") != 0:
            raise numbered[dummy][1].refusal("a dummy task takes time", "write 0")
    draft = Draft(file, name=_stem(file))
    for number, line in numbered.items():
        if number not in dummies:
            work = line[1].number("a processing time")
            draft.add_task(GraphTask(name=f"t{number}", work=work), line[0].place)
    for number, line in numbered.items():
        for sender, cost in _predecessors(line, volume):
            before = sender.whole("the number of a task")
            if number in dummies or before in dummies:
                continue
            edge = Edge(sender=f"t{before}", receiver=f"t{number}", volume=cost)
            draft.add_edge(edge, sender.place)
    return draft


def _task(line: list[Word]) -> int:
    if len(line) < 3:
        raise line[0].refusal(
            "a line is too short", "write number, processing time, number of predecessors"
        )
    return line[0].whole("the number of a task")


def _predecessors(line: list[Word], volume: float) -> list[tuple[Word, float]]:
    count, rest = line[2].whole("the number of predecessors"), line[3:]
    if len(rest) == count:
        return [(word, volume) for word in rest]
    if len(rest) == 2 * count:
        costs = [word.number("a communication cost") for word in rest[1::2]]
        return list(zip(rest[::2], costs, strict=True))
    raise line[2].refusal(
        f"the number of predecessors does not fit the {len(rest)} numbers that follow",
        "write that many task numbers, or pairs of a task number and a communication cost",
    )


def _stem(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2].partition(".")[0] or "graph"


# ---------------------------------------------------------------- TGFF
# R. P. Dick, D. L. Rhodes, W. Wolf, "TGFF: task graphs for free", CODES 1998. All task graphs of
# a file become one, each task with its graph's period where these differ. A task's work is its
# time in the first table of processors that has its type (1 when there is none); a message's
# volume likewise.
#
# A table's columns are named by the comment above its rows. Tables of arcs (``@COMMUN``,
# ``@COMMUN_QUANT``, ``@WIRING`` and the like) are told from those of processors by their name:
# TGFF itself does not tell them apart.


_ARC_TABLES = ("COMM", "WIR", "LINK", "TRANS", "ARC", "BUS", "EDGE", "NET")
_TIMES = ("exec_time", "task_time", "time", "wcet", "quantity", "volume", "bytes", "size")


@dataclass
class TgffTable:
    """``rows``: type -> column -> value."""

    name: str
    columns: list[str] = field(default_factory=list)
    rows: dict[int, dict[str, float]] = field(default_factory=dict)

    @property
    def of_arcs(self) -> bool:
        return self.name.startswith(_ARC_TABLES)

    def head(self, comment: str) -> None:
        """Takes the names of the columns from a comment such as ``# type exec_time``."""
        words = comment.strip("#- \t").replace("|", " ").split()
        if words and words[0].lower() == "type":
            self.columns = [word.lower() for word in words]

    def add(self, line: list[Word]) -> None:
        """A row; the one line of a processor's own attributes, before the header, is left out."""
        quantities = not self.columns and self.of_arcs and len(line) == 2
        if not self.columns and not quantities:
            return
        columns = self.columns or ["type", "quantity"]
        values = [word.number("a number of a table") for word in line]
        if len(values) < 2 or len(values) > len(columns):
            raise line[0].refusal(
                f"a row of {len(values)} numbers under {len(columns)} columns",
                f"write {' '.join(columns)}",
            )
        row = dict(zip(columns, values, strict=False))
        if row.get("valid", 1.0):
            self.rows[line[0].whole("a type")] = row

    def value(self, kind: int) -> float | None:
        """The time (or quantity) of a type; None where the table has none."""
        row = self.rows.get(kind)
        if row is None:
            return None
        named = next((row[column] for column in _TIMES if column in row), None)
        return named if named is not None else list(row.values())[1]


DEFAULT = 1.0
"""Work or volume of a type that no table names."""


@dataclass
class _TgffGraph:
    number: str
    period: float | None = None
    tasks: list[tuple[Word, int]] = field(default_factory=list)
    arcs: list[tuple[Word, Word, int]] = field(default_factory=list)
    deadlines: list[tuple[Word, float]] = field(default_factory=list)


def read_tgff(text: str, file: str) -> Draft:
    """All task graphs of the file as one; FileError with the place of what is wrong."""
    graphs, tables = _TgffParser(text, file).read()
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
            task = GraphTask(
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


def _lookup(tables: list[TgffTable], kind: int) -> float:
    values = (table.value(kind) for table in tables)
    return next((value for value in values if value is not None), DEFAULT)


class _TgffParser:
    """Line by line; what is not of interest (prices, @HYPERPERIOD) is read over."""

    def __init__(self, text: str, file: str) -> None:
        self._text, self._file = text, file
        self._graphs: list[_TgffGraph] = []
        self._tables: list[TgffTable] = []
        self._open: _TgffGraph | TgffTable | None = None

    def read(self) -> tuple[list[_TgffGraph], list[TgffTable]]:
        words = {line[0].place.line: line for line in lines_of_words(self._text, self._file)}
        place = Place(self._file, 1, 1)
        for number, text in enumerate(self._text.splitlines(), start=1):
            if text.lstrip().startswith("#") and isinstance(self._open, TgffTable):
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
        elif isinstance(self._open, TgffTable):
            self._open.add(line)
        elif isinstance(self._open, _TgffGraph):
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
            self._open = _TgffGraph(number)
            self._graphs.append(self._open)
        else:
            self._open = TgffTable(name)
            self._tables.append(self._open)

    def _graph_line(self, graph: _TgffGraph, line: list[Word]) -> None:
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


# ---------------------------------------------------------------- WfCommons
# WfFormat, https://github.com/wfcommons/WfFormat, versions 1.3 to 1.6: recorded runs of scientific
# workflows. A task's work is its running time in seconds. A message's volume is the size of the
# files that the sender writes and the receiver reads, in units of ``bytes_per_unit``.


MEGABYTE = 1_000_000.0
_RUNTIMES = ("runtimeInSeconds", "runtime")
_SIZES = ("sizeInBytes", "size")
_RUN_TIME_WANTED = (
    "give its 'runtimeInSeconds' in 'execution' of the workflow; a schedule of a workflow that was "
    "only specified says nothing"
)


def read_wfcommons(text: str, file: str, *, bytes_per_unit: float = MEGABYTE) -> Draft:
    """The graph of a workflow instance. JSON is YAML but for tabs between its tokens."""
    reader = _WorkflowReader(parse_yaml(text.replace("\t", " "), file))
    workflow = reader.mapping(reader.document.root, "workflow")
    draft = Draft(file, name=reader.text(reader.document.root, "name", "workflow"))
    specification = workflow.entries.get("specification", workflow)
    if not isinstance(specification, Mapping):
        reader.refuse("a mapping is wanted", specification)
    tasks = list(reader.items(specification, "tasks", needed=True))
    times, sizes = reader.runtimes(workflow), reader.file_sizes(specification)
    reads: dict[str, dict[str, float]] = {}
    writes: dict[str, dict[str, float]] = {}
    for task in tasks:
        name = reader.identity(task)
        work = reader.number(task, _RUNTIMES)
        work = times.get(name) if work is None else work
        if work is None:
            reader.refuse(f"the task '{name[:60]}' has no running time", task, _RUN_TIME_WANTED)
        draft.add_task(GraphTask(name=name, work=work), reader.document.place(task.start))
        reads[name], writes[name] = reader.task_files(task, sizes)
    for task in tasks:
        name = reader.identity(task)
        for sender, receiver, node in reader.neighbours(task, name):
            shared = reads.get(receiver, {}).keys() & writes.get(sender, {}).keys()
            volume = sum(writes[sender][file] for file in sorted(shared)) / bytes_per_unit
            if (sender, receiver) not in draft.edges:
                edge = Edge(sender=sender, receiver=receiver, volume=volume)
                draft.add_edge(edge, reader.document.place(node.start))
    return draft


class _WorkflowReader:
    """Walks the document and says where it is not as it should be."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def refuse(
        self, what: str, node: Node, want: str = "write a WfCommons instance", got: str = ""
    ) -> NoReturn:
        raise FileError(Problem(what, place=self.document.place(node.start), got=got, want=want))

    def mapping(self, parent: Mapping, key: str) -> Mapping:
        found = parent.entries.get(key)
        if not isinstance(found, Mapping):
            self.refuse(f"no mapping '{key}'", found or parent)
        return found

    def text(self, parent: Mapping, key: str, default: str = "") -> str:
        found = parent.entries.get(key)
        if found is None:
            return default
        if not isinstance(found, Scalar) or not found.text:
            self.refuse(f"'{key}' must be text", found)
        return found.text

    def items(self, parent: Mapping, key: str, *, needed: bool = False) -> Iterator[Mapping]:
        found = parent.entries.get(key)
        if found is None and not needed:
            return
        if not isinstance(found, Sequence):
            self.refuse(f"no list '{key}'", found or parent)
        for item in found.items:
            if not isinstance(item, Mapping):
                self.refuse(f"an entry of '{key}' is no mapping", item)
            yield item

    def identity(self, task: Mapping) -> str:
        return self.text(task, "id") or self.text(task, "name") or self.refuse("no 'id'", task)

    def number(self, parent: Mapping, keys: tuple[str, ...]) -> float | None:
        found = next((parent.entries[key] for key in keys if key in parent.entries), None)
        if found is None:
            return None
        value = found.value if isinstance(found, Scalar) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            self.refuse("not a number of at least 0", found)
        largest = LARGEST * MEGABYTE if keys is _SIZES else LARGEST
        if value > largest:
            got = found.text[:60] if isinstance(found, Scalar) else ""
            self.refuse("too large a number", found, amount_form(largest), got)
        return float(value)

    def runtimes(self, workflow: Mapping) -> dict[str, float]:
        """Since version 1.5 they stand apart from the tasks."""
        execution = workflow.entries.get("execution")
        if not isinstance(execution, Mapping):
            return {}
        return {
            self.identity(task): time
            for task in self.items(execution, "tasks")
            if (time := self.number(task, _RUNTIMES)) is not None
        }

    def file_sizes(self, specification: Mapping) -> dict[str, float]:
        return {
            self.identity(file): self.number(file, _SIZES) or 0.0
            for file in self.items(specification, "files")
        }

    def task_files(
        self, task: Mapping, sizes: dict[str, float]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Files a task reads and writes, with their sizes, in the old form and the new."""
        reads = {name: sizes.get(name, 0.0) for name, _ in self.names(task, "inputFiles")}
        writes = {name: sizes.get(name, 0.0) for name, _ in self.names(task, "outputFiles")}
        if isinstance(task.entries.get("files"), Sequence):
            for file in self.items(task, "files"):
                side = reads if self.text(file, "link") == "input" else writes
                side[self.identity(file)] = self.number(file, _SIZES) or 0.0
        return reads, writes

    def neighbours(self, task: Mapping, name: str) -> Iterator[tuple[str, str, Node]]:
        for parent, node in self.names(task, "parents"):
            yield parent, name, node
        for child, node in self.names(task, "children"):
            yield name, child, node

    def names(self, task: Mapping, key: str) -> Iterator[tuple[str, Node]]:
        found = task.entries.get(key)
        if found is None:
            return
        if not isinstance(found, Sequence):
            self.refuse(f"'{key}' must be a list", found)
        for item in found.items:
            if not isinstance(item, Scalar) or not item.text:
                self.refuse(f"'{key}' must list names", item)
            yield item.text, item
