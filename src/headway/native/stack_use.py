"""How deep the stack of a program can become, read from the call graphs that gcc writes.

With ``-fcallgraph-info=su`` gcc writes a ``.ci`` file for each source: its functions with the bytes
of their frames, and who calls whom. The depth is that of the deepest path of calls:

- A call through a pointer may reach every virtual function and every function that nobody calls by
  its name (those stand in tables).
- Functions that can reach each other count with all their frames, once each. So the number is an
  upper bound for a program in which no function is active twice.
- Functions of libraries (``printf``, ``sendto``) do not count: gcc does not see into them.

A function that takes memory from the stack by a size that is known only when it runs has no bound.
Other compilers write no such graph; then the depth is unknown, which is None here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

CALL_GRAPHS = ("-fcallgraph-info=su",)
"""gcc 10 or newer"""

_NODE = re.compile(r'^node: \{ title: "(?P<title>[^"]*)" label: "(?P<label>(?:[^"\\]|\\.)*)"')
_EDGE = re.compile(r'^edge: \{ sourcename: "(?P<caller>[^"]*)" targetname: "(?P<called>[^"]*)"')
_FRAME = re.compile(r"\\n(?P<bytes>\d+) bytes \((?P<how>[a-z,]+)\)")
_INDIRECT = "__indirect_call"


@dataclass(slots=True)
class CallGraph:
    """``frames``: function -> bytes of its frame, None where they have no bound. ``calls``:
    function -> those it calls. ``virtual``: those that a table of virtual functions may lead to."""

    frames: dict[str, int | None] = field(default_factory=dict)
    calls: dict[str, set[str]] = field(default_factory=dict)
    virtual: set[str] = field(default_factory=set)

    def read(self, text: str) -> None:
        """Adds what a ``.ci`` file says."""
        for line in text.splitlines():
            if node := _NODE.match(line):
                self._add_function(node["title"], node["label"])
            elif edge := _EDGE.match(line):
                self.calls.setdefault(edge["caller"], set()).add(edge["called"])

    def _add_function(self, title: str, label: str) -> None:
        frame = _FRAME.search(label)
        if frame is None:  # declared here, defined elsewhere
            return
        bounded = frame["how"] != "dynamic"
        self.frames[title] = int(frame["bytes"]) if bounded else None
        if label.startswith("virtual "):
            self.virtual.add(title)

    def reached(self) -> dict[str, Set[str]]:
        """Function -> the functions it may call, by name or through a pointer."""
        named = set().union(*self.calls.values()) if self.calls else set()
        by_pointer = self.virtual | (self.frames.keys() - named - {"main"})
        reached: dict[str, Set[str]] = {}
        for function in self.frames:
            called = self.calls.get(function, set())
            pointers = by_pointer if _INDIRECT in called else set()
            reached[function] = (called & self.frames.keys()) | pointers
        return reached


def deepest_stack(files: Iterable[Path]) -> int | None:
    """Bytes, of all ``.ci`` files of a program together; None where that cannot be told."""
    graph = CallGraph()
    for path in files:
        graph.read(path.read_text(encoding="utf-8", errors="replace"))
    if not graph.frames:
        return None
    frames = {name: size for name, size in graph.frames.items() if size is not None}
    if len(frames) < len(graph.frames):
        return None
    return _deepest(frames, graph.reached())


def _deepest(frames: Mapping[str, int], reached: Mapping[str, Set[str]]) -> int:
    """The heaviest path through the groups of functions that reach each other."""
    group_of: dict[str, int] = {}
    depths: list[int] = []
    for group in _groups(reached):  # those that are called come first
        for name in group:
            group_of[name] = len(depths)
        below = {group_of[other] for name in group for other in reached[name]} - {len(depths)}
        own = sum(frames[name] for name in group)
        depths.append(own + max((depths[place] for place in below), default=0))
    return max(depths)


def _groups(reached: Mapping[str, Set[str]]) -> Iterator[list[str]]:
    """Strongly connected components, callees first (Tarjan 1972), without recursion: call graphs
    are deeper than Python's stack."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    waiting: list[str] = []
    grouped: set[str] = set()
    for root in sorted(reached):
        if root in number:
            continue
        path = [(root, iter(sorted(reached[root])))]
        number[root] = low[root] = len(number)
        waiting.append(root)
        while path:
            name, others = path[-1]
            for other in others:
                if other not in number:
                    number[other] = low[other] = len(number)
                    waiting.append(other)
                    path.append((other, iter(sorted(reached[other]))))
                    break
                if other not in grouped:
                    low[name] = min(low[name], number[other])
            else:
                path.pop()
                if path:
                    caller = path[-1][0]
                    low[caller] = min(low[caller], low[name])
                if low[name] == number[name]:
                    first = waiting.index(name)
                    group = waiting[first:]
                    del waiting[first:]
                    grouped.update(group)
                    yield group
