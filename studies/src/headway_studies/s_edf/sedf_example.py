"""S-EDF figures 6 and 7: the worked example, slot by slot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.engine.trace import EventKind
from headway.model.operators import Input, Map, Operator, UserDefined
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.model.user_operator import Row as TupleRow
from headway.model.user_operator import UserOperator
from headway.model.vehicle import Node, Vehicle
from headway_studies.provenance import PRINTED
from headway_studies.row_reading import POLICY_NAMES, flag, number, text, where
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, numbers
from headway_studies.study_charts import Span, Timeline

# ----------------------------------------------------------------
# The worked example of the S-EDF paper (section 5.5, figures 6 and 7): the query, its input, and
# everything printed about its run. A unit of time is one operator; here it is a millisecond.


UNIT = MILLISECOND
VALUE = schema(v="double")
INPUTS = {
    "o1": ("s1",),
    "o2": ("s2",),
    "o3": ("o1", "o2"),
    "o4": ("o3",),
    "o5": ("o4",),
    "o6": ("o3",),
    "o7": ("o6",),
}
TIMEOUTS = {"o3": 1}
OUTPUTS = {"s3": ("o5", 5), "s4": ("o7", 11)}
"""output -> (stream, deadline)"""
TUPLES = {"p1": ("s1", 1), "p3": ("s2", 2), "p2": ("s1", 6)}
"""tuple -> (stream, arrival); they arrive when they are sensed"""

TRAINS = ("o1", "o2", "o3", "o4 o5", "o6 o7")
TRAIN_DEADLINES = {
    ("p1", "o1"): 3,
    ("p1", "o3"): 4,
    ("p1", "o4 o5"): 6,
    ("p1", "o6 o7"): 12,
    ("p2", "o1"): 8,
    ("p2", "o3"): 9,
    ("p2", "o4 o5"): 11,
    ("p2", "o6 o7"): 17,
}
"""(tuple, train) -> absolute deadline, as printed"""
SLOTS = {
    "s-edf": "o1@1 o2@2 o3@3 o4@4 o5@5 o1@6 o6@7 o3@8 o4@9 o5@10 o7@11 o6@12 o7@13",
    "fifo+": "o1@1 o2@2 o3@3 o4@4 o5@5 o6@6 o7@7 o1@8 o3@10 o4@11 o5@12 o6@13 o7@14",
}
"""figure 7: which operator starts when; of FIFO+ only the order of its steps and the miss are
printed, the rest is by its rule"""
COMPLETED = {
    "s-edf": {("s3", "p1"): 6, ("s3", "p2"): 11, ("s4", "p1"): 12, ("s4", "p2"): 14},
    "fifo+": {("s3", "p1"): 6, ("s3", "p2"): 13, ("s4", "p1"): 8, ("s4", "p2"): 15},
}
MISSED: Mapping[str, tuple[tuple[str, str], ...]] = {"s-edf": (), "fifo+": (("s3", "p2"),)}


class FirstComer(UserOperator):
    """o3: one row an execution, the first tuple of the first port that has one."""

    def process(self, inputs: Mapping[str, Sequence[TupleRow]], now: int) -> Iterable[TupleRow]:
        for rows in inputs.values():
            if rows:
                return [(None, *rows[0][1:])]
        return []


def _operator(name: str, streams: Sequence[str]) -> Operator:
    ports = tuple(Input(f"in{place}", stream) for place, stream in enumerate(streams))
    if name not in TIMEOUTS:
        return Map(name=name, inputs=ports, cost=Cost(UNIT), columns=(), keep=True)
    return UserDefined(
        name=name,
        inputs=ports,
        cost=Cost(UNIT),
        timeout=TIMEOUTS[name] * UNIT,
        most_outputs=1,
        implementation=f"{__name__}:{FirstComer.__name__}",
        schema=VALUE,
    )


@cache
def plan() -> Plan:
    """Figure 6 on one node without scheduling cost."""
    rate = Rate(1, 100 * UNIT)
    streams = dict.fromkeys(stream for stream, _ in TUPLES.values())
    query = Query(
        name="figure_6",
        sources=tuple(Source(name=name, schema=VALUE, rate=rate) for name in streams),
        steps=tuple(_operator(name, inputs) for name, inputs in INPUTS.items()),
        outputs=tuple(
            Output(name=name, stream=stream, deadline=deadline * UNIT)
            for name, (stream, deadline) in OUTPUTS.items()
        ),
    )
    vehicle = Vehicle(
        name="one", nodes=(Node(name="ecu"),), sensors=tuple((name, "ecu") for name in streams)
    )
    return compile_query(query, vehicle)


def arrivals() -> list[Arrival]:
    """Tuples are told apart by their value, which every operator passes on."""
    return [
        Arrival(time * UNIT, stream, (time * UNIT // MICROSECOND, float(place)))
        for place, (stream, time) in enumerate(TUPLES.values())
    ]


def tuple_named(value: float) -> str:
    """The tuple that has this value."""
    return list(TUPLES)[int(value)]


# ----------------------------------------------------------------
# Who ran when in a finished run: a run of a whole train cut into its operators.


class OperatorSlot(NamedTuple):
    """One operator of a job, from ``start`` to ``end`` (ns)."""

    start: int
    end: int
    core: str
    unit: str
    """the train"""
    operator: str


def operator_slots(result: RunResult) -> list[OperatorSlot]:
    """In the order they happened; the run must have kept its trace."""
    units = {unit.name: unit for unit in result.kernel.program.units}
    found = []
    for kind, start, end, _node, core, what, _job, first, ran in result.trace.events:
        if kind != EventKind.RUN:
            continue
        unit, at = units[what], start
        for place in range(first, first + ran):
            after = end if place == first + ran - 1 else at + unit.costs[place]
            found.append(OperatorSlot(at, after, core, what, unit.operators[place]))
            at = after
    return found


POLICIES = ("s-edf", "fifo+")


def cells(quick: bool) -> list[Cell]:
    return [{"policy": policy} for policy in POLICIES]


def run(cell: Cell) -> list[Row]:
    """Slots and outputs of one policy, and the trains' deadlines for each tuple of s1."""
    policy = text(cell, "policy")
    result = Engine(plan=plan(), policy=policy).run(arrivals())
    rows: list[Row] = [
        _row(policy, "slot", slot.operator, start=slot.start, end=slot.end)
        for slot in operator_slots(result)
    ]
    for name, record in result.outputs.items():
        rows += [
            _row(policy, "output", name, tuple_named(one.row[1]), end=one.completed)
            | {"missed": one.missed}
            for one in record
        ]
    for task in plan().tasks:
        train = " ".join(task.operators)
        rows += [
            _row(policy, "train", train, name, end=time * UNIT + task.relative_deadline)
            for name, (stream, time) in TUPLES.items()
            if stream == "s1"
        ]
    return rows


