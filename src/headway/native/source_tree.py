"""The source of a node's program, as the generator makes it of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.errors import UnsupportedError
from headway.model.plan import Plan


@dataclass(frozen=True, slots=True)
class NodeSources:
    """``files``: path inside the node's folder -> text, with the headers of the runtime library
    that are used; ``main``: the one of them that is compiled."""

    files: Mapping[str, str]
    main: str


def node_sources(
    plan: Plan, node: str, policy: str = "s-edf", *, app: tuple[str, ...] = ()
) -> NodeSources:
    """``app``: the sources of the application that is linked in, by their paths in the folder."""
    raise UnsupportedError("no generator of C++ is there yet", at=f"node {node}")
