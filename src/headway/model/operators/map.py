"""Map: computes columns from the columns of one tuple."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headway.model.expression import Column
from headway.model.operators.base import OperatorBase


@dataclass(frozen=True, kw_only=True)
class Map(OperatorBase):
    """``keep`` leaves the other columns in place (``set``); otherwise only ``columns`` remain."""

    columns: tuple[Column, ...]
    keep: bool = False
    kind: Literal["map"] = "map"
