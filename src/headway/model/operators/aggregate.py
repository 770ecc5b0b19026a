"""Aggregate: groups the tuples of a window of sensing time by keys.

Windows are aligned to the epoch: ``[k * every, k * every + window)``. A window closes when no
tuple of it can come any more: every source's newest timestamp has passed its end by the source's
lateness, or the input has ended. The output takes the oldest timestamp of its group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headway.model.expression import Column
from headway.model.operators.base import OperatorBase


@dataclass(frozen=True, kw_only=True)
class Aggregate(OperatorBase):
    """``every`` equal to ``window`` tumbles, a smaller one slides. Output: the keys, then
    ``columns``."""

    window: int
    every: int
    by: tuple[str, ...] = ()
    columns: tuple[Column, ...]
    kind: Literal["aggregate"] = "aggregate"
