"""What a run gives: output tuples with their deadlines, side outputs, counts, summaries; and the
runs of all vehicles of a recording added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from headway.engine.chain_watch import ChainMeasure, greatest_of
from headway.engine.declared_limits import Beyond, added_up
from headway.engine.jobs import Lost
from headway.engine.kernel import Precision
from headway.engine.operators.operator_base import DropKind, Dropped
from headway.engine.trace import Trace
from headway.model.quantities import MICROSECOND
from headway.model.query import Criticality, Query
from headway.model.user_operator import Row

COUNTS = (
    "arrived",
    "shed",
    "late",
    "rejected",
    "failed",
    "refused",
    "beyond",
    "decisions",
    "preemptions",
    "timeouts",
)

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
    precision: Precision = field(default_factory=Precision)
    """of the optional parts before it; none were asked for where there are none"""

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
            precision=self.precision.done / self.precision.asked if self.precision.asked else None,
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
    precision: float | None = None
    """share of the optional parts that was done; None where there are none"""

    @property
    def miss_ratio(self) -> float:
        return self.misses / self.tuples if self.tuples else 0.0


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """A run in numbers."""

    outputs: tuple[OutputSummary, ...]
    arrived: int
    shed: int
    late: int
    rejected: int
    failed: int
    refused: int
    """jobs of hard paths that a policy did not admit: each is a miss (ROP-EDF section 4)"""
    beyond: int
    """tuples and results beyond what the query declares: no promise covers such a run"""
    decisions: int
    preemptions: int
    timeouts: int
    end: int
    exceeded: tuple[Beyond, ...] = ()
    """where ``beyond`` comes from"""
    chains: tuple[ChainMeasure, ...] = ()

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
    """Dropped tuples with the time they were dropped; the first ``most``, where that is given."""

    dropped: list[tuple[int, Dropped]] = field(default_factory=list)
    most: int | None = None
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(where, kind) -> tuples that were dropped after those"""

    def take(self, dropped: Dropped, now: int) -> None:
        if self.most is None or len(self.dropped) < self.most:
            self.dropped.append((now, dropped))
        else:
            self.left_out[dropped.where, dropped.kind] += 1

    def count(self, kind: str) -> int:
        kept = sum(one.kind == kind for _, one in self.dropped)
        return kept + sum(n for (_, other), n in self.left_out.items() if other == kind)

    def by_place(self) -> Counter[tuple[str, str]]:
        """How many, by where they were dropped and the kind."""
        return self.left_out + Counter((one.where, one.kind) for _, one in self.dropped)


class ScheduledUnit(Protocol):
    """What reports say of a train."""

    @property
    def name(self) -> str: ...
    @property
    def operators(self) -> tuple[str, ...]: ...
    @property
    def costs(self) -> tuple[int, ...]: ...
    @property
    def between_items(self) -> bool: ...


class ScheduledUnits(Protocol):
    """What ran."""

    @property
    def units(self) -> Sequence[ScheduledUnit]: ...


class KernelCounts(Protocol):
    """What a kernel has counted when a run is over, whatever language it is written in."""

    @property
    def now(self) -> int: ...
    @property
    def arrived(self) -> int: ...
    @property
    def timeouts(self) -> int: ...
    @property
    def decisions(self) -> int: ...
    @property
    def preemptions(self) -> int: ...
    @property
    def refused(self) -> int: ...
    @property
    def program(self) -> ScheduledUnits: ...
    def exceeded(self) -> tuple[Beyond, ...]: ...
    def output_precision(self) -> Mapping[str, Precision]: ...


@dataclass(slots=True)
class RunResult:
    """Outputs by name, dropped tuples, the trace and the counts of a finished run."""

    outputs: dict[str, OutputRecord]
    side: SideOutput
    trace: Trace
    kernel: KernelCounts
    lost: Lost | None = None
    """of a run that was interrupted"""
    chains: tuple[ChainMeasure, ...] = ()
    """what was seen of the plan's chains"""

    def __post_init__(self) -> None:
        for name, precision in self.kernel.output_precision().items():
            self.outputs[name].precision = precision

    def summary(self) -> RunSummary:
        kernel = self.kernel
        exceeded = kernel.exceeded()
        return RunSummary(
            outputs=tuple(record.summary() for record in self.outputs.values()),
            arrived=kernel.arrived,
            shed=self.side.count(DropKind.SHED),
            late=self.side.count(DropKind.LATE),
            rejected=self.side.count(DropKind.REJECTED),
            failed=self.side.count(DropKind.FAILED),
            refused=kernel.refused,
            beyond=sum(one.count for one in exceeded),
            decisions=kernel.decisions,
            preemptions=kernel.preemptions,
            timeouts=kernel.timeouts,
            end=kernel.now,
            exceeded=exceeded,
            chains=self.chains,
        )


# -------------------------------------------------------------------- all vehicles


class VehicleRun(NamedTuple):
    """A finished run; ``vehicle`` is None where the recording names none."""

    vehicle: str | None
    result: RunResult


@dataclass(slots=True)
class Totals:
    """Adds runs up; keeps their latencies, because percentiles do not add up."""

    by_vehicle: list[tuple[str | None, RunSummary]] = field(default_factory=list)
    _kinds: dict[str, OutputRecord] = field(default_factory=dict)
    _latencies: dict[str, list[Latencies]] = field(default_factory=dict)

    def add(self, run: VehicleRun) -> None:
        self.by_vehicle.append((run.vehicle, run.result.summary()))
        for name, record in run.result.outputs.items():
            kind = OutputRecord(name, record.relative_deadline, record.weight, record.hard)
            kind = self._kinds.setdefault(name, kind)
            kind.precision.done += record.precision.done
            kind.precision.asked += record.precision.asked
            self._latencies.setdefault(name, []).append(record.latencies)

    @property
    def summary(self) -> RunSummary:
        """Of all vehicles; ``end`` is the last one's."""
        summaries = [summary for _, summary in self.by_vehicle]
        return RunSummary(
            outputs=tuple(
                kind.summary_of(np.concatenate(self._latencies[name]))
                for name, kind in self._kinds.items()
            ),
            end=max((summary.end for summary in summaries), default=0),
            exceeded=added_up(one for summary in summaries for one in summary.exceeded),
            chains=greatest_of(summary.chains for summary in summaries),
            **{name: sum(getattr(s, name) for s in summaries) for name in COUNTS},
        )

    @property
    def hard_misses(self) -> list[str]:
        """The hard outputs that missed a deadline."""
        return [output.output for output in self.summary.outputs if output.hard and output.misses]


def summary_data(summary: RunSummary) -> dict[str, Any]:
    """A summary as JSON-able data; times in nanoseconds say so in their names."""
    data: dict[str, Any] = {name: getattr(summary, name) for name in COUNTS}
    data["exceeded"] = [asdict(one) for one in summary.exceeded]
    if summary.chains:
        data["chains"] = [
            {
                "output": one.output,
                "streams": list(one.streams),
                "age_ns": one.age,
                "reaction_ns": one.reaction,
            }
            for one in summary.chains
        ]
    data["end_ns"] = summary.end
    data["miss_ratio"] = summary.miss_ratio
    data["outputs"] = [output_data(output) for output in summary.outputs]
    return data


def output_data(output: OutputSummary) -> dict[str, Any]:
    """One output's; all its fields."""
    times = ("deadline", "latency_median", "latency_99", "latency_max")
    data = {
        f"{name}_ns" if name in times else name: value for name, value in asdict(output).items()
    }
    data["miss_ratio"] = output.miss_ratio
    if output.precision is None:  # there is nothing optional
        del data["precision"]
    return data
