"""S-EDF figures 6 and 7: the worked example, slot by slot."""

from __future__ import annotations

from collections.abc import Sequence

from headway.engine.engine import Engine
from headway.experiments.findings import Claim, Findings, Span, Timeline, numbers
from headway.experiments.policy_names import POLICY_NAMES
from headway.experiments.rows import flag, number, text, where
from headway.experiments.sedf import example
from headway.experiments.sedf.operator_slots import operator_slots
from headway.experiments.study import Cell, Paper, Row, Study

POLICIES = ("s-edf", "fifo+")


def cells(quick: bool) -> list[Cell]:
    return [{"policy": policy} for policy in POLICIES]


def run(cell: Cell) -> list[Row]:
    """Slots and outputs of one policy, and the trains' deadlines for each tuple of s1."""
    policy, plan = text(cell, "policy"), example.plan()
    result = Engine(plan=plan, policy=policy).run(example.arrivals())
    rows: list[Row] = [
        _row(policy, "slot", slot.operator, start=slot.start, end=slot.end)
        for slot in operator_slots(result)
    ]
    for name, record in result.outputs.items():
        rows += [
            _row(policy, "output", name, example.tuple_named(one.row[1]), end=one.completed)
            | {"missed": one.missed}
            for one in record
        ]
    for task in plan.tasks:
        train = " ".join(task.operators)
        rows += [
            _row(policy, "train", train, name, end=time * example.UNIT + task.relative_deadline)
            for name, (stream, time) in example.TUPLES.items()
            if stream == "s1"
        ]
    return rows


def _row(
    policy: str, what: str, name: str, of: str = "", *, start: int | None = None, end: int
) -> dict[str, bool | float | str | None]:
    begin = None if start is None else start / example.UNIT
    return {
        "policy": policy, "what": what, "name": name, "tuple": of, "start": begin,
        "end": end / example.UNIT, "missed": None,
    }  # fmt: skip


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_trains(rows), _deadlines(rows), *(c for p in POLICIES for c in _run(rows, p))),
        pictures=(_timeline(rows),),
    )


def _trains(rows: Sequence[Row]) -> Claim:
    found = tuple(
        dict.fromkeys(text(row, "name") for row in where(rows, policy="s-edf", what="train"))
    )
    return numbers(
        "figure 6",
        f"five trains: {_listed(example.TRAINS)}",
        _listed(found),
        equal=found == example.TRAINS,
    )


def _deadlines(rows: Sequence[Row]) -> Claim:
    found = {
        (text(row, "tuple"), text(row, "name")): number(row, "end")
        for row in where(rows, policy="s-edf", what="train")
    }
    ours = {key: found.get(key) for key in example.TRAIN_DEADLINES}
    return numbers(
        "figure 6",
        "deadlines of p1 and p2 in their trains: "
        + ", ".join(str(deadline) for deadline in example.TRAIN_DEADLINES.values()),
        ", ".join("–" if deadline is None else f"{deadline:g}" for deadline in ours.values()),
        equal=ours == example.TRAIN_DEADLINES,
    )


def _run(rows: Sequence[Row], policy: str) -> list[Claim]:
    slots = where(rows, policy=policy, what="slot")
    order = " ".join(f"{text(row, 'name')}@{number(row, 'start'):g}" for row in slots)
    outputs = where(rows, policy=policy, what="output")
    done = {(text(row, "name"), text(row, "tuple")): number(row, "end") for row in outputs}
    missed = tuple(
        (text(row, "name"), text(row, "tuple")) for row in outputs if flag(row, "missed")
    )
    printed, late = example.COMPLETED[policy], example.MISSED[policy]
    return [
        numbers(
            "figure 7",
            f"{POLICY_NAMES[policy]} {example.SLOTS_FROM[policy]} {example.SLOTS[policy]}",
            order,
            equal=order == example.SLOTS[policy]
            and all(number(row, "end") - number(row, "start") == 1 for row in slots),
        ),
        numbers(
            "figure 7",
            f"{POLICY_NAMES[policy]}: outputs {_times(printed)}; missed: {_pairs(late)}",
            f"{_times(done)}; missed: {_pairs(missed)}",
            equal=(done, missed) == (printed, late),
        ),
    ]


def _listed(trains: Sequence[str]) -> str:
    return ", ".join(f"({train.replace(' ', ', ')})" for train in trains)


def _times(done: dict[tuple[str, str], float] | dict[tuple[str, str], int]) -> str:
    return ", ".join(f"{of} in {name} at {time:g}" for (name, of), time in sorted(done.items()))


def _pairs(missed: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{of} in {name}" for name, of in missed) or "none"


def _timeline(rows: Sequence[Row]) -> Timeline:
    kinds = {o: place for place, train in enumerate(example.TRAINS) for o in train.split()}
    lanes = tuple(
        (
            POLICY_NAMES[policy],
            tuple(
                Span(
                    start=number(row, "start"),
                    end=number(row, "end"),
                    label=text(row, "name"),
                    kind=kinds[text(row, "name")],
                )
                for row in where(rows, policy=policy, what="slot")
            ),
        )
        for policy in POLICIES
    )
    return Timeline(
        title="Figure 7: the same tuples under S-EDF and FIFO+",
        x="time, in operators",
        lanes=lanes,
        note="Operators of one train share a colour. p1 comes at 1, p3 at 2, p2 at 6.",
    )


STUDY = Study(
    name="sedf-example",
    paper=Paper.S_EDF,
    figures=("figure 6", "figure 7"),
    title="The worked example: two deadlines, a timeout and a preemption",
    seconds=1,
    cells=cells,
    run=run,
    analyse=analyse,
)
