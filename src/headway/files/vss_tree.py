"""The COVESA Vehicle Signal Specification: a tree of signals, ``Vehicle.Speed`` and thousands more.

Read are the tree as it is published (``*.vspec``, YAML with ``#include FILE BRANCH`` in comments,
branches with instances) and the JSON that COVESA's tools export of it. What Headway needs of a
signal is its name, its type and its unit.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from headway.errors import FileError, InputError, Place, Problem
from headway.model.schema import DataType
from headway.yaml_tree import parse_yaml, plain, read_text

ROOT = "VehicleSignalSpecification.vspec"
INCLUDE = re.compile(r"^#include[ \t]+(?P<file>\S+)(?:[ \t]+(?P<branch>\S+))?[ \t]*$", re.MULTILINE)
RANGE = re.compile(r"(?P<name>[A-Za-z]\w*)\[(?P<first>\d{1,3}),\s*(?P<last>\d{1,3})\]")
SIGNALS = ("sensor", "actuator", "attribute")
TYPES = {
    "boolean": DataType.BOOLEAN,
    "int8": DataType.INT,
    "uint8": DataType.INT,
    "int16": DataType.INT,
    "uint16": DataType.INT,
    "int32": DataType.INT,
    "uint32": DataType.BIGINT,
    "int64": DataType.BIGINT,
    "float": DataType.FLOAT,
    "double": DataType.DOUBLE,
    "string": DataType.STRING,
}
"""``uint64`` and arrays have no counterpart"""
DEEPEST = 30
MOST_SIGNALS = 100_000


@dataclass(frozen=True, slots=True)
class VssSignal:
    """``type`` is None where no column can hold it; ``allowed`` are the texts it may be."""

    name: str
    kind: str
    datatype: str
    unit: str
    description: str
    allowed: tuple[str, ...] = ()

    @property
    def type(self) -> DataType | None:
        return TYPES.get(self.datatype)

    @property
    def column_type(self) -> str:
        """As a schema declares it."""
        assert self.type is not None
        length = f"({max(len(one.encode()) for one in self.allowed)})" if self.allowed else ""
        text = f"{self.type.value}{length if self.type is DataType.STRING else ''}"
        return f"{text} [{self.unit}]" if self.unit else text


@dataclass(frozen=True)
class VssCatalogue:
    """Signals by their whole names, in the order of the tree."""

    path: Path
    signals: Mapping[str, VssSignal]

    def matching(self, patterns: Sequence[str]) -> list[VssSignal]:
        """Those that a pattern with ``*`` and ``?`` names; InputError for one that names none."""
        found: dict[str, VssSignal] = {}
        problems = []
        for pattern in patterns:
            mine = {n: one for n, one in self.signals.items() if fnmatchcase(n, pattern)}
            if not mine:
                near = ", ".join(self.like(pattern)) or "nothing like it"
                problems.append(Problem(f"no signal is called {pattern!r}", got=near,
                                        at=str(self.path)))  # fmt: skip
            found |= mine
        if problems:
            raise InputError(problems)
        return list(found.values())

    def like(self, name: str) -> list[str]:
        """Some that are called nearly the same."""
        return difflib.get_close_matches(name, self.signals, n=3)


def load_vss(path: Path) -> VssCatalogue:
    """The folder of a tree, its root file, or exported JSON; FileError if it is none of these."""
    if path.is_dir():
        path = path / ROOT
    nodes = _exported(path) if path.suffix == ".json" else _tree(path)
    signals: dict[str, VssSignal] = {}
    for signal in nodes:
        signals[signal.name] = signal
        if len(signals) > MOST_SIGNALS:
            raise FileError(f"more than {MOST_SIGNALS:,} signals", place=Place(str(path)))
    if not signals:
        raise FileError("no signal is in it", place=Place(str(path)))
    return VssCatalogue(path, signals)


# ---------------------------------------------------------------- the tree as it is published

Node = dict[str, Any]


def _tree(path: Path) -> Iterator[VssSignal]:
    nodes: dict[str, Node] = {}
    _read(path, "", nodes, (), path.parent)
    branches = {name: node for name, node in nodes.items() if node.get("type") == "branch"}
    for name, node in nodes.items():
        if node.get("type") in SIGNALS:
            for whole in _instances(name, branches, node):
                yield _signal(path, whole, node)


def _read(
    path: Path, branch: str, nodes: dict[str, Node], above: tuple[Path, ...], root: Path
) -> None:
    """Adds a file's nodes under a branch, and those of the files that it includes; names are
    relative to the file's own folder, or to the root's."""
    if path in above or len(above) >= DEEPEST:
        raise FileError("includes go round", place=Place(str(path)))
    text = read_text(path)
    found = plain(parse_yaml(text, str(path)).root) if _has_nodes(text) else {}
    for name, node in found.items():
        if not isinstance(node, dict):
            raise FileError("not a node", place=Place(str(path)), at=str(name), got=f"{node!r:.60}")
        whole = f"{branch}.{name}" if branch else str(name)
        nodes[whole] = {**nodes.get(whole, {}), **node}
    for line in INCLUDE.finditer(text):
        beside = path.parent / line["file"]
        below = line["branch"] or ""
        _read(
            beside if beside.is_file() else root / line["file"],
            f"{branch}.{below}" if branch and below else branch or below,
            nodes,
            (*above, path),
            root,
        )


def _has_nodes(text: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())


def _instances(name: str, branches: Mapping[str, Node], node: Node) -> list[str]:
    """The whole names of a signal: one for each instance of the branches above it."""
    parts = name.split(".")
    found = [""]
    free = node.get("instantiate") is False
    for depth, part in enumerate(parts):
        found = [f"{one}.{part}" if one else part for one in found]
        here = ".".join(parts[: depth + 1])
        branch = branches.get(here)
        if branch is None or "instances" not in branch or depth == len(parts) - 1:
            continue
        below = branches.get(".".join(parts[: depth + 2]), {})
        if (free and depth == len(parts) - 2) or below.get("instantiate") is False:
            continue
        for level in _levels(branch["instances"]):
            found = [f"{one}.{instance}" for one in found for instance in level]
    return found


def _levels(instances: Any) -> list[list[str]]:
    """``Row[1,2]``; ``["Left", "Right"]``; or a list of such, one level each."""
    listed = instances if isinstance(instances, list) else [instances]
    if all(isinstance(one, str) and RANGE.fullmatch(one) is None for one in listed):
        return [[str(one) for one in listed]]
    levels: list[list[str]] = []
    for one in listed:
        match = RANGE.fullmatch(one) if isinstance(one, str) else None
        if match is not None:
            first, last = int(match["first"]), int(match["last"])
            levels.append([f"{match['name']}{number}" for number in range(first, last + 1)])
        else:
            levels.append([str(each) for each in (one if isinstance(one, list) else [one])])
    return levels


# ---------------------------------------------------------------- exported JSON


def _exported(path: Path) -> Iterator[VssSignal]:
    try:
        root = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise FileError("not JSON", place=Place(str(path))) from None
    if not isinstance(root, dict):
        raise FileError("no exported VSS tree", place=Place(str(path)), want="nodes by name")
    yield from _children(path, root, "", 0)


def _children(path: Path, nodes: Mapping[str, Any], above: str, depth: int) -> Iterator[VssSignal]:
    for name, node in nodes.items():
        whole = f"{above}.{name}" if above else name
        if not isinstance(node, dict) or depth > DEEPEST:
            raise FileError("not a node", place=Place(str(path)), at=whole)
        if node.get("type") in SIGNALS:
            yield _signal(path, whole, node)
        elif isinstance(node.get("children"), dict):
            yield from _children(path, node["children"], whole, depth + 1)


def _signal(path: Path, name: str, node: Node) -> VssSignal:
    datatype = node.get("datatype")
    if not isinstance(datatype, str):
        raise FileError("a signal without a datatype", place=Place(str(path)), at=name)
    allowed = node.get("allowed")
    return VssSignal(
        name,
        str(node["type"]),
        datatype,
        str(node.get("unit") or ""),
        " ".join(str(node.get("description") or "").split()),
        tuple(str(one) for one in allowed) if isinstance(allowed, list) else (),
    )


# ---------------------------------------------------------------- a source of a query


def column_names(signals: Sequence[VssSignal]) -> dict[str, str]:
    """A column for each signal: the last part of its name in lower case, with more parts before it
    where two would be called the same."""
    parts = {one.name: [_snake(part) for part in one.name.split(".")] for one in signals}
    names: dict[str, str] = {}
    for name, mine in parts.items():
        for length in range(1, len(mine) + 1):
            tried = "_".join(mine[-length:])
            others = ("_".join(p[-length:]) for other, p in parts.items() if other != name)
            if tried not in others and tried not in _TAKEN:
                names[name] = tried
                break
        else:
            names[name] = "_".join(mine)
    return names


_TAKEN = ("timestamp", "arrived_at", "vehicle", "window_start", "window_end")


def _snake(part: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", part).lower()


def source_text(catalogue: VssCatalogue, source: str, signals: Sequence[VssSignal]) -> str:
    """The source as it stands in a query, and how the address of its messages names the signals."""
    names = column_names(signals)
    pairs = ",".join(f"{names[one.name]}:{one.name}" for one in signals)
    lines = ["sources:", f"  {source}:", "    schema:"]
    for one in signals:
        about = f" {one.description}" if one.description else ""
        lines += [f"      # {one.name}:{about}", f"      {names[one.name]}: {one.column_type}"]
    lines += [
        "    rate: 1 per 100 ms  # VSS says nothing of rates: put in what yours is",
        f"# messages of these names: --source '{source}=mqtt://HOST/TOPIC?columns={pairs}'",
    ]
    return "\n".join(lines) + "\n"
