"""Operator placement on the architectural graph (AEDSMS section 5.5) as a mixed-integer program.

``placement_problem`` draws the problem from a compilation, ``integer_program`` makes a program of
it, ``placement_solver`` runs it, ``local_search`` betters an answer, ``explain_placement`` says why
there is none.
"""

from __future__ import annotations

from headway.compiler.placement.placement_problem import PlacementProblem, problem_of
from headway.compiler.placement.placement_solver import (
    PlacementOptions,
    PlacementResult,
    solve_placement,
)

__all__ = [
    "PlacementOptions",
    "PlacementProblem",
    "PlacementResult",
    "problem_of",
    "solve_placement",
]
