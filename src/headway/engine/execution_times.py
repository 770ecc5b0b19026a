"""What an execution of an operator takes, where it is not always the worst case that is declared.

Plans and promises count with the worst case, and so does a run unless it is told otherwise: then
nothing depends on chance. With a seed, operators that declare ``best`` take a time between best and
worst, drawn anew for each execution; a search for the latest output shortens them as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Protocol

from headway.model.quantities import Cost

if TYPE_CHECKING:
    from headway.engine.program import Unit


class ExecutionTimes(Protocol):
    """Decides how long executions take."""

    def varies(self, operator: str, cost: Cost) -> bool:
        """Whether it takes another time than the declared cost at all."""

    def next(self, operator: str, cost: Cost) -> Cost:
        """The cost of the next execution; never more than declared."""


@dataclass(slots=True)
class DrawnTimes:
    """Drawn between best and worst. Each operator has numbers of its own, so that its times do not
    depend on what runs beside it: only on the seed and on how often it has run."""

    seed: int
    _randoms: dict[str, Random] = field(default_factory=dict)

    def varies(self, operator: str, cost: Cost) -> bool:
        return cost.varies

    def next(self, operator: str, cost: Cost) -> Cost:
        random = self._randoms.get(operator)
        if random is None:
            random = self._randoms[operator] = Random(f"{self.seed}/{operator}")
        return cost.drawn(random)


@dataclass(frozen=True, slots=True)
class UnitTimes:
    """The operators of a unit on its node, by their place in it."""

    operators: Sequence[str]
    costs: Sequence[Cost]
    speed: Fraction | int
    times: ExecutionTimes

    def of_tuple(self, place: int) -> int:
        """Nanoseconds of an execution for one tuple, all the items that are declared included."""
        return self.times.next(self.operators[place], self.costs[place]).worst(self.speed)

    def of_batch(self) -> int:
        """Nanoseconds of the base part of a head that gathers."""
        return self.times.next(self.operators[0], self.costs[0]).of(0, self.speed)


def vary(units: Sequence[Unit], times: ExecutionTimes, cost_of: Callable[[str], Cost]) -> None:
    """Has the units ask how long they take. One that does is not run as a whole: each of its
    operators takes a time of its own."""
    for unit in units:
        costs = [cost_of(name) for name in unit.operators]
        if unit.free or not any(map(times.varies, unit.operators, costs)):
            continue
        unit.times = UnitTimes(unit.operators, costs, unit.speed, times)
        unit.whole = None
