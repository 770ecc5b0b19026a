"""Results of static scheduling as tables."""

from __future__ import annotations

from fractions import Fraction

from headway.report.gantt import time_text
from headway.report.plan_tables import Table
from headway.report.schedule_study import Outcome, Study, remark
from headway.report.words import NONE, sign
from headway.schedule.static import AlphaInterval

MOST_INTERVALS = 24
"""More of an algorithm are counted, not listed; JSON has them all."""


def comparison(study: Study) -> Table:
    """One line for each algorithm."""
    unit = f" ({study.unit_name})" if study.unit_name else ""
    headers = ["Algorithm", f"Makespan{unit}", "SLR", "Speedup", "Load balance", "α", "Remark"]
    rows = []
    for outcome in study.outcomes:
        name, metrics, best = outcome.result.algorithm, outcome.metrics, outcome.result.best
        if metrics is None or best is None:
            rows.append([name, NONE, NONE, NONE, NONE, NONE, remark(outcome)])
            continue
        rows.append(
            [
                name,
                time_text(metrics.makespan / study.unit),
                time_text(metrics.slr),
                time_text(metrics.speedup),
                time_text(metrics.load_balance),
                alpha_text(best) if outcome.uses_alpha else NONE,
                remark(outcome),
            ]
        )
    title = f"{study.graph.name} on {study.network.name}"
    return Table(title=title, headers=headers, rows=rows, numeric=(1, 2, 3, 4))


def intervals(study: Study, outcome: Outcome) -> Table:
    """Every distinct schedule over α; nothing for an algorithm without α."""
    found = outcome.result.intervals if outcome.uses_alpha else ()
    rows = [
        [alpha_text(interval), time_text(interval.makespan / study.unit)]
        for interval in found[:MOST_INTERVALS]
    ]
    if len(found) > MOST_INTERVALS:
        least = min(interval.makespan for interval in found[MOST_INTERVALS:])
        more = f"… {len(found) - MOST_INTERVALS} more"
        rows.append([more, f"{time_text(least / study.unit)} or more"])
    title = f"{outcome.result.algorithm} over α"
    return Table(title=title, headers=["For α in", "Makespan"], rows=rows, numeric=(1,))


def exits(study: Study, outcome: Outcome) -> Table:
    """Deadlines and whether they are met; nothing when there is only the period, and it is met."""
    own = any(task.deadline is not None for task in study.graph.tasks)
    rows = [
        [
            answer.task,
            time_text(answer.deadline / study.unit),
            time_text(answer.response / study.unit),
            str(answer.executions),
            str(answer.missed),
            sign(answer.met),
        ]
        for answer in outcome.exits
        if own or outcome.hyperperiod is not None or not answer.met
    ]
    headers = ["Exit", "Deadline", "Worst response", "Executions", "Missed", "Met"]
    title = f"Deadlines under {outcome.result.algorithm}"
    return Table(title=title, headers=headers, rows=rows, numeric=(1, 2, 3, 4))


def tables(study: Study) -> list[Table]:
    """All of them, those without rows left out."""
    found = [comparison(study)]
    for outcome in study.outcomes:
        found += [intervals(study, outcome), exits(study, outcome)]
    return [table for table in found if table.rows]


def alpha_text(interval: AlphaInterval) -> str:
    """``[1.77, 1.84)``: round and square brackets as ends are left out or belong to it."""
    left, right = "[" if interval.low_closed else "(", "]" if interval.high_closed else ")"
    high = "∞" if interval.high is None else _alpha(interval.high)
    return f"{left}{_alpha(interval.low)}, {high}{right}"


def _alpha(alpha: Fraction) -> str:
    return f"{float(alpha):.6g}"
