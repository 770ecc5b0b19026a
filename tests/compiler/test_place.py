"""The placement pass against an exhaustive search, its rules one by one, and its errors."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiler.placement_cases import bus, compilation, nodes, random_case
from tests.compiler.placement_oracle import Oracle, check
from tests.exploring import examples

from headway.compiler.compilation import Compilation
from headway.compiler.placement import integer_program, placement_solver
from headway.compiler.placement.placement_problem import problem_of
from headway.compiler.placement.placement_solver import PlacementOptions, place, solve_placement
from headway.errors import PlacementError
from headway.model.vehicle import Gateway, Vehicle

BUS_BINDS = (156, 232, 422, 460, 507, 661, 910, 1175, 1486, 1522, 1547)
CASES = (*range(89), *BUS_BINDS)


@cache
def expected(seed: int) -> tuple[float, float, int] | None:
    return Oracle(random_case(seed)).best()


@pytest.mark.parametrize("seed", CASES)
def test_equals_exhaustive_search(seed: int) -> None:
    case = random_case(seed)
    wanted = expected(seed)
    if wanted is None:
        with pytest.raises(PlacementError, match=r"needs .* of|cannot reach"):
            place(case)
        return
    usage, peak, tie = wanted
    result = solve_placement(problem_of(case))
    checked = check(replace(case, placement=result.placement, routes=result.routes))
    assert checked.complaints == ()
    assert result.usage == pytest.approx(usage, rel=1e-9)
    assert result.bound == pytest.approx(usage, rel=1e-6)
    assert result.gap == pytest.approx(0.0, abs=1e-6)
    assert result.peak == pytest.approx(peak, rel=1e-6)
    assert (checked.usage, checked.peak) == pytest.approx((usage, peak), rel=1e-6)
    movable = [name for name, homes in Oracle(case).candidates().items() if len(homes) > 1]
    weights = range(len(movable), 0, -1)
    positions = [int(result.placement[name][1:]) - 1 for name in movable]
    assert sum(w * p for w, p in zip(weights, positions, strict=True)) == tie


def test_the_random_cases_are_of_every_kind() -> None:
    infeasible = nodes_bind = buses_bind = multicast = 0
    for seed in CASES:
        case, answer = random_case(seed), expected(seed)
        multicast += any(len(readers) > 1 for readers in case.graph.consumers.values())
        if answer is None:
            infeasible += 1
            continue
        vehicle = case.vehicle
        large = replace(vehicle, nodes=tuple(replace(n, capacity=99.0) for n in vehicle.nodes))
        wide = replace(
            vehicle,
            buses=tuple(replace(bus, capacity=99.0) for bus in vehicle.buses),
            links=tuple(replace(link, capacity=99.0) for link in vehicle.links),
        )
        without_nodes = Oracle(replace(case, vehicle=large)).best()
        without_buses = Oracle(replace(case, vehicle=wide)).best()
        nodes_bind += without_nodes is not None and without_nodes[0] < answer[0] * (1 - 1e-9)
        buses_bind += without_buses is not None and without_buses[:2] != answer[:2]
    assert infeasible >= 15
    assert nodes_bind >= 8
    assert buses_bind >= 10
    assert multicast >= 50


@examples(40)
@given(st.integers(min_value=1_000, max_value=100_000))
def test_answers_keep_every_rule(seed: int) -> None:
    case = random_case(seed, most=12)
    try:
        placed = place(case)
    except PlacementError:
        return
    assert check(placed).complaints == ()
    assert place(case) == placed


@pytest.mark.parametrize("seed", range(200, 215))
def test_tree_inequalities_cut_off_no_answer(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = problem_of(random_case(seed, most=12))
    try:
        strengthened = solve_placement(case)
    except PlacementError:
        strengthened = None
    monkeypatch.setattr(integer_program, "tree_rows", lambda *_: [])
    if strengthened is None:
        with pytest.raises(PlacementError):
            solve_placement(case)
    else:
        plain = solve_placement(case)
        assert plain.usage == pytest.approx(strengthened.usage, rel=1e-9)
        assert plain.peak == pytest.approx(strengthened.peak, rel=1e-6)


def two_buses(capacity: float = 1.0, **more: Any) -> Vehicle:
    """n1 and n2 on b1, n3 on b2; the radar at n1, the receiver at n3."""
    vehicle = Vehicle(
        name="two",
        nodes=nodes(1.0, 1.0, 1.0, capacity=capacity),
        buses=(bus("b1", "n1", "n2"), bus("b2", "n3")),
        gateways=(Gateway(name="g", buses=("b1", "b2")),),
        sensors=(("radar", "n1"), ("gps", "n3")),
    )
    return replace(vehicle, **more)


def warning(vehicle: Vehicle, cost: int = 1_000_000) -> Compilation:
    return compilation(
        vehicle,
        {"radar": (100.0, 40), "gps": (10.0, 16)},
        {
            "clean": (["radar"], cost, 1.0, 24),
            "own": (["gps"], cost, 1.0, 16),
            "fuse": (["clean", "own"], cost, 0.5, 24),
            "warn": (["fuse"], cost, 0.5, 16),
        },
    )


def test_first_operators_stay_with_their_sensors_and_small_streams_travel() -> None:
    placed = place(warning(two_buses()))
    assert placed.placement["radar"] == placed.placement["clean"] == "n1"
    assert placed.placement["gps"] == placed.placement["own"] == "n3"
    assert placed.placement["fuse"] == placed.placement["warn"] == "n1"
    assert placed.routes == {("own", "n1"): ("b2", "g", "b1")}


def test_pins_win_over_the_sensors_rule() -> None:
    placed = place(warning(two_buses(pins=(("clean", "n2"), ("warn", "n3")))))
    assert placed.placement["clean"] == "n2"
    assert placed.placement["warn"] == "n3"
    assert placed.routes["radar", "n2"] == ("b1",)
    assert check(placed).complaints == ()


def test_load_is_balanced_when_usage_does_not_care() -> None:
    vehicle = Vehicle(name="v", nodes=nodes(1.0, 1.0), buses=(bus("b", "n1", "n2"),))
    sensors = (("left", "n1"), ("right", "n2"))
    case = compilation(
        replace(vehicle, sensors=sensors),
        {"left": (100.0, 16), "right": (100.0, 16)},
        {
            "one": (["left"], 4_000_000, 1.0, 16),
            "two": (["right"], 1_000_000, 1.0, 16),
            "both": (["one", "two"], 1_000_000, 1.0, 16),
        },
    )
    result = solve_placement(problem_of(case))
    assert result.placement["both"] == "n2"
    assert result.peak == pytest.approx(0.4)


def test_a_multicast_stream_enters_a_bus_once() -> None:
    vehicle = two_buses(pins=(("fuse", "n2"), ("warn", "n3")))
    case = compilation(
        vehicle,
        {"radar": (100.0, 40), "gps": (10.0, 16)},
        {
            "clean": (["radar"], 1_000, 1.0, 24),
            "own": (["gps"], 1_000, 0.0, 16),
            "fuse": (["clean", "own"], 1_000, 0.0, 24),
            "warn": (["clean", "own"], 1_000, 0.0, 16),
        },
    )
    result = solve_placement(problem_of(case))
    assert result.usage == pytest.approx(100 * 24 * 2)  # b1 once for both readers, then b2
    assert result.routes["clean", "n2"] == ("b1",)
    assert result.routes["clean", "n3"] == ("b1", "g", "b2")


def ring(direct: float) -> Compilation:
    """Two routes from n1 to n2: the bus b1, or b2, g1, b3."""
    vehicle = Vehicle(
        name="ring",
        nodes=nodes(1.0, 1.0),
        buses=(bus("b1", "n1", "n2", capacity=direct), bus("b2", "n1"), bus("b3", "n2")),
        gateways=(Gateway(name="g1", buses=("b2", "b3")),),
        sensors=(("s1", "n1"), ("s2", "n1")),
        pins=(("end", "n2"),),
    )
    return compilation(
        vehicle,
        {"s1": (100.0, 24), "s2": (100.0, 16)},
        {
            "o1": (["s1"], 1_000, 1.0, 24),
            "o2": (["s2"], 1_000, 1.0, 16),
            "end": (["o1", "o2"], 1_000, 1.0, 16),
        },
    )


def test_streams_go_round_a_full_bus() -> None:
    assert set(place(ring(1.0)).routes.values()) == {("b1",)}
    placed = place(ring(0.1))  # b1 has room for one of the two
    assert placed.routes["o1", "n2"] == ("b1",)
    assert placed.routes["o2", "n2"] == ("b2", "g1", "b3")
    assert check(placed).complaints == ()


@pytest.mark.parametrize(
    "case",
    [
        warning(Vehicle(name="single", nodes=nodes(1.0))),
        warning(two_buses(pins=(("fuse", "n2"), ("warn", "n2")))),
    ],
    ids=["single node", "all pinned"],
)
def test_no_solver_without_a_choice(case: Compilation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("scipy.optimize.milp")
    placed = place(case)
    assert set(placed.placement) == {"radar", "gps", "clean", "own", "fuse", "warn"}
    assert len(set(placed.placement.values())) == (1 if len(case.vehicle.nodes) == 1 else 3)


def test_an_overloaded_node_is_named_with_what_it_needs() -> None:
    with pytest.raises(PlacementError) as caught:
        place(warning(two_buses(capacity=0.9), cost=12_700_000))
    [problem] = [p for p in caught.value.problems if p.at == "nodes.n1"]
    assert problem.what == "no placement fits: even the best needs 1.27 of 0.90 on n1"
    assert problem.got == "clean 1.27"
    assert "higher execution rate" in problem.want
    stays = "pin clean, which stays because it is its sensor's first operator, to another node"
    assert stays in problem.want
    assert "unpin" not in problem.want  # nothing is pinned
    assert "cores" not in problem.want


def test_an_overloaded_single_node_is_named() -> None:
    with pytest.raises(PlacementError, match=r"nodes\.n1: .*needs 2\.75 of 1\.00 on n1"):
        place(warning(Vehicle(name="single", nodes=nodes(1.0)), cost=10_000_000))


def test_a_full_bus_is_named_with_its_streams() -> None:
    narrow = (bus("b1", "n1", "n2", capacity=0.1), bus("b2", "n3"))
    with pytest.raises(PlacementError) as caught:
        place(warning(two_buses(pins=(("clean", "n2"),), buses=narrow)))
    [problem] = caught.value.problems
    assert problem.at == "buses.b1"
    assert "of 0.10 on b1" in problem.what
    assert problem.got.startswith("radar 0.14")
    assert problem.want.endswith("or unpin clean")


def test_a_stream_without_a_route_is_named() -> None:
    with pytest.raises(PlacementError) as caught:
        place(warning(two_buses(gateways=(), pins=(("fuse", "n1"),))))
    [problem] = caught.value.problems
    assert problem.what == "stream own cannot reach fuse: no route leads from n3 to n1"
    assert "fuse is on n1 because it is pinned there" in problem.got
    assert "gateway" in problem.want


def test_a_source_without_a_node_is_named() -> None:
    with pytest.raises(PlacementError, match="sensors: no node is named for source gps"):
        place(warning(two_buses(sensors=(("radar", "n1"),))))


def test_running_out_of_time_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = integer_program.Solution(
        values=None, bound=0.0, infeasible=False, optimal=False, message="time limit"
    )
    monkeypatch.setattr(integer_program.IntegerProgram, "minimise", lambda *_, **__: nothing)
    monkeypatch.setattr(placement_solver, "anneal", lambda *_: None)
    with pytest.raises(
        PlacementError, match=r"in 7 s, nor a proof.*got time limit; allow more time"
    ):
        place(warning(two_buses()), PlacementOptions(seconds=7))


def test_annealing_answers_when_the_exact_search_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = solve_placement(problem_of(warning(two_buses())))
    nothing = integer_program.Solution(
        values=None, bound=1.0, infeasible=False, optimal=False, message="time limit"
    )
    monkeypatch.setattr(integer_program.IntegerProgram, "minimise", lambda *_, **__: nothing)
    result = solve_placement(problem_of(warning(two_buses())))
    assert result.usage == pytest.approx(exact.usage)
    assert 0 < result.gap < 1


def wrong_answers() -> dict[str, Compilation]:
    """A right answer, spoilt in one place each."""
    right = place(warning(two_buses(pins=(("warn", "n2"),))))
    where, routes = dict(right.placement), dict(right.routes)
    direct = {**routes, ("own", where["fuse"]): ("b2", "b1")}
    heavy = place(warning(two_buses(), cost=3_000_000))
    slow = replace(heavy.vehicle, nodes=nodes(0.1, 1.0, 1.0))
    narrow = (bus("b1", "n1", "n2", capacity=0.0001), right.vehicle.buses[1])
    return {
        "may not be on": replace(right, placement={**where, "warn": "n1"}),
        "has no route": replace(right, routes={}),
        "does not lead": replace(right, routes=direct),
        "n1 is overloaded": replace(heavy, vehicle=slow),
        "b1 is overloaded": replace(right, vehicle=replace(right.vehicle, buses=narrow)),
        "is not needed": replace(right, routes={**routes, ("radar", "n3"): ("b1", "g", "b2")}),
    }


@pytest.mark.parametrize("complaint", wrong_answers())
def test_the_checker_rejects_a_wrong_answer(complaint: str) -> None:
    assert any(complaint in found for found in check(wrong_answers()[complaint]).complaints)
