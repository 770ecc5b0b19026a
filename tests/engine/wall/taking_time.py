"""A clock that only tests move, and an operator that moves it: work that takes its time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headway.engine.clock import ManualClock
from headway.fusion.state import FilterState
from headway.fusion.surroundings import Sighting, SurroundingsFusion
from headway.fusion.track import Measurement
from headway.model.quantities import MILLISECOND
from headway.model.user_operator import ItemByItem, Row, UserOperator, run_to_end

CLOCK = ManualClock()
"""shared by the operators, which are made by the engine, and the tests"""


class Slow(UserOperator):
    """Passes tuples on; takes as long as the parameter ``takes`` says."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        CLOCK.advance(int(self.context.parameters["takes"]))
        return [row for rows in inputs.values() for row in rows]


class SlowFusion(SurroundingsFusion):
    """Takes a millisecond for each later measurement of an object."""

    def update(self, state: FilterState, measurement: Measurement[Sighting]) -> FilterState:
        CLOCK.advance(MILLISECOND)
        return super().update(state, measurement)


class SlowItems(UserOperator):
    """Counts tuples, a millisecond each; notes who called it in the middle."""

    total = 0
    busy = False

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        return run_to_end(self.in_items(inputs, now, timed_out=False))

    def in_items(
        self, inputs: Mapping[str, Sequence[Row]], now: int, *, timed_out: bool
    ) -> ItemByItem:
        assert not self.busy
        self.busy = True
        yield
        for row in [row for rows in inputs.values() for row in rows]:
            CLOCK.advance(MILLISECOND)
            if row[1] < 0:
                self.busy = False
                raise ValueError("less than nothing")
            self.total += int(row[1])
            yield
        self.busy = False
        return [(None, float(self.total))]


class WholeItems(SlowItems):
    """Has a way of its own to execute, so that of the class above is not used."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        CLOCK.advance(3 * MILLISECOND)
        return [(None, -1.0)]


class Anytime(UserOperator):
    """Gives a rough value at once, in the time ``takes``, and one more for each piece of ``piece``,
    if so many are wanted as ``steps`` says."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        CLOCK.advance(int(self.context.parameters["takes"]))
        rows = [row for rows in inputs.values() for row in rows]
        return [(None, 0.0)] * int(max(row[1] for row in rows))

    def refine(self, rows: Sequence[Row], now: int) -> Iterator[Sequence[Row]]:
        for step in range(int(self.context.parameters["steps"])):
            CLOCK.advance(int(self.context.parameters["piece"]))
            if step + 1 == self.context.parameters.get("raises"):
                raise ValueError("enough")
            yield [(None, step + 1.0)] * len(rows)
