"""The worked example of the S-EDF paper (section 5.5, figures 6 and 7): the query, its input, and
everything printed about its run. A unit of time is one operator; here it is a millisecond."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from headway.compiler import compile_query
from headway.engine.jobs import Arrival
from headway.model.operators import Input, Map, Operator, UserDefined
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.model.user_operator import Row, UserOperator
from headway.model.vehicle import Node, Vehicle

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
"""figure 7: which operator starts when"""
SLOTS_FROM = {
    "s-edf": "runs, as printed:",
    "fifo+": "runs, by its rule (only the miss is printed):",
}
COMPLETED = {
    "s-edf": {("s3", "p1"): 6, ("s3", "p2"): 11, ("s4", "p1"): 12, ("s4", "p2"): 14},
    "fifo+": {("s3", "p1"): 6, ("s3", "p2"): 13, ("s4", "p1"): 8, ("s4", "p2"): 15},
}
MISSED: Mapping[str, tuple[tuple[str, str], ...]] = {"s-edf": (), "fifo+": (("s3", "p2"),)}


class FirstComer(UserOperator):
    """o3: one row an execution, the first tuple of the first port that has one."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
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
