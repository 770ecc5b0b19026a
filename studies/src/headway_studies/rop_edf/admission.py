"""ROP-EDF study 1 (section 5.2, tables 2 to 5): both admission policies against OP-EDF.

The policies run as printed, where reservations return on completion, and beside them ours, where
they are held until the deadline and budgets hold whenever the peaks of all tasks exceed 1 − α; and,
to tell which of the two counts, the printed ones with such budgets.

Grid: total requested utilisation 100, 110, 120, 130 % x 10 task sets x policy; 20,000 ms each;
α = 0, deadlines equal periods. Figures 6 to 8 show the overloads.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from headway.model.quantities import MILLISECOND
from headway.model.taskset import (
    FULL,
    SPREAD,
    Constant,
    OverloadTask,
    Range,
    TaskKind,
    TaskSet,
    Utilisation,
)
from headway.schedule.overload.load_trials import LoadCell as Mean
from headway.schedule.overload.load_trials import load_cells as means_of
from headway.schedule.overload.load_trials import run_load_trial
from headway_studies.provenance import PRINTED, Provenance, assumed
from headway_studies.rop_edf.task_set_rows import (
    HELD,
    HELD_POLICIES,
    OVERLOAD_POLICY_NAMES,
    POLICED,
    PRINTED_POLICIES,
    PolicedEdf2,
    kept,
    trials,
)
from headway_studies.row_reading import span, whole
from headway_studies.study import NO_REASON, Cell, Claim, Findings, Paper, Row, Study, stated
from headway_studies.study_charts import BarChart

LEVELS = (100, 110, 120, 130)
POLICIES = ("op-edf", *PRINTED_POLICIES, *HELD_POLICIES)
SETS = 10
DURATION = 20_000 * MILLISECOND
_ONE = FULL // 100
_TASKS = {
    "H1": (TaskKind.HARD, 90, 25),
    "H2": (TaskKind.HARD, 100, 16),
    "S1": (TaskKind.SOFT, 200, 26),
    "S2": (TaskKind.SOFT, 150, 18),
    "S3": (TaskKind.SOFT, 100, 15),
}
_GAUSSIAN = {
    100: {},
    110: {"S3": (15, 35)},
    120: {"S3": (15, 55)},
    130: {"S2": (18, 38), "S3": (15, 55)},
}


def task_set(level: int) -> TaskSet:
    """Table 2, 3, 4 or 5."""

    def use(name: str, percent: int) -> Utilisation:
        if name in _GAUSSIAN[level]:
            low, high = _GAUSSIAN[level][name]
            return Range(low * _ONE, high * _ONE, (low + high) // 2 * _ONE)
        return Constant(percent * _ONE)

    tasks = tuple(
        OverloadTask(
            name=name,
            kind=kind,
            period=period * MILLISECOND,
            deadline=period * MILLISECOND,
            utilisation=use(name, percent),
        )
        for name, (kind, period, percent) in _TASKS.items()
    )
    return TaskSet(name=f"tables 2 to 5, {level} %", tasks=tasks)


SEED = 0
FIGURES = {110: "figure 6", 120: "figure 7", 130: "figure 8"}
MOSTLY = 0.95
"""what every task misses under OP-EDF, at least, at 120 and 130 %"""
GAUSSIAN = assumed(
    f"a gaussian range is {SPREAD} standard deviations wide and cut off at its ends; the paper "
    "prints range and mean"
)
FAMILIES = ((PRINTED_POLICIES, GAUSSIAN), (HELD_POLICIES, HELD))
"""as printed, then ours"""
WHY_EARLY = (
    "a reservation that returns on completion makes room for a job that runs before one that has "
    "been admitted already; held until the deadline none is late (below)"
)
WHY_PRESENT = (
    "as printed, budgets hold only while the peaks of the jobs present exceed 1; where they hold "
    "whenever those of all tasks do, it is as published, although reservations return as printed"
)


def cells(quick: bool) -> list[Cell]:
    """The whole grid takes less than a second."""
    return [{"level": level, "sets": SETS} for level in LEVELS]


def run(cell: Cell) -> list[Row]:
    level, policed = whole(cell, "level"), PolicedEdf2()
    return [
        row
        for number in range(whole(cell, "sets"))
        for row in kept(
            run_load_trial(
                task_set(level),
                load=level,
                trial=number,
                policies=("op-edf", *PRINTED_POLICIES, policed, *HELD_POLICIES),
                duration=DURATION,
                seed=SEED,
            )
        )
    ]


def analyse(rows: Sequence[Row]) -> Findings:
    found = means_of(trials(rows))
    return Findings(
        claims=(
            _nobody(found),
            *(_mostly(found, level) for level in (120, 130)),
            *(
                claim
                for policies, came in FAMILIES
                for claim in (
                    *(_hard(found, level, policies, came) for level in FIGURES),
                    _rejections(rows, policies[0], came),
                    *(_shorter(found, level, policies[1], came) for level in FIGURES),
                )
            ),
            *(_shorter(found, level, PolicedEdf2.name, POLICED) for level in FIGURES),
        ),
        pictures=tuple(_chart(found, level) for level in FIGURES),
    )


def _chosen(found: Sequence[Mean], level: int, policy: str) -> list[Mean]:
    return [one for one in found if (one.load, one.policy) == (level, policy)]


def _nobody(found: Sequence[Mean]) -> Claim:
    most = max(one.most for one in found if one.load == 100)
    return stated(
        "section 5.2",
        "at 100 % no task misses under any policy",
        f"the highest miss ratio of a task in a set is {most:.1%}",
        came=PRINTED,
        holds=most == 0,
    )


def _hard(found: Sequence[Mean], level: int, policies: Sequence[str], came: Provenance) -> Claim:
    plain = [one for one in _chosen(found, level, "op-edf") if one.hard]
    kept_hard = [one for policy in policies for one in _chosen(found, level, policy) if one.hard]
    told = ", ".join(f"{one.task} {_percent(one)}" for one in plain)
    return stated(
        FIGURES[level],
        f"at {level} % hard tasks miss under OP-EDF and never under ROP-EDF",
        f"OP-EDF: {told}; {' and '.join(OVERLOAD_POLICY_NAMES[one] for one in policies)}: at most "
        f"{max(one.most for one in kept_hard):.1%} in any set",
        came=came,
        holds=all(one.mean > 0 for one in plain) and all(one.most == 0 for one in kept_hard),
    )


def _percent(one: Mean) -> str:
    return f"{100 * one.mean:.1f} ± {100 * one.deviation:.1f} %"


def _mostly(found: Sequence[Mean], level: int) -> Claim:
    ratios = [one.mean for one in _chosen(found, level, "op-edf")]
    return stated(
        FIGURES[level],
        f"at {level} % every task misses more than {MOSTLY:.0%} under OP-EDF",
        f"{span((100 * ratio for ratio in ratios), 1)} %, mean by task",
        came=GAUSSIAN,
        holds=all(ratio > MOSTLY for ratio in ratios),
    )


def _rejections(rows: Sequence[Row], policy: str, came: Provenance) -> Claim:
    found = [row for row in trials(rows) if row.policy == policy and not row.hard]
    held = [row for row in trials(rows) if row.policy == HELD_POLICIES[0] and not row.hard]
    late, rejected = sum(row.late for row in found), sum(row.rejected for row in found)
    return stated(
        "figures 6 to 8",
        "under policy 1 soft tasks miss only by rejection",
        f"{OVERLOAD_POLICY_NAMES[policy]}: {rejected:,} soft jobs rejected, {late} admitted ones "
        "late",
        came=came,
        holds=late == 0 and rejected > 0,
        why=NO_REASON if any(row.late for row in held) else WHY_EARLY,
    )


def _shorter(found: Sequence[Mean], level: int, policy: str, came: Provenance) -> Claim:
    """S1, S2, S3 have deadlines of 200, 150 and 100 ms."""
    soft = [one for one in _chosen(found, level, policy) if not one.hard]
    policed = [one for one in _chosen(found, level, PolicedEdf2.name) if not one.hard]
    return stated(
        FIGURES[level],
        f"at {level} %, under policy 2, soft tasks with shorter deadlines miss more",
        f"{OVERLOAD_POLICY_NAMES[policy]}: "
        + ", ".join(f"{one.task} {_percent(one)}" for one in soft),
        came=came,
        holds=_rising(soft),
        why=WHY_PRESENT if _rising(policed) else NO_REASON,
    )


def _rising(soft: Sequence[Mean]) -> bool:
    return all(longer.mean < shorter.mean for longer, shorter in pairwise(soft))


def _chart(found: Sequence[Mean], level: int) -> BarChart:
    columns = [_chosen(found, level, policy) for policy in POLICIES]
    by_task = list(zip(*columns, strict=True))
    return BarChart(
        title=f"{FIGURES[level].capitalize()}: {level} % requested",
        y="deadline miss ratio, %",
        groups=tuple(group[0].task for group in by_task),
        bars=tuple(OVERLOAD_POLICY_NAMES[policy] for policy in POLICIES),
        values=tuple(tuple(100 * one.mean for one in group) for group in by_task),
        spread=tuple(
            tuple((100 * one.least, 100 * one.most) for one in group) for group in by_task
        ),
        note="Mean over task sets; the line is from the least to the greatest.",
    )


STUDY = Study(
    name="admission",
    paper=Paper.ROP_EDF,
    figures=("tables 2 to 5", "figure 6", "figure 7", "figure 8"),
    title="Two admission policies against OP-EDF",
    seconds=1,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=SEED,
)
