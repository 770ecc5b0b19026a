"""How many tuples an output has given, and how late they were, in bounded memory.

A task tallies the rows it writes; the driver adds the tasks' tallies up, micro-batch after
micro-batch, and keeps the sum with the batch. Latencies are counted in bins on a logarithmic scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headway.engine.results import Latencies

BINS_PER_DOUBLING = 70
"""bins 1 % wide: percentiles are right to that"""


@dataclass
class Tally:
    """Of one output; times are microseconds."""

    tuples: int = 0
    replayed: int = 0
    misses: int = 0
    worst: int = 0
    newest: int = 0
    """the newest timestamp written"""
    bins: dict[int, int] = field(default_factory=dict)

    def add(self, sensed: Latencies, completed: int, deadline: int, began: int) -> None:
        """Rows that were completed at one moment; ``deadline`` is relative. Those whose deadline
        had passed when the run began are not judged."""
        if not len(sensed):
            return
        latency = completed - sensed
        live = sensed + deadline >= began
        self.tuples += len(latency)
        self.newest = max(self.newest, int(sensed.max()))
        if not live.all():
            self.replayed += int((~live).sum())
            latency = latency[live]
        if not len(latency):
            return
        self.misses += int((latency > deadline).sum())
        self.worst = max(self.worst, int(latency.max()))
        scaled = np.ceil(np.log2(np.maximum(latency, 1)) * BINS_PER_DOUBLING).astype(np.int64)
        counted = np.bincount(scaled)
        for place in np.flatnonzero(counted).tolist():
            self.bins[place] = self.bins.get(place, 0) + int(counted[place])

    def merge(self, other: Tally) -> None:
        """The rows of another one too."""
        self.tuples += other.tuples
        self.replayed += other.replayed
        self.misses += other.misses
        self.worst = max(self.worst, other.worst)
        self.newest = max(self.newest, other.newest)
        for place, count in other.bins.items():
            self.bins[place] = self.bins.get(place, 0) + count

    def percentile(self, share: float) -> int:
        """Of the latencies that were judged."""
        wanted = share * sum(self.bins.values())
        seen = 0
        for place in sorted(self.bins):
            seen += self.bins[place]
            if seen >= wanted:
                return min(self.worst, round(2 ** (place / BINS_PER_DOUBLING)))
        return 0

    def measured(self) -> dict[str, Any]:
        """As :meth:`headway.spark.accounting.Account.summary` reads it, in nanoseconds."""
        return {
            "tuples": self.tuples,
            "replayed": self.replayed,
            "misses": self.misses,
            "percentiles": [self.percentile(0.5) * 1000, self.percentile(0.99) * 1000],
            "latency_max": self.worst * 1000,
        }

    def data(self) -> dict[str, Any]:
        """For JSON; :func:`tally_from` reads it."""
        return {
            "tuples": self.tuples,
            "replayed": self.replayed,
            "misses": self.misses,
            "worst": self.worst,
            "newest": self.newest,
            "bins": {str(place): count for place, count in sorted(self.bins.items())},
        }


def tally_from(data: Mapping[str, Any]) -> Tally:
    """KeyError, TypeError or ValueError if it is none."""
    return Tally(
        tuples=int(data["tuples"]),
        replayed=int(data["replayed"]),
        misses=int(data["misses"]),
        worst=int(data["worst"]),
        newest=int(data["newest"]),
        bins={int(place): int(count) for place, count in data["bins"].items()},
    )
