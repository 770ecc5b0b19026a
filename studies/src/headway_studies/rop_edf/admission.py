"""ROP-EDF study 1 (section 5.2, tables 2 to 5): both admission policies against OP-EDF.

Grid: total requested utilisation 100, 110, 120, 130 % x 10 task sets x policy; 20,000 ms each;
α = 0, deadlines equal periods. Figures 6 to 8 show the overloads.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from headway.model.quantities import MILLISECOND
from headway.model.taskset import (
    FULL,
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
from headway_studies.rop_edf.task_set_rows import OVERLOAD_POLICY_NAMES, kept, trials
from headway_studies.row_reading import span, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, stated
from headway_studies.study_charts import BarChart

LEVELS = (100, 110, 120, 130)
POLICIES = ("op-edf", "rop-edf-1", "rop-edf-2")
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
RESERVING = ("rop-edf-1", "rop-edf-2")


def cells(quick: bool) -> list[Cell]:
    """The whole grid takes less than a second."""
    return [{"level": level, "sets": SETS} for level in LEVELS]


def run(cell: Cell) -> list[Row]:
    level = whole(cell, "level")
    return [
        row
        for number in range(whole(cell, "sets"))
        for row in kept(
            run_load_trial(
                task_set(level),
                load=level,
                trial=number,
                policies=POLICIES,
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
            *(_hard(found, level) for level in FIGURES),
            *(_mostly(found, level) for level in (120, 130)),
            _rejections(rows),
            *(_shorter(found, level) for level in FIGURES),
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
        holds=most == 0,
    )


def _hard(found: Sequence[Mean], level: int) -> Claim:
    plain = [one for one in _chosen(found, level, "op-edf") if one.hard]
    kept_hard = [one for policy in RESERVING for one in _chosen(found, level, policy) if one.hard]
    told = ", ".join(f"{one.task} {_percent(one)}" for one in plain)
    return stated(
        FIGURES[level],
        f"at {level} % hard tasks miss under OP-EDF and never under ROP-EDF",
        f"OP-EDF: {told}; ROP-EDF: at most {max(one.most for one in kept_hard):.1%} in any set",
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
        holds=all(ratio > MOSTLY for ratio in ratios),
    )


def _rejections(rows: Sequence[Row]) -> Claim:
    found = [row for row in trials(rows) if row.policy == "rop-edf-1" and not row.hard]
    late, rejected = sum(row.late for row in found), sum(row.rejected for row in found)
    return stated(
        "figures 6 to 8",
        "under policy 1 soft tasks miss only by rejection",
        f"{rejected:,} soft jobs rejected, {late} admitted ones late",
        holds=late == 0 and rejected > 0,
    )


def _shorter(found: Sequence[Mean], level: int) -> Claim:
    """S1, S2, S3 have deadlines of 200, 150 and 100 ms."""
    soft = [one for one in _chosen(found, level, "rop-edf-2") if not one.hard]
    return stated(
        FIGURES[level],
        f"at {level} %, under policy 2, soft tasks with shorter deadlines miss more",
        ", ".join(f"{one.task} {_percent(one)}" for one in soft),
        holds=all(longer.mean < shorter.mean for longer, shorter in pairwise(soft)),
    )


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
