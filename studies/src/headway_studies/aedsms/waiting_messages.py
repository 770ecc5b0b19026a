"""The example of AEDSMS section 3.1.1 (figure 2): a message that is old when it comes, behind seven
others, under FIFO and under EDF.

Printed: a message takes 30 ms, the warning is due 300 ms after sensing; E sends what it says of X
95 ms after sensing it, the others send 5 ms after; seven messages wait before it, so that FIFO
takes 95 + 30 + 7 · 30 = 335 ms. Drawings of both orders are not in the text that we have.

Two readings of when the seven were sensed are run, because the text has it twice: all cars sense
at the same time, and the deadline of E's message is the earliest.

- ``just sent``: the seven come together with E's, and are 5 ms old, as the text says.
- ``one instant``: all eight are sensed at once, so that the seven come 90 ms before E's.

Grid: reading x policy. One query of one operator on one node without scheduling cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.model.operators import Input, Map
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.model.vehicle import Node, Vehicle
from headway_studies.provenance import PRINTED, assumed
from headway_studies.row_reading import flag, number, text, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, numbers, stated
from headway_studies.study_charts import Span, Timeline

WORK = 30
"""ms a message"""
DEADLINE = 300
"""ms, of the warning"""
SENT_AFTER, OTHERS_AFTER = 95, 5
"""ms from sensing to sending: by E, by B, C and D"""
WAITING = 7
PUBLISHED = 335
"""ms until the message about X is processed under FIFO"""
URGENT = WAITING
"""the number of E's message, which comes last"""
JUST_SENT, ONE_INSTANT = "just sent", "one instant"
SENSED: Mapping[str, int] = MappingProxyType({JUST_SENT: SENT_AFTER - OTHERS_AFTER, ONE_INSTANT: 0})
"""by reading: when the seven were sensed, in ms after E sensed X"""
POLICIES: Mapping[str, str] = MappingProxyType({"fifo+": "FIFO", "s-edf": "EDF"})


@cache
def plan() -> Plan:
    """One operator that takes 30 ms a message."""
    columns = schema(message="int")
    query = Query(
        name="figure_2",
        sources=(Source(name="v2v", schema=columns, rate=Rate(10, SECOND)),),
        steps=(
            Map(
                name="process",
                inputs=(Input("input", "v2v"),),
                cost=Cost(WORK * MILLISECOND),
                columns=(),
                keep=True,
            ),
        ),
        outputs=(Output(name="warning", stream="process", deadline=DEADLINE * MILLISECOND),),
    )
    vehicle = Vehicle(name="one", nodes=(Node(name="ecu"),), sensors=(("v2v", "ecu"),))
    return compile_query(query, vehicle)


def arrivals(reading: str) -> list[Arrival]:
    """The seven, then E's, in the order in which they come."""
    sensed = [SENSED[reading]] * WAITING + [0]
    sent = [OTHERS_AFTER] * WAITING + [SENT_AFTER]
    per_row = MILLISECOND // MICROSECOND
    return [
        Arrival((at + after) * MILLISECOND, "v2v", (at * per_row, message))
        for message, (at, after) in enumerate(zip(sensed, sent, strict=True))
    ]


def cells(quick: bool) -> list[Cell]:
    return [{"reading": reading, "policy": policy} for reading in SENSED for policy in POLICIES]


def run(cell: Cell) -> list[Row]:
    """A row for each message in the order in which they are processed; times in ms after E sensed
    X."""
    reading, policy = text(cell, "reading"), text(cell, "policy")
    result = Engine(plan=plan(), policy=policy).run(arrivals(reading))
    return [
        {
            "reading": reading,
            "policy": policy,
            "message": int(one.row[1]),
            "start": one.completed / MILLISECOND - WORK,
            "latency": one.completed / MILLISECOND - one.row[0] * MICROSECOND / MILLISECOND,
            "missed": one.missed,
        }
        for one in result.outputs["warning"]
    ]


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_under_fifo(rows), _first(rows), _all_in_time(rows), _one_instant(rows)),
        pictures=tuple(_timeline(rows, reading) for reading in SENSED),
    )


