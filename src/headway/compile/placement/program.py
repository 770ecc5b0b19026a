"""A mixed-integer linear program built row by row and solved by HiGHS (``scipy.optimize.milp``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, vstack

INFINITY = float("inf")
_OPTIMAL, _INFEASIBLE = 0, 2

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """``values`` is None when nothing was found: because there is nothing (``infeasible``) or
    because the time was over. ``bound`` is proven: no solution has a lower objective."""

    values: Values | None
    bound: float
    infeasible: bool
    optimal: bool
    message: str


@dataclass(frozen=True)
class Relaxation:
    """``reduced`` is what the objective grows by, at least, per unit of a column that is 0 here."""

    values: Values
    objective: float
    reduced: Values


class Program:
    """Columns with bounds, rows ``lower <= sum of terms <= upper``."""

    def __init__(self) -> None:
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._integer: list[bool] = []
        self._terms: list[tuple[int, int, float]] = []
        self._rows: list[tuple[float, float]] = []

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self._rows), len(self._lower)

    def column(self, lower: float = 0.0, upper: float = 1.0, *, integer: bool = False) -> int:
        self._lower.append(lower)
        self._upper.append(upper)
        self._integer.append(integer)
        return len(self._lower) - 1

    def limit(self, column: int, upper: float) -> None:
        """Lowers a column's upper bound."""
        self._upper[column] = min(self._upper[column], upper)

    def row(
        self,
        terms: Iterable[tuple[int, float]],
        lower: float = -INFINITY,
        upper: float = INFINITY,
    ) -> None:
        index = len(self._rows)
        self._terms.extend((index, column, factor) for column, factor in terms if factor)
        self._rows.append((lower, upper))

    def minimise(
        self, objective: Mapping[int, float], *, seconds: float, relative_gap: float = 0.0
    ) -> Solution:
        """The least objective found within the time, and how good it is proven to be."""
        matrix, lower, upper = self._matrix()
        found = milp(
            self._costs(objective),
            integrality=np.array(self._integer, dtype=np.int64),
            bounds=Bounds(np.array(self._lower), np.array(self._upper)),
            constraints=LinearConstraint(matrix, lower, upper),
            options={"time_limit": max(seconds, 0.01), "mip_rel_gap": relative_gap},
        )
        bound = found.mip_dual_bound
        return Solution(
            values=found.x,
            bound=-INFINITY if bound is None else float(bound),
            infeasible=found.status == _INFEASIBLE,
            optimal=found.status == _OPTIMAL,
            message=str(found.message),
        )

    def relax(self, objective: Mapping[int, float], *, seconds: float) -> Relaxation | None:
        """The least objective when no column need be a whole number; None when none was found."""
        matrix, lower, upper = self._matrix()
        equal = lower == upper
        below, above = ~equal & np.isfinite(upper), ~equal & np.isfinite(lower)
        found = linprog(
            self._costs(objective),
            A_ub=cast(Any, vstack([matrix[below], -matrix[above]])),  # the stubs know dense only
            b_ub=np.concatenate([upper[below], -lower[above]]),
            A_eq=cast(Any, matrix[equal]),
            b_eq=upper[equal],
            bounds=list(zip(self._lower, self._upper, strict=True)),
            method="highs",
            options={"time_limit": max(seconds, 0.01)},
        )
        if found.status != _OPTIMAL or found.fun is None:
            return None
        return Relaxation(
            values=np.asarray(found.x),
            objective=float(found.fun),
            reduced=np.asarray(found.lower.marginals),
        )

    def _costs(self, objective: Mapping[int, float]) -> Values:
        costs = np.zeros(len(self._lower))
        for column, cost in objective.items():
            costs[column] = cost
        return costs

    def _matrix(self) -> tuple[csr_array[np.float64, tuple[int, int]], Values, Values]:
        rows = np.array([row for row, _, _ in self._terms], dtype=np.int64)
        columns = np.array([column for _, column, _ in self._terms], dtype=np.int64)
        factors = np.array([factor for _, _, factor in self._terms], dtype=np.float64)
        shape = (len(self._rows), len(self._lower))
        matrix = csr_array((factors, (rows, columns)), shape=shape)
        lower, upper = np.array(self._rows, dtype=np.float64).reshape(-1, 2).T
        return matrix, lower, upper
