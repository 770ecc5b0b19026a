"""Files of task graphs and networks (YAML, JSON, TGFF, STG, WfCommons) to values of the model.

What is wrong is told with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from headway.errors import GraphError, Place, Problem
from headway.files.graph_draft import Draft, path_of
from headway.files.graph_formats import read_stg, read_tgff, read_wfcommons
from headway.files.graph_forms import (
    GraphForm,
    NetworkForm,
)
from headway.files.source_map import place_of, validate
from headway.model.static_network import ProcessorNetwork, check_network
from headway.model.taskgraph import Memory, TaskGraph, check_task_graph
from headway.yaml_tree import Document, parse_yaml, read_text

Attach = Callable[[Iterable[Problem]], list[Problem]]


@dataclass(frozen=True)
class LoadedGraph:
    """A checked task graph; ``attach`` gives later problems their place in the file."""

    graph: TaskGraph
    attach: Attach = field(repr=False)
    memories: Mapping[str, Memory] = field(default_factory=dict)


@dataclass(frozen=True)
class LoadedNetwork:
    """A checked network; ``attach`` gives later problems their place in the file."""

    network: ProcessorNetwork
    attach: Attach = field(repr=False)


def load_graph(path: Path | str) -> LoadedGraph:
    """The graph in a file: ``.tgff``, ``.stg``, WfCommons ``.json``, else YAML or JSON."""
    return parse_graph(read_text(Path(path)), str(path))


def parse_graph(text: str, name: str = "graph.yaml") -> LoadedGraph:
    """The graph in a text; ``name`` tells the format and stands for the file in messages."""
    suffix = PurePath(name).suffix.lower()
    if suffix == ".tgff":
        return _drafted(read_tgff(text, name))
    if suffix == ".stg":
        return _drafted(read_stg(text, name))
    document = parse_yaml(text.replace("\t", " ") if suffix == ".json" else text, name)
    if "workflow" in document.root.entries and "graph" not in document.root.entries:
        return _drafted(read_wfcommons(text, name))
    form = validate(document, GraphForm)
    graph = form.to_model()
    attach = _attach_in(document)
    with placed_in(attach):
        check_task_graph(graph)
    return LoadedGraph(graph, attach, form.memories)


def load_network(path: Path | str) -> LoadedNetwork:
    """The network in a YAML or JSON file."""
    return parse_network(read_text(Path(path)), str(path))


def parse_network(text: str, name: str = "network.yaml") -> LoadedNetwork:
    document = parse_yaml(text.replace("\t", " ") if name.endswith(".json") else text, name)
    network = validate(document, NetworkForm).to_model()
    attach = _attach_in(document)
    with placed_in(attach):
        check_network(network)
    return LoadedNetwork(network, attach)


@contextmanager
def placed_in(attach: Attach) -> Iterator[None]:
    """Errors of the model raised inside get their places."""
    try:
        yield
    except GraphError as error:
        raise type(error)(attach(error.problems)) from None


def _drafted(draft: Draft) -> LoadedGraph:
    return LoadedGraph(draft.graph(), draft.attach_all)


def _attach_in(document: Document) -> Attach:
    def attach(problems: Iterable[Problem]) -> list[Problem]:
        return [
            problem
            if problem.place
            else replace(problem, place=_locate(document, path_of(problem)))
            for problem in problems
        ]

    return attach


def _locate(document: Document, at: str) -> Place:
    """``edges.a->b.volume`` of the model is ``messages.a.b.volume`` in the file."""
    parts: list[str] = at.split(".")
    if parts[0] == "edges":
        parts = ["messages", *(parts[1].split("->") if len(parts) > 1 else []), *parts[2:]]
    if parts[0] == "processors" and parts[-1] == "rate":
        parts = parts[:-1]
    if parts[0] == "tasks" and parts[2:3] == ["processors"]:
        parts[2] = "on"
    on_key = parts[0] == "messages" and len(parts) == 3  # the receiver's name, not the volume
    return place_of(document, list(parts), on_key=on_key)