def _urgent(rows: Sequence[Row], reading: str, policy: str) -> float:
    (row,) = where(rows, reading=reading, policy=policy, message=URGENT)
    return number(row, "latency")


def _under_fifo(rows: Sequence[Row]) -> Claim:
    found = _urgent(rows, JUST_SENT, "fifo+")
    return numbers(
        "figure 2",
        f"under FIFO the message about X is processed {PUBLISHED} ms after sensing, and misses",
        f"{found:g} ms",
        came=PRINTED,
        equal=found == PUBLISHED,
    )


OTHERS = assumed("the seven waiting messages come at the moment E's does, each 5 ms old")


def _first(rows: Sequence[Row]) -> Claim:
    order = [whole(row, "message") for row in where(rows, reading=JUST_SENT, policy="s-edf")]
    return stated(
        "figure 2",
        "under EDF the message about X goes first, because its deadline is the earliest",
        f"it is number {order.index(URGENT) + 1} of {len(order)}, processed "
        f"{_urgent(rows, JUST_SENT, 's-edf'):g} ms after sensing",
        came=OTHERS,
        holds=order[0] == URGENT,
    )


def _all_in_time(rows: Sequence[Row]) -> Claim:
    mine = where(rows, reading=JUST_SENT, policy="s-edf")
    longest = max(number(row, "latency") for row in mine)
    return stated(
        "figure 2",
        f"under EDF all the other messages meet their {DEADLINE} ms, too",
        f"{sum(flag(row, 'missed') for row in mine)} of {len(mine)} missed; the last is processed "
        f"{longest:g} ms after sensing",
        came=OTHERS,
        holds=not any(flag(row, "missed") for row in mine),
    )


def _one_instant(rows: Sequence[Row]) -> Claim:
    found = {policy: _urgent(rows, ONE_INSTANT, policy) for policy in POLICIES}
    return stated(
        "figure 2",
        "all vehicles sense at the same time, seven messages wait before the one about X, and its "
        "deadline is the earliest",
        "sensed at one instant: "
        + ", ".join(f"{name} {found[policy]:g} ms" for policy, name in POLICIES.items()),
        came=PRINTED,
        holds=found["fifo+"] == PUBLISHED and found["s-edf"] < PUBLISHED,
        why="messages sensed at one instant have one deadline, so EDF has none to prefer; and "
        f"those sent after {OTHERS_AFTER} ms have been here for {SENT_AFTER - OTHERS_AFTER} ms, in "
        f"which {(SENT_AFTER - OTHERS_AFTER) // WORK} of the {WAITING} were processed",
    )


def _timeline(rows: Sequence[Row], reading: str) -> Timeline:
    told = {
        JUST_SENT: "the seven messages come with that about X",
        ONE_INSTANT: "all eight are sensed at one instant",
    }
    return Timeline(
        title=f"Figure 2: {told[reading]}",
        x="ms after X was sensed",
        lanes=tuple(
            (
                name,
                tuple(
                    Span(
                        start=number(row, "start"),
                        end=number(row, "start") + WORK,
                        label="X" if row["message"] == URGENT else str(row["message"]),
                        kind=int(row["message"] == URGENT),
                    )
                    for row in where(rows, reading=reading, policy=policy)
                ),
            )
            for policy, name in POLICIES.items()
        ),
        note=f"The message about X comes at {SENT_AFTER} ms and is due at {DEADLINE} ms.",
        until=PUBLISHED,
    )


STUDY = Study(
    name="aedsms-example",
    paper=Paper.AEDSMS,
    figures=("figure 2",),
    title="The message that is old when it comes: 335 ms behind seven others",
    seconds=1,
    cells=cells,
    run=run,
    analyse=analyse,
)
