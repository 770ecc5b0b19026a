"""What the Spark engine cannot do, as data; a plan that needs it is refused by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from headway.engine.stepwise import Stepwise
from headway.errors import Problem, UnsupportedError
from headway.model.graph import graph_of
from headway.model.operator_kinds import SPARK_BATCH, SPARK_STREAM, VEHICLE, gap_problems
from headway.model.plan import Plan
from headway.model.user_operator import UserOperator, load_class


class Mode(StrEnum):
    BATCH = "batch"
    STREAM = "stream"


_ENGINE = {Mode.BATCH: SPARK_BATCH, Mode.STREAM: SPARK_STREAM}

Finds = Callable[[Plan], Iterator[tuple[str, str]]]
"""plan -> (the element's path, its name) of each place that needs it"""


@dataclass(frozen=True, slots=True)
class Limit:
    """Something a mode cannot do: what it is called, where it is found, why, and what to do."""

    feature: str
    modes: frozenset[Mode]
    finds: Finds
    reason: str
    instead: str


def _case_twins(plan: Plan) -> Iterator[tuple[str, str]]:
    """Columns of one stream that differ in capitals only."""
    for stream, schema in plan.schemas:
        folded = Counter(name.lower() for name in schema.names)
        for name in schema.names:
            if folded[name.lower()] > 1:
                yield f"{stream}.{name}", name


def _forgetful(plan: Plan) -> Iterator[tuple[str, str]]:
    """User classes with attributes of their own and no snapshot."""
    for name, operator in graph_of(plan.query).operators.items():
        implementation = getattr(operator, "implementation", None)
        if implementation is None:
            continue
        found = load_class(implementation)
        opens = found.open is not UserOperator.open or found.__init__ is not UserOperator.__init__
        if opens and found.snapshot is UserOperator.snapshot:
            yield f"operators.{name}", implementation


LIMITS: tuple[Limit, ...] = (
    Limit(
        feature="a column that differs from another in capitals only",
        modes=frozenset(Mode),
        finds=_case_twins,
        reason="Spark does not tell such names apart",
        instead="rename one of them",
    ),
    Limit(
        feature="a user's class that sets itself up and has no snapshot()",
        modes=frozenset({Mode.STREAM}),
        finds=_forgetful,
        reason="its state would be lost between micro-batches",
        instead="define snapshot() and restore(), or run the query in batch mode",
    ),
)


def problems(plan: Plan, mode: Mode) -> list[Problem]:
    """All of a plan that the mode cannot do: kinds of operators first, then the limits."""
    found = list(gap_problems(plan.query.operators, _ENGINE[mode]))
    found += [
        Problem(
            f"{name!r} is not supported on Spark ({mode}): it is {limit.feature}, "
            f"and {limit.reason}",
            at=at,
            want=limit.instead,
        )
        for limit in LIMITS
        if mode in limit.modes
        for at, name in limit.finds(plan)
    ]
    return found


def refuse_unsupported(plan: Plan, mode: Mode) -> None:
    """Refuses what the engine in the car refuses when it is put together (a class that does not
    open, a function that is not there), in its words and before Spark has anything to do; then
    UnsupportedError with all that the mode cannot do."""
    runs_here_and_in_the_car = not any(
        gap for engine in (_ENGINE[mode], VEHICLE)
        for gap in gap_problems(plan.query.operators, engine)
    )  # fmt: skip
    if runs_here_and_in_the_car:
        Stepwise(plan)
    if found := problems(plan, mode):
        raise UnsupportedError(found)
