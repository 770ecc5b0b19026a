"""What a run on Spark gives in numbers. Knows nothing of Spark, so that reports can show it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from headway.runtime.operators.base import DropKind
from headway.runtime.results import OutputSummary, weighted_miss_ratio
from headway.runtime.totals import output_data


@dataclass(frozen=True, kw_only=True)
class SparkOutput(OutputSummary):
    """Misses and latencies are of the tuples that were not replayed."""

    replayed: int

    @property
    def judged(self) -> int:
        return self.tuples - self.replayed

    @property
    def miss_ratio(self) -> float:
        return self.misses / self.judged if self.judged else 0.0


@dataclass(frozen=True)
class SideCount:
    """Tuples that left their way at one source or operator; ``kind``: late, failed, …"""

    kind: str
    where: str
    tuples: int


@dataclass(frozen=True, kw_only=True)
class SparkRun:
    """A finished (or stopped) run."""

    outputs: tuple[SparkOutput, ...]
    seconds: float
    rows_in: int | None = None
    batches: int | None = None
    restarts: int = 0
    side: tuple[SideCount, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def miss_ratio(self) -> float:
        return weighted_miss_ratio([one for one in self.outputs if one.judged])

    @property
    def hard_misses(self) -> list[str]:
        return [one.output for one in self.outputs if one.hard and one.misses]

    @property
    def replayed(self) -> bool:
        """Whether every tuple was computed after its deadline had passed already."""
        return any(one.tuples for one in self.outputs) and not any(o.judged for o in self.outputs)

    def dropped(self, kind: str) -> int:
        """How many tuples left their way."""
        return sum(one.tuples for one in self.side if one.kind == kind)

    def data(self) -> dict[str, Any]:
        """For ``summary.json``; times in nanoseconds say so in their names."""
        return {
            "seconds": round(self.seconds, 3),
            "rows_in": self.rows_in,
            "batches": self.batches,
            "restarts": self.restarts,
            "replay": self.replayed,
            "miss_ratio": self.miss_ratio,
            "outputs": [output_data(one) for one in self.outputs],
            **{kind.value: self.dropped(kind) for kind in DropKind},
            "side": [asdict(one) for one in self.side],
            "notes": list(self.notes),
        }
