"""Imprecise computation (HVLB_CC section 4.4): optional parts run in slack and are cut at the
deadline, by either clock; what is promised counts the mandatory part."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.reserving.small import MS, arrivals, instants, plan_of
from tests.engine.wall.taking_time import CLOCK
from tests.exploring import examples

import headway as hw
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival, Lost
from headway.engine.results import RunResult, summary_data
from headway.engine.trace import EventKind
from headway.engine.wall_engine import WallEngine
from headway.errors import QueryError
from headway.files import parse_query, query_to_yaml
from headway.model.plan import Plan
from headway.model.quantities import OptionalPart

QUERY = """query: anytime
schemas:
  A: {{v: double}}
sources:
  radar: {{schema: A, rate: 1 per 40 ms}}
  v2v: {{schema: A, rate: 1 per 40 ms}}
operators:
  guess:
    udo: "tests.engine.wall.taking_time:Anytime"
    inputs: {{input: radar}}
    schema: A
    most_outputs: 3
    cost: 2 ms
    parameters: {{takes: 2000000, piece: 1000000, steps: {steps}, raises: {raises}}}
    optional: {{time: {optional} ms, piece: 1 ms}}
  other:
    udo: "tests.engine.wall.taking_time:Slow"
    inputs: {{input: v2v}}
    schema: A
    most_outputs: 1
    cost: 1 ms
    parameters: {{takes: 1000000}}
outputs:
  best: {{from: guess, deadline: {deadline} ms}}
  also: {{from: other, deadline: 30 ms}}
"""


def plan(deadline: int = 20, optional: int = 3, steps: int = 99, raises: int = 0) -> Plan:
    return plan_of(QUERY.format(deadline=deadline, optional=optional, steps=steps, raises=raises))


def virtual(plan: Plan, given: list[Arrival], policy: str = "s-edf") -> RunResult:
    return Engine(plan=plan, policy=policy).run(given)


def wall(plan: Plan, given: list[Arrival], policy: str = "s-edf") -> RunResult:
    return WallEngine(plan=plan, policy=policy, clock=CLOCK).run(given)


Runs = Callable[..., RunResult]
BY_BOTH_CLOCKS = pytest.mark.parametrize("run", [virtual, wall])


def came(result: RunResult, output: str = "best") -> list[tuple[float, float]]:
    """(completed, value)"""
    return [(one.completed / MS, one.row[1]) for one in result.outputs[output]]


def precision(result: RunResult) -> float | None:
    (found,) = [one.precision for one in result.summary().outputs if one.output == "best"]
    return found


@BY_BOTH_CLOCKS
def test_with_nothing_else_to_do_all_of_it_is_done(run: Runs) -> None:
    result = run(plan(), arrivals([(0.0, "radar")]))
    assert came(result) == [(5, 3.0)]
    assert precision(result) == 1.0
    assert instants(result, EventKind.CUT) == []


@BY_BOTH_CLOCKS
def test_it_is_cut_when_anything_else_is_ready(run: Runs) -> None:
    """`also` is less urgent, and yet held up by one piece only."""
    result = run(plan(), arrivals([(0.0, "radar"), (3.5, "v2v")]))
    assert came(result) == [(4, 2.0)]
    assert came(result, "also") == [(5, 1.0)]
    assert precision(result) == pytest.approx(2 / 3)
    assert instants(result, EventKind.CUT) == [4]
    assert result.summary().preemptions == 0


@BY_BOTH_CLOCKS
def test_it_is_cut_at_its_deadline(run: Runs) -> None:
    result = run(plan(deadline=6, optional=30), arrivals([(0.0, "radar")]))
    assert came(result) == [(6, 4.0)]
    assert precision(result) == pytest.approx(4 / 30)
    assert result.summary().outputs[0].misses == 0


@BY_BOTH_CLOCKS
def test_it_is_left_out_when_something_waits_already(run: Runs) -> None:
    result = run(plan(), arrivals([(0.0, "radar"), (1.0, "v2v")]))
    assert came(result) == [(2, 0.0)]
    assert precision(result) == 0.0


@BY_BOTH_CLOCKS
def test_there_may_be_less_to_do_than_declared(run: Runs) -> None:
    result = run(plan(steps=1), arrivals([(0.0, "radar")]))
    assert [value for _, value in came(result)] == [1.0]
    assert precision(result) == 1.0


@BY_BOTH_CLOCKS
def test_what_raises_ends_it_and_costs_no_tuple(
    run: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    result = run(plan(raises=2), arrivals([(0.0, "radar")]))
    assert [value for _, value in came(result)] == [1.0]
    assert result.side.dropped == []
    assert "enough" in caplog.text


@BY_BOTH_CLOCKS
def test_several_rows_are_refined_together(run: Runs) -> None:
    result = run(plan(), [Arrival(0, "radar", (0, 3.0))])
    assert came(result) == [(5, 3.0)] * 3


@BY_BOTH_CLOCKS
@pytest.mark.parametrize("policy", ["rop-edf", "cbs", "er-edf", "least-laxity", "fifo+"])
def test_under_other_policies_and_at_no_budgets_expense(run: Runs, policy: str) -> None:
    result = run(plan(), arrivals([(0.0, "radar"), (3.5, "v2v"), (40.0, "radar")]), policy)
    assert came(result) == [(4, 2.0), (45, 3.0)]
    assert instants(result, EventKind.OVERRUN) == []


def test_an_interrupted_run_gives_out_what_is_complete_without_it() -> None:
    engine = WallEngine(plan=plan(), clock=CLOCK)

    def given() -> Iterator[Arrival]:
        yield from arrivals([(0.0, "radar"), (3.5, "v2v")])
        engine.interrupt()  # when the one after v2v is asked for, at 4

    result = engine.run(given())
    assert came(result) == [(4, 2.0)]
    assert result.lost == Lost(waiting=1, gathered=0, groups=0, fed=0)


def test_without_costs_there_is_no_time_and_no_optional_part() -> None:
    result = Engine(plan=plan(), charged=False).run(arrivals([(0.0, "radar")]))
    assert came(result) == [(0, 0.0)]
    assert precision(result) is None
    assert all("precision" not in one for one in summary_data(result.summary())["outputs"])


GATHERED = """query: gathered
schemas:
  A: {v: double}
