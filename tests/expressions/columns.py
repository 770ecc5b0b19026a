"""The columns that the tests of this folder use."""

from __future__ import annotations

from typing import Any

from headway.expressions.check import check
from headway.expressions.rows import compile_value
from headway.expressions.scope import Scope
from headway.model.expression import Sql
from headway.model.expression_tree import Typed
from headway.model.schema import schema

RADAR = schema(
    speed="double [m/s]",
    distance="double [m]",
    heading="double [deg]",
    id="int",
    big="bigint",
    small="float",
    name="string(20)",
    ok="boolean",
    seen="timestamp",
)
ROW = Scope.row(RADAR)
JOIN = Scope.join({"radar": RADAR, "own": schema(speed="double [m/s]", lane="int")})
WINDOW = Scope.aggregate(RADAR)
EMPTY: tuple[Any, ...] = (0, *[None] * len(RADAR.fields))


def typed(text: str) -> Typed:
    return check(Sql(text), ROW)


def value(text: str, **columns: Any) -> Any:
    """The expression on a row that is NULL but for the given columns."""
    row = [columns.get(field.name) for field in RADAR.columns]
    row[0] = columns.get("timestamp", 0)
    return compile_value(typed(text), ROW)(tuple(row))
