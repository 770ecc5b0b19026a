"""What a fleet's run gives in numbers. Knows nothing of Spark, so that reports can show it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


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


@dataclass(frozen=True)
class FleetOutput:
    """One output over all vehicles."""

    output: str
    hard: bool
    deadline: int
    weight: float
    tuples: int
    misses: int
    latency_median: int
    latency_99: int
    latency_max: int

    @property
    def miss_ratio(self) -> float:
        return self.misses / self.tuples if self.tuples else 0.0


@dataclass(frozen=True, kw_only=True)
class FleetRun:
    vehicles: int
    outputs: tuple[FleetOutput, ...]
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
        seen = [output for output in self.outputs if output.tuples]
        weight = sum(output.weight for output in seen)
        return sum(o.weight * o.miss_ratio for o in seen) / weight if weight else 0.0

    @property
    def hard_misses(self) -> list[str]:
        return [output.output for output in self.outputs if output.hard and output.misses]

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