sources:
  a: {schema: A, rate: 1 per 40 ms}
  b: {schema: A, rate: 1 per 40 ms}
operators:
  guess:
    udo: "tests.engine.wall.taking_time:Anytime"
    inputs: {a: a, b: b}
    schema: A
    timeout: 10 ms
    most_outputs: 1
    cost: {base: 1 ms, per_item: 500 us, most_items: 2}
    parameters: {takes: 2000000, piece: 1000000, steps: 9}
    optional: {time: 3 ms, piece: 1 ms}
outputs:
  best: {from: guess, deadline: 20 ms}
"""


@BY_BOTH_CLOCKS
def test_after_a_gathered_batch(run: Runs) -> None:
    result = run(plan_of(GATHERED), arrivals([(0.0, "a"), (1.0, "b")]))
    assert came(result) == [(6, 3.0)]


# ---------------------------------------------------------------- what is promised


def bounds(plan: Plan) -> dict[str, int]:
    assert plan.verdict is not None
    found = {promise.output: promise.bound for promise in plan.verdict.promises}
    assert None not in found.values()
    for promise in plan.verdict.promises:
        assert promise.bound == sum(step.time for step in promise.steps)
    return {name: bound for name, bound in found.items() if bound is not None}


def test_others_are_promised_with_one_piece_in_front() -> None:
    text = QUERY.format(deadline=20, optional=3, steps=9, raises=0)
    without = plan_of(text.replace("    optional: {time: 3 ms, piece: 1 ms}\n", ""))
    before, after = bounds(without), bounds(plan())
    assert after["also"] == before["also"] + 1 * MS
    assert after["best"] == 20 * MS, "it may come as late as its deadline"
    assert bounds(plan(optional=300)) == after


@examples(60)
@given(
    radar=st.lists(st.integers(40, 55), max_size=8),
    v2v=st.lists(st.integers(40, 47), max_size=8),
    offset=st.integers(0, 40),
    optional=st.sampled_from([1, 3, 50]),
)
def test_no_run_exceeds_the_bounds(
    radar: list[int], v2v: list[int], offset: int, optional: int
) -> None:
    compiled = plan(deadline=12, optional=optional)
    given, now = [], 0.0
    for gap in radar:
        given.append((now, "radar"))
        now += gap
    now = offset / 4
    for gap in v2v:
        given.append((now, "v2v"))
        now += gap
    result = virtual(compiled, arrivals(given))
    for name, bound in bounds(compiled).items():
        assert all(one.latency <= bound for one in result.outputs[name])


# ---------------------------------------------------------------- how it is declared


def test_only_outputs_may_wait_for_it() -> None:
    text = QUERY.format(deadline=20, optional=3, steps=9, raises=0)
    text = text.replace(
        "outputs:\n", "  behind: {map: {v: v}, from: guess, cost: 1 ms}\noutputs:\n"
    )
    text += "  more: {from: behind, deadline: 30 ms}\n"
    with pytest.raises(QueryError, match=r"guess.optional: the results .* outputs only"):
        plan_of(text)


def test_a_class_without_it_is_refused() -> None:
    text = QUERY.format(deadline=20, optional=3, steps=9, raises=0)
    silent = plan_of(text.replace("taking_time:Anytime", "taking_time:Slow"))
    with pytest.raises(QueryError, match=r"Slow has no optional part; override refine"):
        Engine(plan=silent)


def test_it_is_written_as_it_is_read() -> None:
    query = parse_query(QUERY.format(deadline=20, optional=3, steps=9, raises=0)).query
    assert next(iter(query.operators)).optional_part == OptionalPart(3 * MS, 1 * MS)
    assert parse_query(query_to_yaml(query)).query == query


def test_from_python() -> None:
    q = hw.QueryBuilder("anytime")
    radar = q.source("radar", {"v": "double"}, rate="1 per 40 ms")
    guess = q.udo(
        "guess", "tests.engine.wall.taking_time:Anytime", {"input": radar}, schema={"v": "double"},
        cost="2 ms", optional=("3 ms", "1 ms"),
    )  # fmt: skip
    q.output("best", guess, deadline="20 ms")
    assert next(iter(q.build().operators)).optional_part == OptionalPart(3 * MS, 1 * MS)
