"""All files of a program: what is generated of the plan, and those headers of the runtime library
that it uses, found by following their includes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from headway.model.plan import Plan
from headway.native.cpp_application import APPLICATION, application_text
from headway.native.cpp_node import NODE, node_text
from headway.native.cpp_process import Carrier, main_text
from headway.native.cpp_program import write_program
from headway.native.program_layout import node_layout
from headway.native.toolchain import RUNTIME

MAIN = "main.cpp"
_INCLUDE = re.compile(r'^\s*#\s*include\s+"(headway/[\w./-]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class NodeSources:
    """``files``: path inside the node's folder -> text, with the headers of the runtime library
    that are used; ``main``: the one of them that is compiled."""

    files: Mapping[str, str]
    main: str


def node_sources(
    plan: Plan,
    node: str,
    policy: str = "s-edf",
    *,
    app: tuple[str, ...] = (),
    carriers: Collection[Carrier] = (),
) -> NodeSources:
    """The program of one node. ``app``: the sources of the application that is linked in, by their
    paths in the folder; ``carriers``: what brings its tuples to other nodes."""
    program = write_program(node_layout(plan, node, policy))
    files = dict(program.files)
    files[NODE] = node_text(program)
    files[MAIN] = main_text(program, carriers, has_app=bool(app))
    if app:
        files[APPLICATION] = application_text(program)
    return NodeSources(with_runtime(files), MAIN)


def with_runtime(files: Mapping[str, str]) -> dict[str, str]:
    """The files, and every header of the runtime library that one of them needs."""
    return {**files, **used_headers(files.values())}


def used_headers(texts: Iterable[str]) -> dict[str, str]:
    """Path -> text of the runtime's headers that these texts include, and those that these
    include."""
    found: dict[str, str] = {}
    pending = [name for text in texts for name in _INCLUDE.findall(text)]
    while pending:
        name = pending.pop()
        if name not in found:
            found[name] = _header(name)
            pending += _INCLUDE.findall(found[name])
    return dict(sorted(found.items()))


@cache
def _header(name: str) -> str:
    return (RUNTIME / name).read_text(encoding="utf-8")
