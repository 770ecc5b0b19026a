"""How much shorter the schedules of HVLB_CC are than those of HSV_CC, from tidy rows.

The paper compares the worst SLR of a hundred graphs: the greatest of one algorithm with the
greatest of the other, which need not belong to the same graph. That varies from hundred to hundred,
so it is taken over several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from headway.experiments.hvlb.rows import COMPARED, measured
from headway.experiments.rows import Sample, blocks, grouped, number, sample
from headway.experiments.study import Row

GROUP = 100
"""graphs of the paper's sample"""
BASE = COMPARED[0]
LEAST = "least"
"""what no schedule can beat: all work shared evenly, nothing sent"""


@dataclass(frozen=True)
class Gains:
    """SLR by algorithm and CCR, in the order of the graphs; under ``LEAST`` the bound."""

    found: dict[tuple[str, float], Sequence[float]]

    def mean(self, name: str, ccr: float) -> float:
        """How much shorter than HSV_CC in the mean."""
        return 1 - fmean(self.found[name, ccr]) / fmean(self.found[BASE, ccr])

    def hundreds(self, name: str, ccr: float) -> list[float]:
        """How much shorter the worst SLR is in each hundred of graphs."""
        ours, theirs = self.found[name, ccr], self.found[BASE, ccr]
        return [
            1 - max(ours[first : first + count]) / max(theirs[first : first + count])
            for first, count in blocks(len(ours), GROUP)
        ]

    def worst(self, name: str, ccr: float) -> Sample:
        """The same over all hundreds."""
        return sample(self.hundreds(name, ccr))

    def told(self, name: str, ratios: Sequence[float]) -> str:
        return ", ".join(f"{self.worst(name, ccr).percent()} at {ccr:g}" for ccr in ratios)


def gains_of(rows: Sequence[Row], ratios: Sequence[float]) -> Gains:
    groups = grouped(rows, "algorithm", "ccr")
    found: dict[tuple[str, float], Sequence[float]] = {
        (name, ccr): measured(groups[name, ccr], "slr") for name in COMPARED for ccr in ratios
    }
    found |= {
        (LEAST, ccr): [number(row, "least_slr") for row in groups[BASE, ccr]] for ccr in ratios
    }
    return Gains(found)
