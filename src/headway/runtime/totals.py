"""The numbers of all vehicles' runs together, and as plain data for ``summary.json``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from headway.runtime.replay import VehicleRun
from headway.runtime.results import Latencies, OutputRecord, OutputSummary, Summary

COUNTS = (
    "arrived",
    "shed",
    "late",
    "rejected",
    "failed",
    "refused",
    "decisions",
    "preemptions",
    "timeouts",
)


@dataclass(slots=True)
class Totals:
    """Adds runs up; keeps their latencies, because percentiles do not add up."""

    by_vehicle: list[tuple[str | None, Summary]] = field(default_factory=list)
    _kinds: dict[str, OutputRecord] = field(default_factory=dict)
    _latencies: dict[str, list[Latencies]] = field(default_factory=dict)

    def add(self, run: VehicleRun) -> None:
        self.by_vehicle.append((run.vehicle, run.result.summary()))
        for name, record in run.result.outputs.items():
            kind = OutputRecord(name, record.relative_deadline, record.weight, record.hard)
            self._kinds.setdefault(name, kind)
            self._latencies.setdefault(name, []).append(record.latencies)

    @property
    def summary(self) -> Summary:
        """Of all vehicles; ``end`` is the last one's."""
        summaries = [summary for _, summary in self.by_vehicle]
        return Summary(
            outputs=tuple(
                kind.summary_of(np.concatenate(self._latencies[name]))
                for name, kind in self._kinds.items()
            ),
            end=max((summary.end for summary in summaries), default=0),
            **{name: sum(getattr(s, name) for s in summaries) for name in COUNTS},
        )

    @property
    def hard_misses(self) -> list[str]:
        """The hard outputs that missed a deadline."""
        return [output.output for output in self.summary.outputs if output.hard and output.misses]


def summary_data(summary: Summary) -> dict[str, Any]:
    """A summary as JSON-able data; times in nanoseconds say so in their names."""
    data: dict[str, Any] = {name: getattr(summary, name) for name in COUNTS}
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
    return data
