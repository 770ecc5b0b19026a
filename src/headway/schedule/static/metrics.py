"""How good a schedule is (HVLB_CC section 5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from headway.model.static_network import Schedule
from headway.schedule.static.instance import Instance


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """``slr`` is the schedule length ratio: makespan / the least time of the critical path.
    ``load_balance`` (LB) is makespan / mean busy time of a processor. Less is better of both."""

    makespan: Fraction
    slr: Fraction
    speedup: Fraction
    load_balance: Fraction


def metrics_of(instance: Instance, schedule: Schedule) -> Metrics:
    """Equations 22 to 25. Ratios are 0 where there is nothing to divide by."""
    makespan = schedule.makespan
    sequential = instance.time(instance.best_sequential)
    busy = sum((slot.finish - slot.start for slot in schedule.tasks), Fraction(0))
    mean_busy = busy / len(instance.processors)
    return Metrics(
        makespan=makespan,
        slr=_ratio(makespan, critical_path_time(instance)),
        speedup=_ratio(sequential, makespan),
        load_balance=_ratio(makespan, mean_busy),
    )


def critical_path_time(instance: Instance) -> Fraction:
    """The longest path when every task runs where it is quickest and messages take no time: no
    schedule is shorter."""
    longest = [0] * len(instance.tasks)
    for task in reversed(instance.topological):
        behind = max((longest[successor] for successor in instance.successors[task]), default=0)
        quickest = min(instance.comp[task][p] for p in instance.allowed[task])
        longest[task] = quickest + behind
    return instance.time(max(longest))


def _ratio(above: Fraction, below: Fraction) -> Fraction:
    return above / below if below else Fraction(0)
