"""What runs on Spark give in numbers: a query's run, a fleet's, and where a live query stands.

Nothing here knows of Spark, so that reports can show it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from headway.engine.operators.operator_base import DropKind
from headway.engine.results import OutputSummary, output_data, weighted_miss_ratio


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


def hard_misses(outputs: Iterable[OutputSummary]) -> list[str]:
    """The hard outputs that missed a deadline."""
    return [one.output for one in outputs if one.hard and one.misses]


@dataclass(frozen=True)
class SideCount:
    """Tuples that left their way at one source or operator; ``kind``: late, failed, …"""

    kind: str
    where: str
    tuples: int


@dataclass(frozen=True)
class OperatorRows:
    """Tuples into and out of a source or operator; None for what happens inside the engine that
    Spark's tasks run."""

    operator: str
    taken: int | None
    given: int | None


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
    operators: tuple[OperatorRows, ...] = ()
    """where they were asked for"""

    @property
    def miss_ratio(self) -> float:
        return weighted_miss_ratio([one for one in self.outputs if one.judged])

    @property
    def hard_misses(self) -> list[str]:
        return hard_misses(self.outputs)

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
            **({"operators": [asdict(one) for one in self.operators]} if self.operators else {}),
        }


# ---------------------------------------------------------------- fleets


@dataclass(frozen=True)
class VehicleOutput:
    """One output in one vehicle; latencies in nanoseconds."""

    vehicle: str
    output: str
    tuples: int
    misses: int
    latency_median: int
    latency_99: int
    latency_max: int


@dataclass(frozen=True, kw_only=True)
class FleetRun:
    vehicles: int
    outputs: tuple[OutputSummary, ...]
    """over all vehicles"""
    by_vehicle: tuple[VehicleOutput, ...]
    counts: dict[str, int]
    seconds: float
    notes: tuple[str, ...] = ()
    met: int = 0
    """cars on collision course with some vehicle, where the fleet drives through a world"""
    crashes: int = 0
    """how many of them were noticed too late to stop"""

    @property
    def miss_ratio(self) -> float:
        """Weighted over outputs with tuples, as for one vehicle."""
        return weighted_miss_ratio(self.outputs)

    @property
    def hard_misses(self) -> list[str]:
        return hard_misses(self.outputs)

    def worst(self, output: str, most: int = 3) -> list[VehicleOutput]:
        """The vehicles with the most misses and then the longest latencies of one output."""
        mine = [one for one in self.by_vehicle if one.output == output]
        return sorted(mine, key=lambda one: (-one.misses, -one.latency_max, one.vehicle))[:most]

    def data(self) -> dict[str, Any]:
        """For ``summary.json``; times are in nanoseconds."""
        return {
            "vehicles": self.vehicles,
            "seconds": round(self.seconds, 3),
            "miss_ratio": self.miss_ratio,
            **self.counts,
            "notes": list(self.notes),
            **({"met": self.met, "crashes": self.crashes} if self.met else {}),
            "outputs": [
                {
                    **asdict(output),
                    "miss_ratio": output.miss_ratio,
                    "worst": [asdict(one) for one in self.worst(output.output)],
                }
                for output in self.outputs
            ],
        }


# ---------------------------------------------------------------- live queries


RECENT_S = 10.0


@dataclass
class StreamPace:
    """Rows a second that came out lately. Spark's own rate counts files, not what is in them."""

    _seen: deque[tuple[float, int]] = field(default_factory=lambda: deque([(0.0, 0)]))

    def note(self, at_s: float, rows: int) -> None:
        """``rows`` in all by then; one moment before the time that counts is kept."""
        self._seen.append((at_s, rows))
        while len(self._seen) > 2 and self._seen[1][0] < at_s - RECENT_S:
            self._seen.popleft()

    def rows_per_second(self, at_s: float) -> float:
        first_at, first = self._seen[0]
        took = at_s - max(first_at, at_s - RECENT_S)
        return (self._seen[-1][1] - first) / took if took > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class OutputProgress:
    """``batch_ms`` is how long the last micro-batch took; ``lag_s`` is how far behind the clock the
    newest tuple was sensed."""

    output: str
    hard: bool
    batches: int
    rows_per_second: float
    batch_ms: int | None
    lag_s: float | None
    tuples: int
    judged: int
    """of them, tuples that could have been in time"""
    misses: int
    doing: str
    """what Spark says it is doing; before the first micro-batch all that there is to see"""
