"""ROP-EDF study 2 (section 5.3, figure 9): hard misses under ER-EDF and under ROP-EDF.

Grid: total requested utilisation 100, 110, 120, 130 % x 50 random task sets x policy; 20,000 ms.
A set has 4 hard and 6 soft tasks. Tasks 1 to 9 are periodic with deadlines of 10 to 100 ms and
utilisations that sum to 100 %; task 10 is aperiodic, 50 ms apart, and asks for the rest; at 100 %
it asks for nothing. Utilisations are constant: the paper prints only the requested ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from headway.model.quantities import MILLISECOND
from headway.model.taskset import FULL, Constant, OverloadTask, TaskKind, TaskSet
from headway.report.charts import LineChart, Point, Series
from headway.schedule.overload.load_trials import LoadRow, run_load_trial
from headway_studies.provenance import Provenance, assumed, changed
from headway_studies.rop_edf.task_set_rows import (
    HELD,
    HELD_POLICIES,
    OVERLOAD_POLICY_NAMES,
    POLICED,
    PRINTED_POLICIES,
    OneShareErEdf,
    PolicedEdf2,
    kept,
    trials,
)
from headway_studies.row_reading import Sample, blocks, sample, whole
from headway_studies.study import NO_REASON, Cell, Claim, Findings, Paper, Row, Study, stated

LEVELS = (100, 110, 120, 130)
ER_EDF = ("er-edf", OneShareErEdf.name)
POLICIES = (*ER_EDF, *PRINTED_POLICIES, PolicedEdf2.name, *HELD_POLICIES)
SETS = 50
DURATION = 20_000 * MILLISECOND
HARD, PERIODIC = 4, 9
GAP = 50
LEAST = FULL // 100
"""of a task"""


def task_set(level: int, number: int, seed: int = 0) -> TaskSet:
    """The same nine periodic tasks at every level."""
    random = np.random.default_rng([seed, number])
    deadlines = random.integers(10, 101, PERIODIC)
    rest = FULL - PERIODIC * LEAST
    cuts = np.sort(random.integers(0, rest + 1, PERIODIC - 1))
    uses = np.diff(np.concatenate(([0], cuts, [rest]))) + LEAST
    tasks = [
        _task(index, int(deadlines[index]), int(uses[index]), sporadic=False)
        for index in range(PERIODIC)
    ]
    if level > 100:
        tasks.append(_task(PERIODIC, GAP, (level - 100) * FULL // 100, sporadic=True))
    return TaskSet(name=f"{level} %, set {number}", tasks=tuple(tasks))


def _task(index: int, deadline: int, use: int, *, sporadic: bool) -> OverloadTask:
    hard = index < HARD
    return OverloadTask(
        name=f"H{index + 1}" if hard else f"S{index + 1 - HARD}",
        kind=TaskKind.HARD if hard else TaskKind.SOFT,
        period=deadline * MILLISECOND,
        deadline=deadline * MILLISECOND,
        utilisation=Constant(use),
        sporadic=sporadic,
    )


def hard_miss_ratios_by_set(rows: Iterable[LoadRow]) -> dict[tuple[str, int], list[float]]:
    """(policy, level) -> miss ratio of hard tasks in each set."""
    found: dict[tuple[str, int], dict[int, list[LoadRow]]] = {}
    for row in rows:
        if row.hard:
            sets = found.setdefault((row.policy, row.load), {})
            sets.setdefault(row.trial, []).append(row)
    return {
        key: [
            sum(row.rejected + row.late for row in group) / sum(row.jobs for row in group)
            for group in sets.values()
        ]
        for key, sets in found.items()
    }


SEED = 0
FIGURE = "figure 9"
DRAWN = assumed("task sets drawn by us, utilisations constant; the paper prints neither")
ONE_SHARE = changed(
    "a task has one reservation, which passes to its next job; the paper does not say what becomes "
    "of a job that outlives its period"
)
EARLY = (
    "under policy 1 a reservation that returns on completion makes room for a job that runs before "
    "a waiting hard one (study `methods`, theorem 1); under policy 2 soft jobs run beyond their "
    "shares while the peaks of the jobs present do not exceed 1 (next line)"
)
BLOCK = 10
QUICK_SETS, QUICK_DURATION = 10, 4_000 * MILLISECOND


def cells(quick: bool) -> list[Cell]:
    sets = QUICK_SETS if quick else SETS
    duration = QUICK_DURATION if quick else DURATION
    return [
        {"level": level, "first": first, "sets": count, "duration_ms": duration // MILLISECOND}
        for level in LEVELS
        for first, count in blocks(sets, BLOCK)
    ]


def run(cell: Cell) -> list[Row]:
    level, first = whole(cell, "level"), whole(cell, "first")
    return [
        row
        for number in range(first, first + whole(cell, "sets"))
        for row in kept(
            run_load_trial(
                task_set(level, number, SEED),
                load=level,
                trial=number,
                policies=(
                    "er-edf",
                    OneShareErEdf(),
                    *PRINTED_POLICIES,
                    PolicedEdf2(),
                    *HELD_POLICIES,
                ),
                duration=whole(cell, "duration_ms") * MILLISECOND,
                seed=SEED,
            )
        )
    ]


def analyse(rows: Sequence[Row]) -> Findings:
    found = {
        (policy, level): sample(ratios)
        for (policy, level), ratios in hard_miss_ratios_by_set(trials(rows)).items()
    }
    return Findings(
        claims=(
            _reserving(found, PRINTED_POLICIES, DRAWN),
            _reserving(found, (PolicedEdf2.name,), POLICED),
            _reserving(found, HELD_POLICIES, HELD),
            _growing(found, "er-edf", DRAWN),
            _growing(found, OneShareErEdf.name, ONE_SHARE),
        ),
        pictures=(_chart(found),),
    )


def _reserving(
    found: dict[tuple[str, int], Sample], policies: Sequence[str], came: Provenance
) -> Claim:
    most, policed = (
        max(one.most for (policy, _), one in found.items() if policy in wanted)
        for wanted in (policies, (PolicedEdf2.name,))
    )
    sets = found[policies[0], LEVELS[0]].count
    return stated(
        FIGURE,
        "no hard task misses under ROP-EDF at any level",
        f"at most {most:.1%} in any of {sets} sets a level, under "
        + " and ".join(OVERLOAD_POLICY_NAMES[policy] for policy in policies),
        came=came,
        holds=most == 0,
        why=EARLY if policies == PRINTED_POLICIES and not policed else NO_REASON,
    )


def _growing(found: dict[tuple[str, int], Sample], policy: str, came: Provenance) -> Claim:
    means = [found[policy, level].mean for level in LEVELS]
    told = ", ".join(f"{level} %: {found[policy, level].percent()}" for level in LEVELS)
    return stated(
        FIGURE,
        "under ER-EDF hard misses grow with the requested utilisation",
        f"{OVERLOAD_POLICY_NAMES[policy]}: {told}",
        came=came,
        holds=all(before < after for before, after in pairwise(means)),
    )


def _chart(found: dict[tuple[str, int], Sample]) -> LineChart:
    return LineChart(
        title="Figure 9: hard tasks under ER-EDF and ROP-EDF",
        x="requested utilisation, %",
        y="deadline miss ratio of hard tasks, %",
        series=tuple(
            Series(
                name=OVERLOAD_POLICY_NAMES[policy],
                points=tuple(
                    Point(
                        x=level,
                        y=100 * found[policy, level].mean,
                        low=100 * found[policy, level].least,
                        high=100 * found[policy, level].most,
                    )
                    for level in LEVELS
                ),
            )
            for policy in POLICIES
        ),
        note="Mean over random task sets; the line is from the least to the greatest.",
    )


STUDY = Study(
    name="hard-tasks",
    paper=Paper.ROP_EDF,
    figures=(FIGURE,),
    title="Hard tasks when an aperiodic task asks for too much",
    seconds=6,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=SEED,
)
