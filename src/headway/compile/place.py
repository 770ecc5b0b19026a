"""The placement pass: which node runs each operator, and by which route each stream travels."""

from __future__ import annotations

from dataclasses import replace

from headway.compile.compilation import Compilation
from headway.compile.placement.problem import problem_of
from headway.compile.placement.solve import Options, solve_placement


def place(compilation: Compilation, options: Options | None = None) -> Compilation:
    """Places operators with the least network usage, then the flattest load (AEDSMS 5.5)."""
    result = solve_placement(problem_of(compilation), options)
    return replace(compilation, placement=result.placement, routes=result.routes)
