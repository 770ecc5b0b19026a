"""Buses and gateways in virtual time: timelines worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

from tests.compiler.build import query_of
from tests.engine.support import compiled, run, slots_of

from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.engine.trace import EventKind
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.model.vehicle import Bus, BusKind, Gateway, Link, Node, Vehicle

MS = MILLISECOND
FULL = 135 * MICROSECOND
"""a CAN frame of 8 bytes at 1 Mbit/s: 34 + 64 + 13 + floor(97 / 4) = 135 bits"""
ROW = 2 * FULL
"""timestamp and a double: two frames"""


def can(name: str, *nodes: str) -> Bus:
    return Bus(name=name, kind=BusKind.CAN, bit_rate=1_000_000, nodes=nodes)


def vehicle(
    places: dict[str, str],
    *,
    buses: Sequence[Bus],
    gateways: Sequence[Gateway] = (),
    links: Sequence[Link] = (),
    nodes: Sequence[str],
) -> Vehicle:
    """``places`` of sources (s...) and operators."""
    return Vehicle(
        name="v",
        nodes=tuple(Node(name=name) for name in nodes),
        buses=tuple(buses),
        gateways=tuple(gateways),
        links=tuple(links),
        sensors=tuple((name, node) for name, node in places.items() if name.startswith("s")),
        pins=tuple((name, node) for name, node in places.items() if not name.startswith("s")),
    )


def starts(result: RunResult) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for slot in slots_of(result):
        found.setdefault(slot.operator, []).append(slot.start)
    return found


def events(result: RunResult, kind: EventKind) -> list[tuple[int, str, str]]:
    return [(one[1], one[3], one[5]) for one in result.trace.events if one[0] == kind]


def two_streams() -> Plan:
    """urgent and calm cross the bus; the shorter deadline has the higher priority."""
    query = query_of(
        [("s1", "calm"), ("s2", "urgent"), ("calm", "out_calm"), ("urgent", "out_urgent")],
        {"out_calm": 100 * MS, "out_urgent": 10 * MS},
        costs=MICROSECOND,
    )
    places = {"s1": "left", "s2": "left", "calm": "right", "urgent": "right"}
    return compiled(
        query, vehicle(places, buses=[can("bus", "left", "right")], nodes=("left", "right"))
    )


def test_a_frame_under_way_is_not_stopped_but_the_next_one_waits() -> None:
    """calm's first frame is on the bus when urgent comes: urgent's two go before calm's second.

    0-135 calm 1, 135-405 urgent 1 and 2, 405-540 calm 2.
    """
    given = [Arrival(0, "s1", (0, 1.0)), Arrival(50 * MICROSECOND, "s2", (50, 1.0))]
    found = starts(run(two_streams(), given))
    assert found == {"urgent": [FULL + ROW], "calm": [2 * ROW]}


def test_at_one_instant_the_priority_decides_when_the_bus_is_next_free() -> None:
    """Both wait behind a first tuple of calm's stream."""
    given = [
        Arrival(0, "s1", (0, 1.0)),
        Arrival(1000, "s1", (1, 1.0)),
        Arrival(1000, "s2", (1, 1.0)),
    ]
    found = starts(run(two_streams(), given))
    assert found == {"urgent": [FULL + ROW], "calm": [2 * ROW, 3 * ROW]}


def test_one_stream_keeps_its_order() -> None:
    given = [Arrival(n, "s1", (0, float(n))) for n in range(3)]
    result = run(two_streams(), given)
    assert [row[1] for row in result.outputs["out_calm"].rows] == [0.0, 1.0, 2.0]
    assert starts(result)["calm"] == [ROW, 2 * ROW, 3 * ROW]


def test_a_stream_for_two_nodes_is_sent_once() -> None:
    query = query_of(
        [("s1", "a"), ("s1", "b"), ("a", "out_a"), ("b", "out_b")],
        {"out_a": 10 * MS, "out_b": 10 * MS},
        costs=MICROSECOND,
    )
    places = {"s1": "left", "a": "right", "b": "third"}
    bus = can("bus", "left", "right", "third")
    plan = compiled(query, vehicle(places, buses=[bus], nodes=("left", "right", "third")))
    result = run(plan, [Arrival(0, "s1", (0, 1.0))])
    assert starts(result) == {"a": [ROW], "b": [ROW]}
    assert len(events(result, EventKind.SEND)) == 1
    received = events(result, EventKind.RECEIVE)
    assert sorted(received) == [(ROW, "right", "s1"), (ROW, "third", "s1")]


def test_a_gateway_holds_a_whole_tuple_for_its_delay() -> None:
    """270 on the first bus, 500 in the gateway, 270 on the second; a node on the first bus has it
    before."""
    query = query_of(
        [("s1", "near"), ("s1", "far"), ("near", "out_near"), ("far", "out_far")],
        {"out_near": 10 * MS, "out_far": 10 * MS},
        costs=MICROSECOND,
    )
    places = {"s1": "left", "near": "middle", "far": "right"}
    plan = compiled(
        query,
        vehicle(
            places,
            buses=[can("bus1", "left", "middle"), can("bus2", "right")],
            gateways=[Gateway(name="gw", buses=("bus1", "bus2"), delay=500 * MICROSECOND)],
            nodes=("left", "middle", "right"),
        ),
    )
    result = run(plan, [Arrival(0, "s1", (0, 1.0)), Arrival(0, "s1", (0, 2.0))])
    through = ROW + 500 * MICROSECOND + ROW
    assert starts(result) == {"near": [ROW, 2 * ROW], "far": [through, through + ROW]}


def test_a_link_carries_a_tuple_in_one_piece() -> None:
    """16 bytes at 1 Mbit/s: 128 us."""
    query = query_of([("s1", "a"), ("a", "out")], {"out": 10 * MS}, costs=MICROSECOND)
    link = Link(name="link", ends=("left", "right"), speed=1_000_000)
    places = {"s1": "left", "a": "right"}
    plan = compiled(query, vehicle(places, buses=[], links=[link], nodes=("left", "right")))
    assert starts(run(plan, [Arrival(0, "s1", (0, 1.0))])) == {"a": [128 * MICROSECOND]}