def _row(
    policy: str, what: str, name: str, of: str = "", *, start: int | None = None, end: int
) -> dict[str, bool | float | str | None]:
    begin = None if start is None else start / UNIT
    return {
        "policy": policy, "what": what, "name": name, "tuple": of, "start": begin,
        "end": end / UNIT, "missed": None,
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
        f"five trains: {_listed(TRAINS)}",
        _listed(found),
        came=PRINTED,
        equal=found == TRAINS,
    )


def _deadlines(rows: Sequence[Row]) -> Claim:
    found = {
        (text(row, "tuple"), text(row, "name")): number(row, "end")
        for row in where(rows, policy="s-edf", what="train")
    }
    ours = {key: found.get(key) for key in TRAIN_DEADLINES}
    return numbers(
        "figure 6",
        "deadlines of p1 and p2 in their trains: "
        + ", ".join(str(deadline) for deadline in TRAIN_DEADLINES.values()),
        ", ".join("–" if deadline is None else f"{deadline:g}" for deadline in ours.values()),
        came=PRINTED,
        equal=ours == TRAIN_DEADLINES,
    )


def _run(rows: Sequence[Row], policy: str) -> list[Claim]:
    slots = where(rows, policy=policy, what="slot")
    order = " ".join(f"{text(row, 'name')}@{number(row, 'start'):g}" for row in slots)
    outputs = where(rows, policy=policy, what="output")
    done = {(text(row, "name"), text(row, "tuple")): number(row, "end") for row in outputs}
    missed = tuple(
        (text(row, "name"), text(row, "tuple")) for row in outputs if flag(row, "missed")
    )
    printed, late = COMPLETED[policy], MISSED[policy]
    as_ruled = order == SLOTS[policy] and done == printed
    if policy == "fifo+":
        return [
            numbers(
                "figure 7",
                f"FIFO+ finishes p1 in s4 before it turns to p2, and misses: {_pairs(late)}",
                f"missed: {_pairs(missed)}; runs {order}; {_times(done)}",
                came=PRINTED,
                equal=missed == late and as_ruled,
            )
        ]
    return [
        numbers(
            "figure 7",
            f"{POLICY_NAMES[policy]} runs {SLOTS[policy]}",
            order,
            came=PRINTED,
            equal=order == SLOTS[policy]
            and all(number(row, "end") - number(row, "start") == 1 for row in slots),
        ),
        numbers(
            "figure 7",
            f"{POLICY_NAMES[policy]}: outputs {_times(printed)}; missed: {_pairs(late)}",
            f"{_times(done)}; missed: {_pairs(missed)}",
            came=PRINTED,
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
    kinds = {o: place for place, train in enumerate(TRAINS) for o in train.split()}
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
