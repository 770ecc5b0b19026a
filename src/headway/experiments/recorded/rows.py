"""Reading the rows of the recorded drive: by policy and rate of the ECU."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.rows import number, values, where
from headway.experiments.study import Row, Scalar

FIGURE = "recorded drive"
POLICIES = {"s-edf": "S-EDF", "fifo+": "FIFO+", "mc+": "MC+", "pcs": "PCS"}
FUSED_VIEW, RADAR_VIEW = "fused by the query", "radar alone"


def rates_of(rows: Sequence[Row]) -> list[float]:
    """The rates that were run, the fastest first."""
    return sorted(set(values(where(rows, part="rate"), "rate")), reverse=True)


def outputs_at(rows: Sequence[Row], policy: str, rate: float) -> list[Row]:
    """A row for each output of a run."""
    return where(rows, part="rate", policy=policy, rate=rate)


def missed_share(rows: Sequence[Row], policy: str, rate: float) -> float:
    """Of the tuples of all outputs."""
    found = outputs_at(rows, policy, rate)
    return sum(values(found, "misses")) / (sum(values(found, "tuples")) or 1)


def slowest_kept(rows: Sequence[Row], policy: str) -> float | None:
    """The slowest rate at which, and above which, no deadline was missed; None if there is none."""
    kept = None
    for rate in rates_of(rows):
        if missed_share(rows, policy, rate) > 0:
            break
        kept = rate
    return kept


def milliseconds(row: Row, key: str) -> str:
    return "–" if row[key] is None else f"{number(row, key):.1f}"


def fixes(every: Scalar) -> str:
    return "every fix" if every == 1 else f"one fix in {every}"
