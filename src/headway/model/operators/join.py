"""Join: pairs tuples of two streams that are close in sensing time and agree on keys.

An output takes the older of both timestamps. With a timeout, a tuple that found no partner in that
time goes out alone, the other side NULL; without one it is an inner join.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headway.model.expression import Column, Expression
from headway.model.operators.base import OperatorBase


@dataclass(frozen=True, kw_only=True)
class Join(OperatorBase):
    """Pairs with ``|t_left - t_right| <= within`` whose ``keys`` (left column, right column) are
    equal.

    ``where`` narrows further; expressions name columns by port: ``radar.x + own.x``. Without
    ``columns`` all columns of both sides go out. ``partners`` (port, n) declares that a tuple of
    that port finds at most n partners: so many pairs come of it in all, whichever side comes
    last."""

    within: int
    keys: tuple[tuple[str, str], ...] = ()
    where: Expression | None = None
    columns: tuple[Column, ...] = ()
    partners: tuple[str, int] | None = None
    kind: Literal["join"] = "join"
