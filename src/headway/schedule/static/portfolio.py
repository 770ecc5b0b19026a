"""The best schedule of several algorithms, within a limit of time.

HEFT comes first, so the answer is never worse than HEFT's. The quick ones follow, then HVLB_CC at
some α, HEFT with its order displaced, and last HVLB_CC's exact search, which gives up what cannot
be better than what is known and ends when the time is up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from headway.schedule.static.algorithm import (
    Algorithm,
    AlphaChoice,
    AlphaInterval,
    ExactAlpha,
    FixedAlpha,
    StaticResult,
    always,
)
from headway.schedule.static.cpop import Cpop
from headway.schedule.static.due_times import Merit, due_times, merit
from headway.schedule.static.heft import Heft
from headway.schedule.static.hvlb_cc import HvlbCcA, HvlbCcC
from headway.schedule.static.instance import Instance
from headway.schedule.static.laxity import Laxity
from headway.schedule.static.selection import SAMPLES
from headway.schedule.static.varied import Varied

MOST_BRANCHES = 20_000
"""of an exact search for a graph of one task; for larger ones fewer, so that work is limited where
time is not"""


@dataclass(frozen=True, kw_only=True)
class PortfolioResult(StaticResult):
    """``member``: the algorithm that found the schedule."""

    member: str


class Best(Algorithm):
    """Fewest late tasks, then least lateness, then the shortest; of equals the first found.

    ``going_on`` is asked before each further member and within the longest. Without it the exact
    searches end after so many branches, and the answer is the same on every machine. ``tell`` is
    called with the name of what is tried."""

    name = "best"
    summary = "the best of heft, cpop, laxity, hvlb-cc and heft-varied; never worse than heft"
    paper = "Headway"

    def __init__(
        self,
        going_on: Callable[[], bool] | None = None,
        tell: Callable[[str], None] = lambda name: None,
    ) -> None:
        self.going_on, self.tell = going_on or always, tell
        self.timed = going_on is not None

    def run(self, instance: Instance, alpha: AlphaChoice) -> PortfolioResult:
        search = _PortfolioSearch(instance)
        complete = True
        for number, (member, choice) in enumerate(_members(instance, alpha, self.going_on)):
            if number and not self.going_on():
                complete = False
                break
            self.tell(member.name)
            result = member.run(instance, choice or self._exact(search))
            complete = complete and result.complete
            search.look_at(result)
        assert search.best is not None  # HEFT always has a schedule
        return PortfolioResult(
            algorithm=self.name,
            order=search.order,
            intervals=(search.best,),
            best=search.best,
            complete=complete,
            member=search.member,
        )

    def _exact(self, search: _PortfolioSearch) -> ExactAlpha:
        """Everything that is shorter than the best so far."""
        if self.timed:
            return ExactAlpha(every=False, limit=search.makespan, going_on=self.going_on)
        left = max(64, MOST_BRANCHES // len(search.instance.tasks))

        def going_on() -> bool:
            nonlocal left
            left -= 1
            return left > 0

        return ExactAlpha(every=False, limit=search.makespan, going_on=going_on)


def _members(
    instance: Instance, alpha: AlphaChoice, going_on: Callable[[], bool]
) -> Iterator[tuple[Algorithm, AlphaChoice | None]]:
    """What is tried, the quickest first; None: an exact search for what is still better."""
    anyhow = FixedAlpha()
    yield Heft(), anyhow
    yield Cpop(), anyhow
    if any(due is not None for due in due_times(instance)):
        yield Laxity(), anyhow
    exact = isinstance(alpha, ExactAlpha)
    for member in (HvlbCcC(), HvlbCcA()):
        for point in SAMPLES:
            yield member, FixedAlpha(point) if exact else alpha
            if not exact:
                break
    yield Varied(going_on), anyhow
    if exact:
        yield HvlbCcC(), None
        yield HvlbCcA(), None


class _PortfolioSearch:
    """The best schedule so far."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.merit: Merit | None = None
        self.best: AlphaInterval | None = None
        self.order: tuple[str, ...] = ()
        self.member = ""

    @property
    def makespan(self) -> Fraction | None:
        """What is longer cannot be better: only where nothing is late."""
        if self.best is None or self.merit is None or self.merit.late:
            return None
        return self.best.makespan

    def look_at(self, result: StaticResult) -> None:
        """Takes a result in place of the best, if it is better."""
        for interval in result.intervals:
            limit = self.makespan
            if limit is not None and interval.makespan >= limit:
                continue
            found = merit(self.instance, interval.schedule)
            if self.merit is None or found < self.merit:
                self.merit, self.best = found, interval
                self.member, self.order = result.algorithm, result.order
