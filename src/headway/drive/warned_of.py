"""Which cars output2 tells a time to collision (TTC) of.

The example computes one for every car that comes nearer. S-EDF's o10 does so "for surrounding cars
that cross our car" only (its section 6.2.1); how it finds them is not printed. With (d, w) position
and velocity of the other relative to ours, v₀ and v₁ the velocities, and a × b = aₓbᵧ − aᵧbₓ, the
lines on which both drive cross where ours is after t₀ and the other after t₁ seconds:

    t₀ = d × v₁ / (v₀ × v₁)        t₁ = d × v₀ / (v₀ × v₁)        t₀ − t₁ = d × w / (v₀ × v₁)

A car *crosses* ours if the lines meet at 30° or more and both times are still to come; it *meets*
ours if, besides, the two times are at most half a second apart. The 30° and the half second are
assumed: lanes that bend are no crossing, and a car's length and width at 60 km/h take 0.4 s.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from headway.errors import InputError
from headway.model.expression import Column, Sql
from headway.model.operators import Join, Map
from headway.model.query import Query, Step

LEAST_SINE_SQUARED = 0.25
"""of 30°"""
APART = 0.5
"""seconds between the two cars where their ways cross"""


class WarnedOf(StrEnum):
    """The cars with a TTC."""

    CLOSING = "closing"
    """all that come nearer, as the example's query says"""
    CROSSING = "crossing"
    """of these the ones whose way crosses ours ahead of both, as S-EDF says"""
    MEETING = "meeting"
    """of these the ones that are there when we are"""


_ACROSS = "(vx * dvy - vy * dvx)"
"""v₀ × v₁, which is v₀ × w"""
_OURS, _SPREAD = "(dx * vy - dy * vx)", "(dx * dvy - dy * dvx)"
"""d × v₀ and d × w; d × v₁ is their sum"""
_CLOSING = "dx * dvx + dy * dvy < 0"
_CROSSING = (
    f"{_ACROSS} * {_ACROSS} >= {LEAST_SINE_SQUARED} * (vx * vx + vy * vy)"
    " * ((vx + dvx) * (vx + dvx) + (vy + dvy) * (vy + dvy))"
    f" AND {_OURS} * {_ACROSS} > 0 AND ({_OURS} + {_SPREAD}) * {_ACROSS} > 0"
)
_MEETING = f"ABS({_SPREAD}) <= with_unit({APART} * ABS({_ACROSS}), 'm^2/s')"
CONDITIONS = {
    WarnedOf.CLOSING: _CLOSING,
    WarnedOf.CROSSING: f"{_CLOSING} AND {_CROSSING}",
    WarnedOf.MEETING: f"{_CLOSING} AND {_CROSSING} AND {_MEETING}",
}
"""SQL, of the columns of the example's join2 and our own velocity vx, vy"""
_RELATIVE = frozenset({"dx", "dy", "dvx", "dvy"})
_OWN = "own"
"""the port of that join where our car comes in"""


def warning_of(query: Query, warned_of: WarnedOf) -> Query:
    """The query with a TTC of these cars only; InputError where output2 does not make it from a
    join with our own car, as the example does."""
    if warned_of is WarnedOf.CLOSING:
        return query
    stream = next(one.stream for one in query.outputs if one.name == "output2")
    steps = {step.name: step for step in query.steps}
    made = steps.get(stream)
    joined = steps.get(made.streams[0]) if isinstance(made, Map) else None
    if not (
        isinstance(made, Map)
        and isinstance(joined, Join)
        and "ttc" in {column.name for column in made.columns}
        and {column.name for column in joined.columns} >= _RELATIVE
        and _OWN in {input.port for input in joined.inputs}
    ):
        raise InputError(
            "the TTC of output2 is not made as in the example",
            at="outputs.output2",
            want="write into the query which cars have one, and leave the choice out here",
        )
    relative = replace(joined, columns=(*joined.columns, *_OUR_VELOCITY))
    ttc = Sql(
        f"CASE WHEN {CONDITIONS[warned_of]} THEN (dx * dx + dy * dy) / -(dx * dvx + dy * dvy) END"
    )
    told = replace(
        made,
        columns=tuple(
            replace(column, value=ttc) if column.name == "ttc" else column
            for column in made.columns
        ),
    )
    changed: dict[str, Step] = {joined.name: relative, made.name: told}
    return replace(query, steps=tuple(changed.get(step.name, step) for step in query.steps))


_OUR_VELOCITY = tuple(Column(name=name, value=Sql(f"{_OWN}.{name}")) for name in ("vx", "vy"))
