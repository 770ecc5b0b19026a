"""What a run gives: output tuples with their deadlines, side outputs, counts, a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from headway.model.quantities import MICROSECOND
from headway.model.query import Criticality, Query
from headway.runtime.operators.base import Dropped, Row

Latencies = np.ndarray[tuple[int], np.dtype[np.int64]]
"""Nanoseconds from sensing to insertion in the output stream."""


class OutputTuple(NamedTuple):
    """A tuple of an output stream and how it stands to its deadline (all times in ns)."""

    row: Row
    completed: int
    deadline: int

    @property
    def missed(self) -> bool:
        return self.completed > self.deadline

    @property
    def latency(self) -> int:
        """From sensing to insertion in the output stream."""
        return self.completed - int(self.row[0]) * MICROSECOND


@dataclass(slots=True)
class OutputRecord:
    """All tuples of one output, in order of completion."""

    name: str
    relative_deadline: int
    weight: float
    hard: bool
    rows: list[Row] = field(default_factory=list)
    completed: list[int] = field(default_factory=list)

    def extend(self, rows: list[Row], completed: int) -> None:
        """Many tuples, completed at one time."""
        self.rows += rows
        self.completed += [completed] * len(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[OutputTuple]:
        for row, completed in zip(self.rows, self.completed, strict=True):
            yield OutputTuple(row, completed, row[0] * MICROSECOND + self.relative_deadline)

    @property
    def latencies(self) -> Latencies:
        sensed = np.fromiter((row[0] for row in self.rows), dtype=np.int64, count=len(self.rows))
        return np.array(self.completed, dtype=np.int64) - sensed * MICROSECOND

    @property
    def misses(self) -> int:
        return int((self.latencies > self.relative_deadline).sum())

    def summary(self) -> OutputSummary:
        return self.summary_of(self.latencies)

    def summary_of(self, latencies: Latencies) -> OutputSummary:
        """The summary of an output like this one with these latencies, of several runs, say."""
        some = len(latencies) > 0
        median, high = np.percentile(latencies, [50, 99]) if some else (0.0, 0.0)
        return OutputSummary(
            output=self.name,
            tuples=len(latencies),
            misses=int((latencies > self.relative_deadline).sum()),
            deadline=self.relative_deadline,
            hard=self.hard,
            weight=self.weight,
            latency_median=int(median),
            latency_99=int(high),
            latency_max=int(latencies.max()) if some else 0,
        )


def records_of(query: Query) -> dict[str, OutputRecord]:
    """An empty record for every output of a query."""
    return {
        output.name: OutputRecord(
            output.name,
            output.deadline or 0,
            output.weight,
            output.criticality is Criticality.HARD,
        )
        for output in query.outputs
    }


@dataclass(frozen=True, kw_only=True)
class OutputSummary:
    """Latencies (ns) and misses of one output."""

    output: str
    tuples: int
    misses: int
    deadline: int
    hard: bool
    weight: float
    latency_median: int
    latency_99: int
    latency_max: int

    @property
    def miss_ratio(self) -> float:
        return self.misses / self.tuples if self.tuples else 0.0


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A run in numbers."""

    outputs: tuple[OutputSummary, ...]
    arrived: int
    shed: int
    late: int
    rejected: int
    failed: int
    refused: int
    """jobs of hard paths that a policy did not admit: each is a miss (ROP-EDF section 4)"""
    decisions: int
    preemptions: int
    timeouts: int
    end: int

    @property
    def miss_ratio(self) -> float:
        """Weighted over outputs: ``sum(alpha_s * M_s / N_s) / sum(alpha_s)`` (S-EDF equation 4)."""
        return weighted_miss_ratio(self.outputs)


def weighted_miss_ratio(outputs: Sequence[OutputSummary]) -> float:
    """The papers' deadline miss ratio; outputs without a tuple do not count."""
    seen = [output for output in outputs if output.tuples]
    weight = sum(output.weight for output in seen)
    return sum(o.weight * o.miss_ratio for o in seen) / weight if weight else 0.0


@dataclass(slots=True)
class SideOutput:
    """Dropped tuples with the time they were dropped."""

    dropped: list[tuple[int, Dropped]] = field(default_factory=list)

    def take(self, dropped: Dropped, now: int) -> None:
        self.dropped.append((now, dropped))

    def count(self, kind: str) -> int:
        return sum(one.kind == kind for _, one in self.dropped)
