"""The example of S-EDF section 2 (figure 2): old tuples that only the information service waits
for, and new ones from other cars that the collision warning waits for.

Printed: two outputs, the warning due after 300 ms and information after 3 s; operators that all
take the same time; old tuples S1 with 300 ms of work left, for information only; five new tuples
S2, X_E the fourth, each with 40 ms of work for the warning; o3 has two followers, o4 and o5, and
all others one; S2 waits before o2. The drawing is not in the text that we have. Ours is the
smallest graph with these properties and seven operators of 10 ms each, four of them on the way to
the warning (o2, o3, o4, o6) and two behind the branch to information (o5, o7):

    on_board -> o1 \\                / o4 -> o6 -> warning (300 ms)
                    o3 (union) --->
         v2v -> o2 /                \\ o5 -> o7 -> information (3 s)

S1 is then 15 tuples before o5. Here they come from a source of their own (``old``), which the
paper's query does not have, because a run begins with empty queues.

Grid: policy x age of S2 when it comes. The paper says nothing of the age; with 100 ms, the most
that a sender may wait, the warning of the fifth tuple is due when its work is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.model.operators import Input, Map, Operator, Union
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.model.vehicle import Node, Vehicle
from headway_studies.provenance import assumed
from headway_studies.row_reading import POLICY_NAMES, flag, number, text, where, whole
from headway_studies.s_edf.sedf_example import operator_slots
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, beyond, stated
from headway_studies.study_charts import Span, Timeline

OPERATOR = 10
"""ms"""
INPUTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "o1": ("on_board",),
        "o2": ("v2v",),
        "o3": ("o1", "o2"),
        "o4": ("o3",),
        "o5": ("o3", "old"),
        "o6": ("o4",),
        "o7": ("o5",),
    }
)
OUTPUTS: Mapping[str, tuple[str, int]] = MappingProxyType(
    {"warning": ("o6", 300), "information": ("o7", 3_000)}
)
"""output -> (stream, deadline in ms)"""
S1 = 15
"""tuples with two operators of 10 ms each before them: 300 ms"""
OLD_SINCE = 1_000
"""ms: how long ago the first of them was sensed"""
S2 = ("B_B", "C_B", "E_E", "X_E", "D_D")
URGENT = "X_E"
NOW = OLD_SINCE
"""ms from the start of the run: when S2 comes"""
AGES = (0, 100)
"""ms: of S2"""
POLICIES = ("fifo+", "s-edf")
REBUILT = assumed(
    "the graph around the branch at o3, seven operators of 10 ms; S1 sensed in the second before; "
    "S2 new when it comes"
)


def _operator(name: str, streams: tuple[str, ...]) -> Operator:
    inputs = tuple(Input(f"in{place}", stream) for place, stream in enumerate(streams))
    cost = Cost(OPERATOR * MILLISECOND)
    if len(streams) > 1:
        return Union(name=name, inputs=inputs, cost=cost)
    return Map(name=name, inputs=inputs, cost=cost, columns=(), keep=True)


@cache
def plan() -> Plan:
    """Figure 2 on one node without scheduling cost."""
    columns, rate = schema(number="int"), Rate(S1, 3_000 * MILLISECOND)
    sources = ("on_board", "v2v", "old")
    query = Query(
        name="figure_2",
        sources=tuple(Source(name=name, schema=columns, rate=rate) for name in sources),
        steps=tuple(_operator(name, streams) for name, streams in INPUTS.items()),
        outputs=tuple(
            Output(name=name, stream=stream, deadline=deadline * MILLISECOND)
            for name, (stream, deadline) in OUTPUTS.items()
        ),
    )
    vehicle = Vehicle(
        name="one", nodes=(Node(name="ecu"),), sensors=tuple((name, "ecu") for name in sources)
    )
    return compile_query(query, vehicle)


def arrivals(age: int) -> list[Arrival]:
    """S1, then S2, all there at one instant. Numbers below 0 are those of S1."""
    per_row = MILLISECOND // MICROSECOND
    old = [
        Arrival(NOW * MILLISECOND, "old", (place * OLD_SINCE // S1 * per_row, place - S1))
        for place in range(S1)
    ]
    new = [
        Arrival(NOW * MILLISECOND, "v2v", ((NOW - age) * per_row, place))
        for place in range(len(S2))
    ]
    return [*old, *new]


def cells(quick: bool) -> list[Cell]:
    return [{"policy": policy, "age": age} for policy in POLICIES for age in AGES]


def run(cell: Cell) -> list[Row]:
    """Outputs in ms after S2 came, and which operator ran when."""
    policy, age = text(cell, "policy"), whole(cell, "age")
    result = Engine(plan=plan(), policy=policy).run(arrivals(age))
    rows: list[Row] = [
        {
            "policy": policy, "age": age, "what": "output", "name": name,
            "number": int(one.row[1]), "start": None, "end": one.completed / MILLISECOND - NOW,
            "missed": one.missed,
        }
        for name, record in result.outputs.items()
        for one in record
    ]  # fmt: skip
    rows += [
        {
            "policy": policy, "age": age, "what": "slot", "name": slot.operator, "number": None,
            "start": slot.start / MILLISECOND - NOW, "end": slot.end / MILLISECOND - NOW,
            "missed": None,
        }
        for slot in operator_slots(result)
    ]  # fmt: skip
    return rows


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_fifo(rows), _edf(rows), _old_enough(rows)),
        pictures=(_timeline(rows),),
    )


def _warnings(rows: Sequence[Row], policy: str, age: int = 0) -> dict[str, float]:
    found = where(rows, policy=policy, age=age, what="output", name="warning")
    return {S2[whole(row, "number")]: number(row, "end") for row in found}


def _missed(rows: Sequence[Row], policy: str, age: int = 0) -> int:
    return sum(flag(row, "missed") for row in where(rows, policy=policy, age=age, what="output"))


def _listed(done: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {end:g}" for name, end in done.items())


def _fifo(rows: Sequence[Row]) -> Claim:
    done = _warnings(rows, "fifo+")
    limit = OUTPUTS["warning"][1]
    return stated(
        "section 2",
        f"under FIFO S1 goes before S2, and the warnings of S2, {URGENT} among them, miss "
        f"{limit} ms",
        f"ready after {_listed(done)} ms; {sum(end > limit for end in done.values())} of "
        f"{len(done)} missed",
        came=REBUILT,
        holds=min(done.values()) > limit,
    )


def _edf(rows: Sequence[Row]) -> Claim:
    done = _warnings(rows, "s-edf")
    return stated(
        "section 2",
        "with the warnings of S2 before S1 no tuple of S1 or S2 misses a deadline of either output",
        f"S-EDF: warnings ready after {_listed(done)} ms; {_missed(rows, 's-edf')} missed",
        came=REBUILT,
        holds=_missed(rows, "s-edf") == 0 and len(done) == len(S2),
    )


def _old_enough(rows: Sequence[Row]) -> Claim:
    age = AGES[-1]
    last = max(_warnings(rows, "s-edf", age).values())
    return beyond(
        "section 2",
        f"and if S2 is {age} ms old when it comes, the most that its senders may wait?",
        f"S-EDF: {_missed(rows, 's-edf', age)} missed; the last warning is ready "
        f"{last + age:g} ms after sensing, with nothing to spare",
        came=REBUILT,
    )


def _timeline(rows: Sequence[Row]) -> Timeline:
    kinds = {"o5": 1, "o7": 1}
    return Timeline(
        title="Section 2: old tuples for information, new ones for the warning",
        x="ms after the new tuples came",
        lanes=tuple(
            (
                POLICY_NAMES[policy],
                tuple(
                    Span(
                        start=number(row, "start"),
                        end=number(row, "end"),
                        label=text(row, "name"),
                        kind=kinds.get(text(row, "name"), 0),
                    )
                    for row in where(rows, policy=policy, age=0, what="slot")
                ),
            )
            for policy in POLICIES
        ),
        note="One colour: o2, o3, o4, o6, on the way to the warning, due at 300 ms. The other: o5 "
        "and o7, for information, due after 3 s.",
    )


STUDY = Study(
    name="sedf-section-2",
    paper=Paper.S_EDF,
    figures=("figure 2", "section 2"),
    title="Old tuples for information before new ones for a warning",
    seconds=1,
    cells=cells,
    run=run,
    analyse=analyse,
)
