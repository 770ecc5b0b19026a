"""Latencies of a stream that never ends, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from headway.runtime.results import Latencies
from headway.spark.accounting import Account
from headway.spark.results import SparkOutput

BINS_PER_DOUBLING = 70
"""bins 1 % wide: percentiles are right to that"""


@dataclass
class Tally:
    """Counts and a histogram on a logarithmic scale of one output, since this process began."""

    account: Account
    tuples: int = 0
    replayed: int = 0
    misses: int = 0
    worst: int = 0
    newest: int = 0
    """the newest timestamp written, in microseconds"""
    _bins: dict[int, int] = field(default_factory=dict)

    def add(self, sensed_us: Latencies, completed_us: int) -> None:
        """Rows that were completed at one moment."""
        latency = completed_us - sensed_us
        live = sensed_us + self.account.deadline >= self.account.began
        self.tuples += len(latency)
        self.replayed += int((~live).sum())
        latency = latency[live]
        self.newest = max(self.newest, int(sensed_us.max(initial=0)))
        if not len(latency):
            return
        self.misses += int((latency > self.account.deadline).sum())
        self.worst = max(self.worst, int(latency.max()))
        scaled = np.log2(np.maximum(latency, 1)) * BINS_PER_DOUBLING
        for place, count in zip(*np.unique(np.ceil(scaled).astype(int), return_counts=True),
                                strict=True):  # fmt: skip
            self._bins[int(place)] = self._bins.get(int(place), 0) + int(count)

    def percentile(self, share: float) -> int:
        """In microseconds."""
        wanted = share * sum(self._bins.values())
        seen = 0
        for place in sorted(self._bins):
            seen += self._bins[place]
            if seen >= wanted:
                return min(self.worst, round(2 ** (place / BINS_PER_DOUBLING)))
        return 0

    def summary(self) -> SparkOutput:
        return self.account.summary(
            {
                "tuples": self.tuples,
                "replayed": self.replayed,
                "misses": self.misses,
                "percentiles": [self.percentile(0.5) * 1000, self.percentile(0.99) * 1000],
                "latency_max": self.worst * 1000,
            }
        )
