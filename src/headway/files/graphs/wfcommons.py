"""WfCommons JSON (WfFormat): recorded runs of scientific workflows.

https://github.com/wfcommons/WfFormat, versions 1.3 to 1.6. A task's work is its running time in
seconds. A message's volume is the size of the files that the sender writes and the receiver reads,
in units of ``bytes_per_unit``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from headway.errors import FileError, Problem
from headway.files.graphs.draft import Draft
from headway.files.nodes import Document, Mapping, Node, Scalar, Sequence
from headway.files.parse import parse_yaml
from headway.model.taskgraph import Edge, Task

MEGABYTE = 1_000_000.0
_TIMES = ("runtimeInSeconds", "runtime")
_SIZES = ("sizeInBytes", "size")


def read_wfcommons(text: str, file: str, *, bytes_per_unit: float = MEGABYTE) -> Draft:
    """The graph of a workflow instance. JSON is YAML but for tabs between its tokens."""
    reader = _Reader(parse_yaml(text.replace("\t", " "), file))
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
        work = reader.number(task, _TIMES)
        work = times.get(name, 0.0) if work is None else work
        draft.add_task(Task(name=name, work=work), reader.document.place(task.start))
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


class _Reader:
    """Walks the document and says where it is not as it should be."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def refuse(self, what: str, node: Node, want: str = "write a WfCommons instance") -> NoReturn:
        raise FileError(Problem(what, place=self.document.place(node.start), want=want))

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
        return float(value)

    def runtimes(self, workflow: Mapping) -> dict[str, float]:
        """Since version 1.5 they stand apart from the tasks."""
        execution = workflow.entries.get("execution")
        if not isinstance(execution, Mapping):
            return {}
        return {
            self.identity(task): self.number(task, _TIMES) or 0.0
            for task in self.items(execution, "tasks")
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
