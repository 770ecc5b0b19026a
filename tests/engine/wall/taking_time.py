"""A clock that only tests move, and an operator that moves it: work that takes its time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headway.engine.clock import ManualClock
from headway.model.user_operator import Row, UserOperator

CLOCK = ManualClock()
"""shared by the operators, which are made by the engine, and the tests"""


class Slow(UserOperator):
    """Passes tuples on; takes as long as the parameter ``takes`` says."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        CLOCK.advance(int(self.context.parameters["takes"]))
        return [row for rows in inputs.values() for row in rows]
