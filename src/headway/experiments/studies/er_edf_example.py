"""ROP-EDF figure 5: under ER-EDF soft tasks take what a hard task needs."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.findings import Claim, Findings, Span, Timeline, numbers
from headway.experiments.overload import er_edf_example as example
from headway.experiments.overload.er_edf_noted import NotedErEdf
from headway.experiments.rows import flag, number, text, where
from headway.experiments.study import Cell, Paper, Row, Study
from headway.model.taskset import FULL, TaskKind
from headway.schedule.online import overload_policy_named
from headway.schedule.overload import Happening, TrialRecord, simulate

POLICIES = {
    "er-edf": "ER-EDF", "rop-edf-1": "ROP-EDF, policy 1", "rop-edf-2": "ROP-EDF, policy 2",
}  # fmt: skip
FIGURE = "figure 5"


def cells(quick: bool) -> list[Cell]:
    return [{"policy": policy} for policy in POLICIES]


def run(cell: Cell) -> list[Row]:
    """Runs, changes of state, and under ER-EDF the capacity left at each release."""
    name = text(cell, "policy")
    noted = NotedErEdf()
    policy = noted if name == noted.name else overload_policy_named(name)
    record = TrialRecord()
    simulate(example.task_set(), example.releases(), policy, example.DURATION, record)
    tasks = list(example.TABLE_1)
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
        "policy": policy, "what": what, "task": task, "start": start / example.UNIT,
        "end": None if end is None else end / example.UNIT, "spare": None, "left": None,
    }  # fmt: skip


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_runs(rows), _replenished(rows), _left(rows), _rejected(rows), _hard(rows)),
        pictures=tuple(_timeline(rows, policy) for policy in ("er-edf", "rop-edf-1")),
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
        f"ER-EDF until 10 ms: {told(example.RUNS_UNTIL_10)}",
        told(found),
        equal=found == example.RUNS_UNTIL_10,
    )


def _replenished(rows: Sequence[Row]) -> Claim:
    found = tuple(
        pair for pair in _happened(rows, "er-edf", Happening.REPLENISHED) if pair[1] <= 10
    )
    return numbers(
        FIGURE,
        f"overrun jobs replenished until 10 ms: {_told(example.REPLENISHED)}",
        _told(found),
        equal=found == example.REPLENISHED,
    )


def _left(rows: Sequence[Row]) -> Claim:
    found = [number(row, "left") for row in where(rows, policy="er-edf", what="left", start=12.0)]
    return numbers(
        FIGURE,
        f"ER-EDF has {example.LEFT_AT_12:g} of the capacity left when H1 comes at 12 ms",
        ", ".join(f"{left:g}" for left in found) or "no release at 12 ms",
        equal=found == [example.LEFT_AT_12],
    )


def _rejected(rows: Sequence[Row]) -> Claim:
    found = _happened(rows, "er-edf", Happening.REJECTED)
    return numbers(
        FIGURE,
        f"ER-EDF rejects the hard task: {_told(example.REJECTED)}",
        f"rejected: {_told(found)}",
        equal=found == example.REJECTED,
    )


def _hard(rows: Sequence[Row]) -> Claim:
    hard = {task for task, (kind, *_) in example.TABLE_1.items() if kind is TaskKind.HARD}
    refused = {
        policy: [one for one in _happened(rows, policy, Happening.REJECTED) if one[0] in hard]
        for policy in POLICIES
        if policy.startswith("rop-edf")
    }
    return numbers(
        FIGURE,
        "ROP-EDF rejects no hard job here",
        ", ".join(f"{POLICIES[policy]}: {_told(found)}" for policy, found in refused.items()),
        equal=len(refused) == 2 and not any(refused.values()),
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
        for task in example.TABLE_1
    )
    refused = _told(_happened(rows, policy, Happening.REJECTED))
    return Timeline(
        title=f"Figure 5: {POLICIES[policy]}",
        x="time, ms",
        lanes=lanes,
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
