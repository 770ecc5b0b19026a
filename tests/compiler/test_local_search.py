"""Local search: who may sit where is kept, and what is counted move by move is what is measured."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.compiler.placement_cases import bus, compilation, nodes, random_case

from headway.compiler.placement.local_search import LocalPlacement, anneal, even_out
from headway.compiler.placement.placement_problem import (
    PlacementProblem,
    Process,
    StreamTraffic,
    lay_out,
    measure,
    problem_of,
    respects_capacities,
)
from headway.errors import PlacementError
from headway.model.routes import architecture_of
from headway.model.vehicle import Vehicle


def problem(
    places: Mapping[str, tuple[str, ...]],
    streams: list[tuple[str, tuple[str, ...], float]],
    load: float = 0.1,
) -> PlacementProblem:
    """Processes on three nodes of one bus; each takes the same share of any of its nodes."""
    vehicle = Vehicle(name="v", nodes=nodes(1.0, 1.0, 1.0), buses=(bus("b", "n1", "n2", "n3"),))
    processes = {
        name: Process(name=name, nodes=where, loads=dict.fromkeys(where, load))
        for name, where in places.items()
    }
    traffic = tuple(
        StreamTraffic(stream=stream, readers=readers, volume=volume, occupancy={"b": 0.01})
        for stream, readers, volume in streams
    )
    return PlacementProblem(architecture_of(vehicle), processes, traffic)


@pytest.mark.parametrize("seed", range(5))
def test_a_forbidden_node_is_never_taken(seed: int) -> None:
    """All partners of x sit on n2, where x may not be; y follows x or its other partner."""
    asked = problem(
        {"s": ("n2",), "x": ("n1", "n3"), "y": ("n2", "n3"), "t": ("n2",)},
        [("s", ("x",), 100.0), ("x", ("y", "t"), 10.0), ("y", ("t",), 1.0)],
    )
    found = anneal(asked, seed)
    assert found is not None
    layout, measures = found
    assert layout.placement["x"] in ("n1", "n3")
    assert layout.placement["y"] == "n2"
    assert measures.usage == pytest.approx(110.0)  # s to x, and x to both of its readers at once


def test_swaps_keep_to_the_nodes_that_are_allowed() -> None:
    """a would like b's node, but b may not sit on a's."""
    asked = problem(
        {"s": ("n2",), "a": ("n1", "n2"), "b": ("n2", "n3")},
        [("s", ("a", "b"), 10.0), ("a", ("b",), 1.0)],
        load=0.4,
    )
    found = anneal(asked)
    assert found is not None
    for name, node in found[0].placement.items():
        assert node in asked.processes[name].nodes


def test_evening_out_keeps_to_the_nodes_that_are_allowed() -> None:
    """Everything on n1 is uneven; b may go to n2 only and a nowhere."""
    asked = problem(
        {"a": ("n1",), "b": ("n1", "n2"), "c": ("n1", "n3")},
        [("a", ("b", "c"), 0.0), ("b", ("c",), 0.0)],
        load=0.3,
    )
    layout = lay_out(asked, {"a": "n1", "b": "n1", "c": "n1"})
    assert layout is not None
    before = measure(asked, layout)
    assert before is not None
    assert before.peak == pytest.approx(0.9)
    evened, after = even_out(asked, layout, before)
    assert evened.placement == {"a": "n1", "b": "n2", "c": "n3"}
    assert after.peak == pytest.approx(0.3)


@pytest.mark.parametrize(
    "places",
    [
        {"a": ("n1", "n2"), "b": ("n3", "n1"), "c": ("n2",)},  # a may not go where b is
        {"a": ("n1", "n3"), "b": ("n3", "n2"), "c": ("n2",)},  # b may not come where a is
    ],
)
def test_two_change_places_only_if_both_may(places: dict[str, tuple[str, ...]]) -> None:
    """Each node has 30 %: what takes nothing where it may not be would look flatter."""
    asked = problem(places, [], load=0.3)
    layout = lay_out(asked, {"a": "n1", "b": "n3", "c": "n2"})
    assert layout is not None
    before = measure(asked, layout)
    evened, after = even_out(asked, layout, before)
    assert evened.placement == layout.placement
    assert after.peak == pytest.approx(0.3)


def test_what_is_flat_already_stays_as_it_is() -> None:
    asked = problem({"a": ("n1", "n2"), "b": ("n1", "n2")}, [], load=0.3)
    for placement in ({"a": "n1", "b": "n2"}, {"a": "n2", "b": "n1"}):
        layout = lay_out(asked, placement)
        assert layout is not None
        evened, _ = even_out(asked, layout, measure(asked, layout))
        assert evened.placement == placement


def test_the_peak_is_of_what_may_be_used() -> None:
    """30 % of a node of which half may be used are 60 % of that."""
    vehicle = Vehicle(name="v", nodes=nodes(1.0, 1.0, capacity=0.5), buses=(bus("b", "n1", "n2"),))
    processes = {"a": Process(name="a", nodes=("n1", "n2"), loads={"n1": 0.3, "n2": 0.3})}
    asked = PlacementProblem(architecture_of(vehicle), processes, ())
    layout = lay_out(asked, {"a": "n1"})
    assert layout is not None
    found = measure(asked, layout)
    assert found is not None
    assert found.peak == pytest.approx(0.6)
    assert respects_capacities(asked, found)
    assert not respects_capacities(asked, replace(found, node_loads={"n1": 0.51, "n2": 0.0}))


def test_evening_out_pays_with_no_network_usage() -> None:
    asked = problem(
        {"a": ("n1",), "b": ("n1", "n2")},
        [("a", ("b",), 5.0)],
        load=0.3,
    )
    layout = lay_out(asked, {"a": "n1", "b": "n1"})
    assert layout is not None
    before = measure(asked, layout)
    assert before is not None
    assert even_out(asked, layout, before) == (layout, before)


def test_what_does_not_fit_has_no_answer() -> None:
    """60 % and 60 % on the one node there is; and nothing to choose."""
    full = problem(
        {"s": ("n3",), "a": ("n1", "n2"), "b": ("n1",), "c": ("n2",)},
        [("s", ("a",), 1.0), ("a", ("b",), 1.0)],
        load=0.6,
    )
    assert anneal(full) is None
    settled = problem({"a": ("n1",), "b": ("n2",)}, [("a", ("b",), 1.0)])
    assert anneal(settled) is None


@pytest.mark.parametrize("seed", range(12))
def test_counts_kept_by_moves_are_those_counted_anew(seed: int) -> None:
    asked = problem_of(random_case(seed))
    state, draw = LocalPlacement(asked), random.Random(seed)
    for _ in range(30):
        index = draw.randrange(len(state.names))
        state.move(index, draw.choice(state.allowed[index]))
    fresh = LocalPlacement(asked)
    for index, node in enumerate(state.at):
        fresh.move(index, node)
    assert state.usage == pytest.approx(fresh.usage)
    assert state.overload == pytest.approx(fresh.overload)
    used = [0.0] * len(state.nodes)
    for name, node in zip(state.names, state.at, strict=True):
        used[node] += asked.processes[name].loads.get(state.nodes[node], 0.0)
    assert state.used == pytest.approx(used)
    over = [
        max(0.0, share / asked.node_capacity[node] - 1)
        for node, share in zip(state.nodes, used, strict=True)
    ]
    assert state.overload == pytest.approx(sum(over))
    at = {name: state.nodes[node] for name, node in zip(state.names, state.at, strict=True)}
    layout = lay_out(asked, at)
    found = None if layout is None else measure(asked, layout)
    if state.complete and found is not None:
        assert state.usage == pytest.approx(found.usage)


@pytest.mark.parametrize("seed", range(4))
def test_what_annealing_gives_respects_everything(seed: int) -> None:
    try:
        asked = problem_of(random_case(seed, most=5))
    except PlacementError:
        return
    found = anneal(asked, seed)
    if found is None:
        return
    layout, measures = found
    assert respects_capacities(asked, measures)
    for name, node in layout.placement.items():
        assert node in asked.processes[name].nodes


def test_a_heavy_stream_stays_inside_a_node() -> None:
    """The least usage there is: only the light stream crosses the bus."""
    made = compilation(
        Vehicle(
            name="v",
            nodes=nodes(1.0, 1.0),
            buses=(bus("b", "n1", "n2"),),
            sensors=(("heavy", "n1"), ("light", "n2")),
        ),
        {"heavy": (100.0, 48), "light": (10.0, 16)},
        {
            "h": (["heavy"], 1000, 1.0, 48),
            "l": (["light"], 1000, 1.0, 16),
            "both": (["h", "l"], 1000, 1.0, 16),
        },
    )
    found = anneal(problem_of(made))
    assert found is not None
    assert found[0].placement == {"heavy": "n1", "light": "n2", "h": "n1", "l": "n2", "both": "n1"}
    assert found[1].usage == pytest.approx(160.0)
