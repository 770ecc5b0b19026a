"""Filter: passes the tuples for which a condition is true (not false, not NULL)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headway.model.expression import Expression
from headway.model.operators.base import OperatorBase


@dataclass(frozen=True, kw_only=True)
class Filter(OperatorBase):
    where: Expression
    kind: Literal["filter"] = "filter"
