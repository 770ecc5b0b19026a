"""ROP-EDF figure 9: hard misses under ER-EDF and ROP-EDF on random task sets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from headway.experiments.findings import Claim, Findings, LineChart, Point, Series, stated
from headway.experiments.overload import hard_tasks as rop_hard_tasks
from headway.experiments.overload.rows import POLICY_NAMES, kept, trials
from headway.experiments.overload.trials import run_trial
from headway.experiments.rows import Sample, blocks, sample, whole
from headway.experiments.study import Cell, Paper, Row, Study
from headway.model.quantities import MILLISECOND

SEED = 0
LEVELS = rop_hard_tasks.LEVELS
FIGURE = "figure 9"
BLOCK = 10
QUICK_SETS, QUICK_DURATION = 10, 4_000 * MILLISECOND


def cells(quick: bool) -> list[Cell]:
    sets = QUICK_SETS if quick else rop_hard_tasks.SETS
    duration = QUICK_DURATION if quick else rop_hard_tasks.DURATION
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
            run_trial(
                rop_hard_tasks.task_set(level, number, SEED),
                load=level,
                trial=number,
                policies=rop_hard_tasks.POLICIES,
                duration=whole(cell, "duration_ms") * MILLISECOND,
                seed=SEED,
            )
        )
    ]


def analyse(rows: Sequence[Row]) -> Findings:
    found = {
        (policy, level): sample(ratios)
        for (policy, level), ratios in rop_hard_tasks.hard_miss_ratios_by_set(trials(rows)).items()
    }
    return Findings(claims=(_reserving(found), _growing(found)), pictures=(_chart(found),))


def _reserving(found: dict[tuple[str, int], Sample]) -> Claim:
    most = max(one.most for (policy, _), one in found.items() if policy.startswith("rop-edf"))
    sets = found["rop-edf-1", LEVELS[0]].count
    return stated(
        FIGURE,
        "no hard task misses under ROP-EDF at any level",
        f"at most {most:.1%} in any of {sets} sets a level, under both policies",
        holds=most == 0,
    )


def _growing(found: dict[tuple[str, int], Sample]) -> Claim:
    means = [found["er-edf", level].mean for level in LEVELS]
    told = ", ".join(f"{level} %: {found['er-edf', level].percent()}" for level in LEVELS)
    return stated(
        FIGURE,
        "under ER-EDF hard misses grow with the requested utilisation",
        told,
        holds=all(before < after for before, after in pairwise(means)),
    )


def _chart(found: dict[tuple[str, int], Sample]) -> LineChart:
    return LineChart(
        title="Figure 9: hard tasks under ER-EDF and ROP-EDF",
        x="requested utilisation, %",
        y="deadline miss ratio of hard tasks, %",
        series=tuple(
            Series(
                name=POLICY_NAMES[policy],
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
            for policy in rop_hard_tasks.POLICIES
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
