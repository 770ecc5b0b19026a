"""Union: merges streams of one schema, tuple by tuple."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headway.model.operators.base import OperatorBase


@dataclass(frozen=True, kw_only=True)
class Union(OperatorBase):
    kind: Literal["union"] = "union"
