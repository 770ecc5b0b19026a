"""ROP-EDF figure 5: under ER-EDF soft tasks take what a hard task needs."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.quantities import MILLISECOND
from headway.model.taskset import FULL, OverloadTask, Range, TaskKind, TaskSet
from headway.schedule.online import overload_policy_named
from headway.schedule.overload.one_processor import (
    Happening,
    Release,
    TrialRecord,
    in_order,
    simulate,
)
from headway_studies.provenance import PRINTED, Provenance
from headway_studies.rop_edf.task_set_rows import (
    HELD,
    HELD_POLICIES,
    OVERLOAD_POLICY_NAMES,
    PRINTED_POLICIES,
    NotedErEdf,
)
from headway_studies.row_reading import flag, number, text, where
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, numbers
from headway_studies.study_charts import Span, Timeline

# ----------------------------------------------------------------
# The ROP-EDF paper's example of a hard task that is rejected (section 3, table 1, figure 5).


UNIT = MILLISECOND
DURATION = 24 * UNIT
TABLE_1 = {
    "H1": (TaskKind.HARD, 12, 20, 25),
    "S1": (TaskKind.SOFT, 10, 30, 40),
    "S2": (TaskKind.SOFT, 10, 20, 30),
    "S3": (TaskKind.SOFT, 10, 30, 50),
}
"""task -> (kind, period and deadline in ms, average and peak utilisation in %)"""
APERIODIC = ("S3",)
JOBS = (
    ("H1", 0, 3), ("S1", 0, 4), ("S2", 0, 3), ("S1", 10, 3), ("S2", 10, 2), ("S3", 11, 5),
    ("H1", 12, 3),
)  # fmt: skip
"""(task, release, execution)"""

RUNS_UNTIL_10 = (("S1", 0, 3), ("S2", 3, 5), ("H1", 5, 8), ("S1", 8, 9), ("S2", 9, 10))
REPLENISHED = (("S1", 8), ("S2", 9))
LEFT_AT_12 = 0.2
REJECTED = (("H1", 12),)
"""under ER-EDF; ROP-EDF rejects no hard job"""


def task_set() -> TaskSet:
    percent = FULL // 100
    return TaskSet(
        name="table 1",
        tasks=tuple(
            OverloadTask(
                name=name,
                kind=kind,
                period=deadline * UNIT,
                deadline=deadline * UNIT,
                utilisation=Range(1, peak * percent, average * percent),
                sporadic=name in APERIODIC,
            )
            for name, (kind, deadline, average, peak) in TABLE_1.items()
        ),
    )


def releases() -> list[Release]:
    tasks = task_set().tasks
    names = [task.name for task in tasks]
    found: list[Release] = []
    for name, release, execution in JOBS:
        index = names.index(name)
        deadline = tasks[index].deadline
        due, use = release * UNIT + deadline, execution * UNIT * FULL // deadline
        found.append((release * UNIT, due, index, execution * UNIT, use))
    return in_order(tasks, found)


POLICIES = {
    name: OVERLOAD_POLICY_NAMES[name] for name in ("er-edf", *PRINTED_POLICIES, *HELD_POLICIES)
}
FIGURE = "figure 5"


def cells(quick: bool) -> list[Cell]:
    return [{"policy": policy} for policy in POLICIES]


def run(cell: Cell) -> list[Row]:
    """Runs, changes of state, and under ER-EDF the capacity left at each release."""
    name = text(cell, "policy")
    noted = NotedErEdf()
    policy = noted if name == noted.name else overload_policy_named(name)
    record = TrialRecord()
    simulate(task_set(), releases(), policy, DURATION, record)
    tasks = list(TABLE_1)
    rows: list[Row] = [
        _row(name, "run", tasks[one.task], one.start, one.end) | {"spare": one.spare}
        for one in record.runs
    ]
    rows += [_row(name, what.value, tasks[task], time) for what, time, task, _ in record.events]
    return rows + [
        _row(name, "left", "", note.release) | {"left": note.left / FULL} for note in noted.notes
    ]


def _row(
    policy: str, what: str, task: str, start: int, end: int | None = None
) -> dict[str, bool | float | str | None]:
    return {
        "policy": policy, "what": what, "task": task, "start": start / UNIT,
        "end": None if end is None else end / UNIT, "spare": None, "left": None,
    }  # fmt: skip


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(
            _runs(rows),
            _replenished(rows),
            _left(rows),
            _rejected(rows),
            _hard(rows, PRINTED_POLICIES, PRINTED),
            _hard(rows, HELD_POLICIES, HELD),
        ),
        pictures=tuple(_timeline(rows, policy) for policy in ("er-edf", "rop-edf-1-paper")),
    )


def _happened(rows: Sequence[Row], policy: str, what: str) -> tuple[tuple[str, float], ...]:
    found = where(rows, policy=policy, what=what)
    return tuple((text(row, "task"), number(row, "start")) for row in found)


def _told(pairs: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{task} at {time:g}" for task, time in pairs) or "none"


def _runs(rows: Sequence[Row]) -> Claim:
    found = tuple(
        (text(row, "task"), number(row, "start"), number(row, "end"))
        for row in where(rows, policy="er-edf", what="run")
        if number(row, "start") < 10
    )

    def told(runs: Sequence[tuple[str, float, float]]) -> str:
        return ", ".join(f"{task} {start:g}–{end:g}" for task, start, end in runs)

    return numbers(
        FIGURE,
        f"ER-EDF until 10 ms: {told(RUNS_UNTIL_10)}",
        told(found),
        came=PRINTED,
        equal=found == RUNS_UNTIL_10,
    )


def _replenished(rows: Sequence[Row]) -> Claim:
    found = tuple(
        pair for pair in _happened(rows, "er-edf", Happening.REPLENISHED) if pair[1] <= 10
    )
    return numbers(
        FIGURE,
        f"overrun jobs replenished until 10 ms: {_told(REPLENISHED)}",
        _told(found),
        came=PRINTED,
        equal=found == REPLENISHED,
    )


def _left(rows: Sequence[Row]) -> Claim:
    found = [number(row, "left") for row in where(rows, policy="er-edf", what="left", start=12.0)]
    return numbers(
        FIGURE,
        f"ER-EDF has {LEFT_AT_12:g} of the capacity left when H1 comes at 12 ms",
        ", ".join(f"{left:g}" for left in found) or "no release at 12 ms",
        came=PRINTED,
        equal=found == [LEFT_AT_12],
    )


def _rejected(rows: Sequence[Row]) -> Claim:
    found = _happened(rows, "er-edf", Happening.REJECTED)
    return numbers(
        FIGURE,
        f"ER-EDF rejects the hard task: {_told(REJECTED)}",
        f"rejected: {_told(found)}",
        came=PRINTED,
        equal=found == REJECTED,
    )


def _hard(rows: Sequence[Row], policies: Sequence[str], came: Provenance) -> Claim:
    hard = {task for task, (kind, *_) in TABLE_1.items() if kind is TaskKind.HARD}
    refused = {
        policy: [one for one in _happened(rows, policy, Happening.REJECTED) if one[0] in hard]
        for policy in policies
    }
    return numbers(
        FIGURE,
        "ROP-EDF rejects no hard job here",
        ", ".join(f"{POLICIES[policy]}: {_told(found)}" for policy, found in refused.items()),
        came=came,
        equal=not any(refused.values()),
    )


def _timeline(rows: Sequence[Row], policy: str) -> Timeline:
    runs = where(rows, policy=policy, what="run")
    lanes = tuple(
        (
            task,
            tuple(
                Span(
                    start=number(row, "start"),
                    end=number(row, "end"),
                    label="spare" if flag(row, "spare") else task,
                    kind=1 if flag(row, "spare") else 0,
                )
                for row in runs
                if row["task"] == task
            ),
        )
        for task in TABLE_1
    )
    refused = _told(_happened(rows, policy, Happening.REJECTED))
    return Timeline(
        title=f"Figure 5: {POLICIES[policy]}",
        x="time, ms",
        lanes=lanes,
        until=max(number(row, "end") for row in where(rows, what="run")),
        note=f"Spare: a replenished job while nothing is ready. Rejected: {refused}.",
    )


STUDY = Study(
    name="er-edf-example",
    paper=Paper.ROP_EDF,
    figures=("table 1", "figure 5"),
    title="A hard task that finds the capacity taken",
    seconds=1,
    cells=cells,
    run=run,
    analyse=analyse,
)
