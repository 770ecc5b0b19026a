"""The pass ``keep_promises``: promises before traffic, and nothing moved where all are kept."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import pytest

from headway.compiler.compilation import Compilation
from headway.compiler.deadlines import deadlines
from headway.compiler.latency.verdict import judge, judged_within
from headway.compiler.node_queries import split
from headway.compiler.passes import PASSES, compile_query
from headway.compiler.placement import promised_placement
from headway.compiler.placement.placement_problem import (
    Layout,
    PlacementProblem,
    lay_out,
    measure,
    problem_of,
    respects_capacities,
)
from headway.compiler.placement.promised_placement import PromiseSearch, keep_promises, tries_for
from headway.compiler.trains import trains
from headway.files import parse_query, parse_vehicle
from headway.model.query import Query
from headway.model.vehicle import Vehicle

VEHICLE = parse_vehicle(
    """
vehicle: v
nodes: {slow: {rate: 0.5}, fast: {rate: 4}}
buses: {can: {kind: can, bit_rate: 500 kbit/s, nodes: [slow, fast]}}
sensors: {s: slow}
"""
).vehicle


def query(deadline: str = "8 ms", *, soft: str = "") -> Query:
    text = f"""
query: q
sources: {{s: {{schema: {{v: int}}, rate: 1 per 50 ms}}}}
operators:
  first: {{filter: v > 0, from: s, cost: 500 us}}
  heavy: {{map: {{v: v + 1}}, from: first, cost: 8 ms}}
  light: {{map: {{v: v + 2}}, from: first, cost: 1 ms}}
outputs:
  one: {{from: heavy, deadline: {deadline}}}
  two: {{from: light, deadline: {soft or "40 ms"}{", criticality: soft" if soft else ""}}}
"""
    return parse_query(text).query


def least_traffic(query: Query, vehicle: Vehicle) -> Compilation:
    compilation = Compilation(query=query, vehicle=vehicle, timed=True)
    for run_pass in PASSES[: PASSES.index(keep_promises)]:
        compilation = run_pass(compilation)
    return compilation


def test_traffic_is_paid_where_a_promise_needs_it() -> None:
    before = least_traffic(query(), VEHICLE)
    assert set(before.placement.values()) == {"slow"}
    assert before.verdict is not None
    assert not before.verdict.safe
    plan = compile_query(query(), VEHICLE)
    assert plan.verdict is not None
    assert plan.verdict.safe
    assert dict(plan.placement)["heavy"] == "fast"
    assert dict(plan.placement)["first"] == "slow"  # a sensor's first operator stays


def test_a_placement_that_keeps_all_is_not_touched() -> None:
    compilation = least_traffic(query("60 ms"), VEHICLE)
    assert keep_promises(compilation) is compilation


def test_pins_hold_even_where_a_promise_fails() -> None:
    pinned = replace(VEHICLE, pins=(("heavy", "slow"), ("light", "slow")))
    compilation = least_traffic(query(), pinned)
    assert keep_promises(compilation) is compilation


def test_without_a_placement_that_keeps_them_the_least_traffic_stays() -> None:
    compilation = least_traffic(query("2 ms"), VEHICLE)
    assert keep_promises(compilation) is compilation


def test_hard_promises_are_kept_where_soft_ones_cannot_be() -> None:
    plan = compile_query(query("8 ms", soft="1 us"), VEHICLE)
    assert plan.verdict is not None
    assert [promise.kept for promise in plan.verdict.promises] == [True, False]


def random_case(seed: int) -> Compilation | None:
    """A chain or tree of seven operators on three nodes, deadlines near what is possible."""
    draw = random.Random(seed)
    costs = [draw.choice([1, 2, 4, 7]) for _ in range(7)]
    parents = ["s", *(f"o{draw.randint(max(0, n - 2), n - 1)}" for n in range(1, 7))]
    lines = [
        f"  o{n}: {{map: {{v: v + {n}}}, from: {parents[n]}, cost: {costs[n]} ms}}"
        for n in range(7)
    ]
    ends = [f"o{n}" for n in range(7) if f"o{n}" not in parents]
    outputs = [
        f"  out{n}: {{from: {end}, deadline: {draw.randint(8, 30)} ms}}"
        for n, end in enumerate(ends)
    ]
    head = ["query: q", "sources: {s: {schema: {v: int}, rate: 1 per 80 ms}}", "operators:"]
    text = "\n".join([*head, *lines, "outputs:", *outputs])
    rates = [draw.choice([1, 2, 3]) for _ in range(3)]
    vehicle = f"""
