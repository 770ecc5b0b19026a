"""Reading the rows of the recorded drive: by policy and rate of the ECU."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway.experiments.policy_names import POLICY_NAMES
from headway.experiments.rows import number, number_or_none, values, where
from headway.experiments.study import Row, Scalar

FIGURE = "recorded drive"
POLICIES = {policy: POLICY_NAMES[policy] for policy in ("s-edf", "fifo+", "mc+", "pcs")}
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
    return _slowest(rows, lambda rate: missed_share(rows, policy, rate) == 0)


def slowest_promised(rows: Sequence[Row]) -> float | None:
    """The slowest rate at which, and above which, the compiler promises the deadline of every
    output (:attr:`headway.model.plan.Promise.kept`); the promises are for S-EDF."""

    def all_promised(rate: float) -> bool:
        bounds = [
            (number_or_none(row, "bound_ms"), number(row, "deadline_ms"))
            for row in outputs_at(rows, "s-edf", rate)
        ]
        return all(bound is not None and bound <= deadline for bound, deadline in bounds)

    return _slowest(rows, all_promised)


def _slowest(rows: Sequence[Row], holds: Callable[[float], bool]) -> float | None:
    """The last rate before the first at which it does not hold, from the fastest down."""
    found = None
    for rate in rates_of(rows):
        if not holds(rate):
            break
        found = rate
    return found


def milliseconds(row: Row, key: str) -> str:
    return "–" if row[key] is None else f"{number(row, key):.1f}"


def fixes(every: Scalar) -> str:
    return "every fix" if every == 1 else f"one fix in {every}"
