"""Samples: what is read at which instant, held for how long, with whose timestamp."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.engine.support import run

import headway as hw
from headway.compiler import compile_query
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.errors import InputError
from headway.files.load_queries import parse_query
from headway.model.graph import graph_of
from headway.model.operators import Clock, Sample
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.model.query import Query
from headway.model.user_operator import Row

MS = MILLISECOND
SOURCE = "a: {schema: {v: int}, rate: 1 per 5 ms, gap: 8 ms, delay: 2 ms}"


def query(operators: str, sources: str = SOURCE) -> Query:
    return parse_query(
        f"query: q\nsources:\n  {sources}\noperators:\n  {operators}\n"
        "outputs:\n  out: {from: x, deadline: 1 s}\n"
    ).query


def sampled(
    operators: str, tuples: Iterable[tuple[int, str, int]], sources: str = SOURCE
) -> list[tuple[float, Row]]:
    """(completed, row), for tuples (arrival in ms, source, value) sensed when they arrive."""
    arrivals = [Arrival(t * MS, name, (t * MS // MICROSECOND, v)) for t, name, v in tuples]
    result = run(compile_query(query(operators, sources)), arrivals)
    return [(done / MS, (row[0] / 1000, *row[1:])) for row, done in given(result)]


def given(result: RunResult) -> list[tuple[Row, int]]:
    return [(one.row, one.completed) for one in result.outputs["out"]]


def test_the_last_value_is_read_at_each_instant_while_it_is_held() -> None:
    got = sampled(
        "x: {sample: every 10 ms, from: a, hold: 25 ms}", [(3, "a", 1), (7, "a", 2), (12, "a", 3)]
    )
    # 12 + 25 = 37: still read at 30, no more at 40.
    assert got == [(10, (7, 2)), (20, (12, 3)), (30, (12, 3))]


def test_what_comes_exactly_at_an_instant_is_read() -> None:
    got = sampled("x: {sample: 10 ms, from: a, hold: 10 ms}", [(10, "a", 1), (20, "a", 2)])
    assert got == [(10, (10, 1)), (20, (20, 2)), (30, (20, 2))]


def test_the_last_to_come_is_read_though_it_is_older() -> None:
    plan = compile_query(query("x: {sample: 10 ms, from: a, hold: 9 ms}"))
    arrivals = [Arrival(3 * MS, "a", (2900, 1)), Arrival(5 * MS, "a", (1000, 2))]
    assert given(run(plan, arrivals)) == [((1000, 2), 10 * MS)]


def test_a_sample_of_a_sample_reads_what_is_read_at_the_same_instant() -> None:
    """Whichever of the clocks began first, and in whichever order the query names them."""
    for operators in (
        "s: {sample: 10 ms, from: a, hold: 5 ms}\n  x: {sample: 10 ms, from: s, hold: 5 ms}",
        "x: {sample: 10 ms, from: s, hold: 5 ms}\n  s: {sample: 10 ms, from: a, hold: 5 ms}",
    ):
        tuples = [(t, "a", t) for t in (8, 18, 28)]
        assert sampled(operators, tuples) == [(10, (8, 8)), (20, (18, 18)), (30, (28, 28))]


def test_several_inputs_go_out_side_by_side_with_the_oldest_timestamp() -> None:
    both = "a: {schema: {v: int}, rate: 1 per 5 ms}\n  b: {schema: {v: int}, rate: 1 per 5 ms}"
    got = sampled(
        "x: {sample: 10 ms, inputs: {left: a, right: b}, hold: {left: 12 ms, right: 12 ms}}",
        [(4, "a", 1), (13, "b", 7), (14, "a", 2)],
        both,
    )
    assert got == [(10, (4, 1, None)), (20, (13, 2, 7))]
    plan = compile_query(query("x: {sample: 10 ms, inputs: {left: a, right: b}}", both))
    assert dict(plan.schemas)["x"].names == ("left_v", "right_v")


def test_each_input_is_held_for_its_own_time() -> None:
    both = "a: {schema: {v: int}, rate: 1 per 5 ms}\n  b: {schema: {v: int}, rate: 1 per 5 ms}"
    got = sampled(
        "x: {sample: 10 ms, inputs: {l: a, r: b}, hold: {l: 8 ms, r: 18 ms}}",
        [(4, "a", 1), (4, "b", 2)],
        both,
    )
    assert got == [(10, (4, 1, 2)), (20, (4, None, 2))]


def test_the_clock_rests_while_nothing_is_held() -> None:
    got = sampled(
        "x: {sample: 10 ms, from: a, offset: 3 ms, hold: 10 ms}", [(4, "a", 1), (55, "a", 2)]
    )
    assert got == [(13, (4, 1)), (63, (55, 2))]


def test_jitter_displaces_each_instant_the_same_way_in_every_run() -> None:
    clock = Clock(every=10 * MS, offset=MS, jitter=4 * MS, hold=MS)
    late = [clock.instant(k) - k * 10 * MS - MS for k in range(-500, 500)]
    assert min(late) >= 0
    assert max(late) <= 4 * MS
    assert max(late) - min(late) > 3.9 * MS
    published = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)  # SplitMix64 of 0
    assert late[500:503] == [number % (4 * MS + 1) for number in published]
    for time in (-MS, 0, 5 * MS, clock.instant(3), clock.instant(3) + 1):
        number = clock.first_from(time)
        assert clock.instant(number - 1) < time <= clock.instant(number)


def test_it_costs_at_its_instants_and_not_for_what_comes() -> None:
    q = hw.QueryBuilder("q")
    a = q.source("a", {"v": "int"}, rate="1 per 1 ms", gap="1 ms")
    q.output("out", a.sample("x", every="10 ms", cost="2 ms"), deadline="20 ms")
    plan = hw.compile(q, hw.VehicleBuilder("one").node("n", decision_cost=0)).plan
    assert plan.verdict is not None
    (load,) = plan.verdict.loads
    assert load.utilisation == pytest.approx(0.2)
    (promise,) = plan.verdict.promises
    assert promise.bound == 3 * MS  # read 1 ms after it came, then 2 ms of work
    result = run(plan, [Arrival(t * MS, "a", (t * 1000, t)) for t in range(1, 40)])
    done = [(row[1], at // MS) for row, at in given(result)]
    assert done == [(10, 12), (20, 22), (30, 32), (39, 42)]


@pytest.mark.parametrize(
    ("operators", "hold"),
    [
        ("x: {sample: 10 ms, from: a}", 10 * MS),
        ("x: {sample: 10 ms, from: a, hold: 3 ms}", 3 * MS),
        ("s: {sample: 7 ms, from: a, jitter: 1 ms}\n  x: {sample: 10 ms, from: s}", 16 * MS),
        ("m: {map: {v: v + 1}, from: a}\n  x: {sample: 10 ms, from: m}", 20 * MS),
        ("f: {filter: v > 1, from: a}\n  x: {sample: 10 ms, from: f}", 1000 * MS),
    ],
)
def test_how_long_a_value_is_held_follows_from_the_query(operators: str, hold: int) -> None:
    sample = graph_of(compile_query(query(operators)).query).operators["x"]
    assert isinstance(sample, Sample)
    assert sample.hold == hold


@pytest.mark.parametrize(
    ("operators", "said"),
    [
        ("x: {sample: 10 ms, from: a, jitter: 10 ms}", "two samples could change places"),
        ("x: {sample: often, from: a}", "not the time between two samples"),
        ("x: {sample: every 0 ms, from: a}", "not the time between two samples"),
        ("x: {sample: 10 ms}", "a sample reads one stream or several"),
        ("x: {sample: 10 ms, from: a, timeout: 1 ms}", "waits for its clock only"),
        ("x: {sample: 10 ms, from: a, cost: {base: 1 ms, per_item: 1 us}}", "has no items"),
        ("x: {sample: 10 ms, inputs: {l: a, r: a}, hold: {l: 1 ms}}", "names each of them"),
        ("x: {sample: 10 ms, inputs: {l: a, l_v: a}}", None),
    ],
)
def test_mistakes(operators: str, said: str | None) -> None:
    if said is None:
        compile_query(query(operators))
        return
    with pytest.raises(InputError, match=said):
        compile_query(query(operators))
