"""Results of static scheduling, gathered for showing: the facts behind tables, JSON and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from headway.model.static_network import Network
from headway.model.taskgraph import TaskGraph
from headway.report.gantt import Chart, time_text
from headway.schedule.static import Metrics, Result
from headway.schedule.static.optimal import Optimum
from headway.schedule.static.periodic import ExitAnswer


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One algorithm's. ``metrics`` is None on a failure. ``exits`` are deadlines and whether they
    are met, where the graph has any."""

    result: Result
    metrics: Metrics | None
    uses_alpha: bool = False
    exits: tuple[ExitAnswer, ...] = ()
    optimum: Optimum | None = None
    hyperperiod: Fraction | None = None
    repeats: bool = True
    """whether the schedule can start again every hyperperiod"""

    @property
    def sound(self) -> bool:
        """Whether there is a schedule that meets every deadline, over and over."""
        met = all(answer.met for answer in self.exits)
        return self.metrics is not None and met and self.repeats


@dataclass(frozen=True, kw_only=True)
class Study:
    """One graph on one network, by one or more algorithms. ``unit`` of the graph's time is one
    ``unit_name``."""

    graph: TaskGraph
    network: Network
    outcomes: Sequence[Outcome]
    unit: Fraction = Fraction(1)
    unit_name: str = ""

    def charts(self) -> list[Chart]:
        """A chart of every schedule that was found."""
        return [
            Chart(
                title=outcome.result.algorithm,
                network=self.network,
                schedule=outcome.result.schedule,
                deadline=self._deadline(outcome),
                note=remark(outcome),
                unit=self.unit,
                unit_name=self.unit_name,
            )
            for outcome in self.outcomes
            if outcome.result.schedule is not None
        ]

    def _deadline(self, outcome: Outcome) -> Fraction | None:
        """Only where one deadline is that of all: several would be a forest of lines."""
        deadlines = {answer.deadline for answer in outcome.exits}
        several = outcome.hyperperiod is not None or len(deadlines) != 1
        return None if several else deadlines.pop()


def remark(outcome: Outcome) -> str:
    """What is to be said besides the numbers."""
    if outcome.result.failure is not None:
        return f"failed: {outcome.result.failure}"
    words = []
    if outcome.optimum is not None:
        proven = outcome.optimum.proven
        words.append("proven optimal" if proven else f"gap at most {percent(outcome.optimum.gap)}")
    if not outcome.repeats:
        words.append("cannot start again after a hyperperiod")
    missed = [answer.task for answer in outcome.exits if not answer.met]
    if missed:
        words.append(f"deadline missed: {', '.join(missed)}")
    return "; ".join(words)


def percent(share: Fraction) -> str:
    return f"{time_text(round(float(share) * 100, 1))} %"