vehicle: v
nodes: {{a: {{rate: {rates[0]}}}, b: {{rate: {rates[1]}}}, c: {{rate: {rates[2]}}}}}
buses: {{can: {{kind: can_fd, bit_rate: 500 kbit/s, data_bit_rate: 2 Mbit/s, nodes: [a, b, c]}}}}
sensors: {{s: {draw.choice("abc")}}}
"""
    compilation = least_traffic(parse_query(text).query, parse_vehicle(vehicle).vehicle)
    assert compilation.verdict is not None
    return None if compilation.verdict.safe else compilation


def judged(compilation: Compilation, placement: dict[str, str]) -> tuple[Compilation, float] | None:
    problem = problem_of(compilation)
    layout = lay_out(problem, placement)
    assert layout is not None
    found = measure(problem, layout)
    if not respects_capacities(problem, found):
        return None
    trial = replace(compilation, placement=layout.placement, routes=layout.routes, verdict=None)
    for run_pass in (split, trains, deadlines, judge):
        trial = run_pass(trial)
    return trial, found.usage


def test_finds_the_least_traffic_that_keeps_all_promises() -> None:
    """Against all placements, where there are no more than tries; without limits in the oracle."""
    solved = 0
    for seed in (3, 4, 34, 52):
        compilation = random_case(seed)
        assert compilation is not None
        movable = [p for p in problem_of(compilation).processes.values() if len(p.nodes) > 1]
        free = movable[-4:]  # the others are pinned: 81 placements at most
        pins = tuple((p.name, compilation.placement[p.name]) for p in movable[:-4])
        compilation = replace(compilation, vehicle=replace(compilation.vehicle, pins=pins))
        usages = []
        for nodes in product(*(process.nodes for process in free)):
            chosen = {process.name: node for process, node in zip(free, nodes, strict=True)}
            found = judged(compilation, {**compilation.placement, **chosen})
            if found is not None and found[0].verdict is not None and found[0].verdict.safe:
                usages.append(found[1])
        after = keep_promises(compilation)
        if not usages:
            assert after is compilation
            continue
        assert after.verdict is not None
        assert after.verdict.safe
        again = judged(after, dict(after.placement))
        assert again is not None
        assert again[0] == after
        assert again[1] == pytest.approx(min(usages), rel=1e-9)
        solved += 1
    assert solved == 3


def test_many_placements_are_climbed_within_the_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    judgements = 0

    def counted(compilation: Compilation, limits: dict[str, int]) -> Compilation | None:
        nonlocal judgements
        judgements += 1
        return judged_within(compilation, limits)

    monkeypatch.setattr(promised_placement, "judged_within", counted)
    found = 0
    for seed in range(40):
        compilation = random_case(seed)
        if compilation is None:
            continue
        judgements = 0
        search = PromiseSearch(compilation, problem_of(compilation))
        search.tries = 30
        better = search.run()
        assert judgements <= 30
        if better is not None:
            assert better.verdict is not None
            assert better.verdict.safe
            found += 1
            again = PromiseSearch(compilation, problem_of(compilation))
            again.tries = 30
            assert again.run() == better
        if found >= 3:
            break
    assert found >= 3


def test_among_many_nodes_the_near_ones_are_tried_first() -> None:
    """`heavy` reads `first`, which stays beside its sensor on n3. Only then come n0, n1, …"""
    names = [f"n{number}" for number in range(promised_placement.MANY_NODES + 1)]
    unlike = ", ".join(f"{name}: {{rate: 1.{place:02}}}" for place, name in enumerate(names))
    text = f"""
vehicle: v
nodes: {{{unlike}}}
buses: {{can: {{kind: can, bit_rate: 500 kbit/s, nodes: [{", ".join(names)}]}}}}
sensors: {{s: n3}}
pins: {{light: n5}}
"""
    compilation = least_traffic(query(), parse_vehicle(text).vehicle)
    search = PromiseSearch(compilation, problem_of(compilation))
    assert compilation.verdict is not None
    targets = frozenset(one.key for one in compilation.verdict.requirements)
    search._limits = {one.key: one.limit for one in compilation.verdict.requirements}
    here = search.judged({**compilation.placement, "heavy": "n9"}, targets)
    assert here is not None
    assert search.movable == ["heavy"]
    changes = list(search._changes(here, targets))
    assert changes[:3] == [{"heavy": "n3"}, {"heavy": "n0"}, {"heavy": "n1"}]
    assert {"heavy": "n9"} not in changes


def test_no_more_placements_are_looked_at_than_there_are_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where nothing is judged because nothing can come in time: in a car with many ECUs most
    moves are like that."""
    looks = 0

    def counted(problem: PlacementProblem, placement: Mapping[str, str]) -> Layout | None:
        nonlocal looks
        looks += 1
        return lay_out(problem, placement)

    monkeypatch.setattr(promised_placement, "lay_out", counted)
    for seed in range(40):
        compilation = random_case(seed)
        if compilation is not None:
            break
    assert compilation is not None
    search = PromiseSearch(compilation, problem_of(compilation))
    search.tries, search.looks = 40, 15
    search.run()
    assert 5 < looks <= 15


def test_long_queries_have_fewer_tries() -> None:
    counts = [tries_for(operators) for operators in (1, 10, 100, 1_000, 100_000)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == promised_placement.MOST_TRIES
    assert counts[-1] == promised_placement.LEAST_TRIES


def test_giving_up_early_changes_no_answer() -> None:
    """With a limit at a bound all is as without, with one below it there is no answer."""
    compilation = least_traffic(query(), VEHICLE)
    assert compilation.verdict is not None
    bounds = {p.output: p.bound or 0 for p in compilation.verdict.promises}
    fresh = replace(compilation, verdict=None)
    assert judged_within(fresh, bounds) == compilation
    for output, bound in bounds.items():
        assert judged_within(fresh, {**bounds, output: bound - 1}) is None
