"""What placement rests on, by hand: routes, whether they are unique, loads, and the trees of the
inequalities."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.compiler.placement_cases import bus, nodes
from tests.compiler.test_local_search import problem

from headway.compiler.placement.integer_program import _nearest, _Step
from headway.compiler.placement.local_search import LocalPlacement
from headway.compiler.placement.placement_problem import (
    Layout,
    PlacementProblem,
    Process,
    StreamTraffic,
    arcs_of,
    lay_out,
    measure,
    respects_capacities,
    routes_from,
    topology_of,
)
from headway.model.routes import architecture_of
from headway.model.vehicle import Bus, Gateway, Link, Vehicle


def vehicle(
    buses: tuple[Bus, ...], gateways: tuple[Gateway, ...] = (), links: tuple[Link, ...] = ()
) -> Vehicle:
    """With nodes n1, n2 and n3."""
    return Vehicle(
        name="v", nodes=nodes(1.0, 1.0, 1.0), buses=buses, gateways=gateways, links=links
    )


LINE = vehicle((bus("b1", "n1", "n2"), bus("b2", "n3")), (Gateway(name="g", buses=("b1", "b2")),))


def link(name: str, one: str, other: str) -> Link:
    return Link(name=name, ends=(one, other), speed=10**8)


@pytest.mark.parametrize(
    ("asked", "unique"),
    [
        (LINE, True),
        (vehicle((bus("b1", "n1", "n2", "n3"),)), True),
        (vehicle((bus("b1", "n1", "n2"), bus("b2", "n3"))), True),  # two trees
        # a node on two media
        (vehicle((bus("b1", "n1", "n2"), bus("b2", "n2", "n3"))), False),
        # two gateways between two buses
        (
            vehicle(
                (bus("b1", "n1", "n2"), bus("b2", "n3")),
                (Gateway(name="g", buses=("b1", "b2")), Gateway(name="h", buses=("b1", "b2"))),
            ),
            False,
        ),
        # a circle of three links beside a bus that is attached to none of them
        (
            vehicle(
                (bus("b1", "n1", "n2"),),
                tuple(Gateway(name=name, buses=()) for name in ("g", "h", "i")),
                (link("l1", "g", "h"), link("l2", "h", "i"), link("l3", "i", "g")),
            ),
            False,
        ),
        (
            vehicle(
                (bus("b1", "n1", "n2"),),
                tuple(Gateway(name=name, buses=()) for name in ("g", "h", "i")),
                (link("l1", "g", "h"), link("l2", "h", "i"), link("l3", "i", "n3")),
            ),
            True,
        ),
    ],
)
def test_whether_routes_are_unique(asked: Vehicle, unique: bool) -> None:
    assert (topology_of(architecture_of(asked)).behind is not None) is unique


def test_a_topology() -> None:
    found = topology_of(architecture_of(LINE))
    assert found.ways_in == (("n1", "b1"), ("n2", "b1"), ("g", "b1"), ("n3", "b2"), ("g", "b2"))
    behind = {
        ("n1", "b1"): {"n1"},
        ("n2", "b1"): {"n2"},
        ("g", "b1"): {"n3"},
        ("n3", "b2"): {"n3"},
        ("g", "b2"): {"n1", "n2"},
    }
    assert found.behind == {arc: frozenset(side) for arc, side in behind.items()}
    everywhere = frozenset(("n1", "n2", "n3"))
    assert found.reach == dict.fromkeys(everywhere, everywhere)
    parted = topology_of(architecture_of(vehicle((bus("b1", "n1", "n2"),))))
    assert parted.reach == {"n1": {"n1", "n2"}, "n2": {"n1", "n2"}, "n3": {"n3"}}


def test_routes() -> None:
    """The shortest; nodes do not forward; only given ways lead into media."""
    line = architecture_of(LINE)
    assert routes_from(line, "n1") == {"n1": (), "n2": ("b1",), "n3": ("b1", "g", "b2")}
    assert routes_from(line, "n1", [("n1", "b1")]) == {"n1": (), "n2": ("b1",)}
    assert routes_from(line, "n1", []) == {"n1": ()}
    assert routes_from(line, "n3", [("n3", "b2"), ("g", "b1")])["n2"] == ("b2", "g", "b1")
    through = architecture_of(vehicle((bus("b1", "n1", "n2"), bus("b2", "n2", "n3"))))
    assert routes_from(through, "n1") == {"n1": (), "n2": ("b1",)}


def crossing_line() -> PlacementProblem:
    processes = {
        "s": Process(name="s", nodes=("n1",), loads={"n1": 0.25}),
        "a": Process(name="a", nodes=("n2", "n3"), loads={"n2": 0.5, "n3": 1.0}),
        "b": Process(name="b", nodes=("n1", "n3"), loads={"n1": 0.25, "n3": 0.125}),
    }
    traffic = (
        StreamTraffic(
            stream="s", readers=("a", "b"), volume=100.0, occupancy={"b1": 0.5, "b2": 0.75}
        ),
    )
    return PlacementProblem(architecture_of(LINE), processes, traffic)


def test_what_a_layout_uses() -> None:
    asked = crossing_line()
    layout = lay_out(asked, {"s": "n1", "a": "n2", "b": "n3"})
    assert layout == Layout(
        {"s": "n1", "a": "n2", "b": "n3"}, {("s", "n2"): ("b1",), ("s", "n3"): ("b1", "g", "b2")}
    )
    assert layout is not None
    assert arcs_of(asked, layout, "s", ("a", "b")) == {("n1", "b1"), ("g", "b2")}
    assert arcs_of(asked, layout, "s", ("a",)) == {("n1", "b1")}
    found = measure(asked, layout)
    assert found.usage == 200.0  # b1 once for both readers, then b2
    assert found.node_loads == {"n1": 0.25, "n2": 0.5, "n3": 0.125}
    assert found.medium_loads == {"b1": 0.5, "b2": 0.75}
    assert found.peak == 0.5
    assert respects_capacities(asked, found)
    for over in ({"b1": 1.1, "b2": 0.0}, {"b1": 0.0, "b2": 1.1}):
        assert not respects_capacities(asked, replace(found, medium_loads=over))
    for full in ({"n1": 1.1, "n2": 0.0}, {"n1": 0.0, "n2": 1.1}):
        assert not respects_capacities(asked, replace(found, node_loads=full))
    alone = lay_out(asked, {"s": "n1", "a": "n3", "b": "n1"}, {"s": [("n1", "b1")]})
    assert alone is None  # the way through the gateway is not among those given


def test_a_placement_by_index_is_measured() -> None:
    """As names in the order of the nodes; None where a node is beyond its capacity."""
    asked = problem({"a": ("n1", "n2"), "b": ("n2", "n3")}, [("a", ("b",), 4.0)], load=0.6)
    state = LocalPlacement(asked)
    found = state.measured([0, 2])
    assert found is not None
    layout, measures = found
    assert layout.placement == {"a": "n1", "b": "n3"}
    assert layout.routes == {("a", "n3"): ("b",)}
    assert (measures.usage, measures.peak) == (4.0, 0.6)
    assert state.measured([1, 1]) is None  # 1.2 of n2
    assert (state.usage, state.overload) == (4.0, 0.0)  # where it stands has not changed
    state.move(0, 1)
    assert state.usage == 0.0
    assert state.overload == pytest.approx(0.2)


def test_the_tree_of_what_is_nearest() -> None:
    """Nearest first, each reached the shortest way; what is no nearer than the share is not in it;
    what was reached again on a longer way does not end the search."""
    steps = {
        "root": [_Step("a", 0.25, (1,)), _Step("b", 0.5, (2,)), _Step("far", 1.0, (3,))],
        "a": [_Step("b", 0.125, (4,)), _Step("root", 0.0, (5,)), _Step("c", 0.5, (6,))],
        "b": [_Step("c", 0.375, (7,)), _Step("far", 0.75, (8,))],
        "c": [],
        "far": [],
    }
    order, parents = _nearest(steps, "root", 1.0)
    assert order == ["root", "a", "b", "c"]
    assert parents == {"a": ("root", (1,)), "b": ("a", (4,)), "c": ("a", (6,))}
    assert _nearest(steps, "root", 0.25) == (["root"], {})
    assert _nearest(steps, "root", 0.2501)[0] == ["root", "a"]
