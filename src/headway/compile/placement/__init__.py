"""Operator placement on the architectural graph (AEDSMS section 5.5) as a mixed-integer program.

``problem`` draws the problem from a compilation, ``formulation`` makes a program of it, ``covers``
strengthens that, ``solve`` runs it, ``explain`` says why there is no answer.
"""

from __future__ import annotations

from headway.compile.placement.problem import PlacementProblem, problem_of
from headway.compile.placement.solve import Options, PlacementResult, solve_placement

__all__ = ["Options", "PlacementProblem", "PlacementResult", "problem_of", "solve_placement"]
