"""The passes that need no vehicle: what a query means by itself."""

from __future__ import annotations

from headway.compiler.check_query import check
from headway.compiler.compilation import Compilation, Pass
from headway.compiler.components import expand
from headway.compiler.schemas import infer
from headway.model.plan import ONLY_NODE
from headway.model.query import Query
from headway.model.vehicle import Node, Vehicle

FRONT_END: tuple[Pass, ...] = (check, expand, infer)
"""What ``headway check`` runs; the first of ``PASSES``."""


def check_query(query: Query) -> Compilation:
    """Checks a query alone: structure, components, types."""
    compilation = Compilation(
        query=query, vehicle=Vehicle(name=ONLY_NODE, nodes=(Node(name=ONLY_NODE),)), timed=False
    )
    for run_pass in FRONT_END:
        compilation = run_pass(compilation)
    return compilation
