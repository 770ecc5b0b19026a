"""Operators that give way between their items: the same results as in one call, sooner urgent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiler.build import one_node
from tests.engine.wall.taking_time import CLOCK
from tests.exploring import examples

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.operators.operator_base import DropKind
from headway.engine.results import RunResult
from headway.engine.trace import EventKind
from headway.engine.wall_engine import WallEngine
from headway.files import parse_query
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND

MS = MILLISECOND

QUERY = """query: items
schemas:
  A: {{v: double}}
sources:
  many: {{schema: A, rate: 20 per 100 ms}}
  more: {{schema: A, rate: 1 per 100 ms}}
  few: {{schema: A, rate: 1 per 10 ms}}
operators:
  counted:
    udo: "tests.engine.wall.taking_time:{kind}"
    inputs: {{many: many, more: more}}
    schema: A
    timeout: 5 ms
    gather: time
    most_outputs: 1
    cost: {{base: 100 us, per_item: 1 ms, most_items: 20, preempt: {preempt}}}
  urgent:
    udo: "tests.engine.wall.taking_time:Slow"
    inputs: {{input: few}}
    schema: A
    most_outputs: 1
    cost: 500 us
    parameters: {{takes: 500000}}
outputs:
  relaxed: {{from: counted, deadline: 400 ms}}
  soon: {{from: urgent, deadline: 20 ms}}
"""


def plan_of(kind: str = "SlowItems", preempt: str = "between_items") -> Plan:
    query = parse_query(QUERY.format(kind=kind, preempt=preempt)).query
    return compile_query(query, one_node(query))


def at(milliseconds: float, name: str, value: float = 1.0, sensed: float | None = None) -> Arrival:
    when = milliseconds if sensed is None else sensed
    return Arrival(int(milliseconds * MS), name, (int(when * MS) // MICROSECOND, value))


def run(plan: Plan, arrivals: list[Arrival], policy: str = "s-edf") -> RunResult:
    return WallEngine(plan=plan, clock=CLOCK, policy=policy).run(arrivals)


def times(result: RunResult, output: str) -> list[float]:
    return [at / MS for at in result.outputs[output].completed]


FIVE = [at(0, "many", n) for n in range(5)]


def test_an_urgent_job_goes_between_items() -> None:
    """Gathered from 0 to 5; five items of a millisecond each; `few` comes in the second."""
    result = run(plan_of(), [*FIVE, at(6.2, "few")])
    assert times(result, "soon") == [7.5]
    assert times(result, "relaxed") == [10.5]
    assert [row[1] for row in result.outputs["relaxed"].rows] == [10.0]
    assert result.summary().preemptions == 1


def test_in_one_piece_it_waits_for_all_of_them() -> None:
    result = run(plan_of(preempt="never"), [*FIVE, at(6.2, "few")])
    assert times(result, "relaxed") == [10]
    assert times(result, "soon") == [10.5]


def test_a_subclass_with_another_way_to_execute_is_one_piece() -> None:
    result = run(plan_of("WholeItems"), [*FIVE, at(6.2, "few")])
    assert times(result, "soon") == [8.5]
    assert [row[1] for row in result.outputs["relaxed"].rows] == [-1.0]


def test_what_raises_between_items_loses_its_inputs_only() -> None:
    result = run(plan_of(), [at(0, "many", 1), at(1, "many", -1), at(10, "many", 2)])
    failed = [d for _, d in result.side.dropped if d.kind is DropKind.FAILED]
    assert [d.row[1] for d in failed] == [1, -1]
    assert [row[1] for row in result.outputs["relaxed"].rows] == [3.0]


@pytest.mark.parametrize("policy", ["s-edf", "least-laxity", "rop-edf", "cbs"])
def test_a_job_never_overtakes_one_of_its_unit_that_has_begun(policy: str) -> None:
    """The second batch holds an older tuple, so by its deadline it would go first. The first has
    given way to `few` by then; it goes on before it, and the class is not called in between."""
    second = [at(5.6, "many", 100, sensed=0), at(5.7, "many", 100, sensed=0)]
    first = [at(0.5, "many", n) for n in range(12)]
    urgent = [at(6.2, "few"), at(12, "few"), at(16, "few")]
    result = run(plan_of(), sorted([*first, *second, *urgent]), policy)
    assert not [d for _, d in result.side.dropped if d.kind is DropKind.FAILED]
    if policy == "s-edf":
        assert [row[1] for row in result.outputs["relaxed"].rows] == [66.0, 266.0]
        assert result.summary().preemptions == 3


FUSION = """query: fused
schemas:
  Seen: {{id: int, x: double, y: double, var_x: double, var_y: double, own: boolean}}
  Fused: {{id: int, x: double, y: double, vx: double, vy: double, var_x: double, var_y: double}}
  A: {{v: double}}
sources:
  board: {{schema: Seen, rate: 20 per 100 ms}}
  radio: {{schema: Seen, rate: 20 per 100 ms}}
  few: {{schema: A, rate: 1 per 10 ms}}
operators:
  around:
    fusion: "tests.engine.wall.taking_time:SlowFusion"
    inputs: {{board: board, radio: radio}}
    schema: Fused
    object: id
    front: 20 ms
    rear: 40 ms
    timeout: 5 ms
    gather: time
    most_outputs: 2
    cost: {{base: 100 us, per_item: 1 ms, most_items: 20, preempt: {preempt}}}
  urgent:
    udo: "tests.engine.wall.taking_time:Slow"
    inputs: {{input: few}}
    schema: A
    most_outputs: 1
    cost: 500 us
    parameters: {{takes: 500000}}
outputs:
  estimates: {{from: around, deadline: 400 ms}}
  soon: {{from: urgent, deadline: 20 ms}}
"""


def fusion_plan(preempt: str) -> Plan:
    query = parse_query(FUSION.format(preempt=preempt)).query
    return compile_query(query, one_node(query))


WHOLE, IN_ITEMS = fusion_plan("never"), fusion_plan("between_items")

sightings = st.tuples(
    st.integers(0, 400),  # tenths of a millisecond: when it arrives
    st.integers(0, 120),  # how long before it was sensed
    st.sampled_from(["board", "radio"]),
    st.integers(1, 3),
    st.integers(-50, 50),
)


@examples(60)
@given(
    seen=st.lists(sightings, min_size=1, max_size=25),
    others=st.lists(st.integers(0, 600), max_size=25),
)
def test_fusion_in_items_gives_what_it_gives_in_one_call(
    seen: list[tuple[int, int, str, int, int]], others: list[int]
) -> None:
    """Wherever jobs of another unit go between."""
    arrivals = [
        Arrival(
            tenth * MS // 10,
            source,
            (tenth * 100 - ago * 100, key, place / 1, -place / 2, 1.0, 2.0, key == 1),
        )
        for tenth, ago, source, key, place in seen
    ]
    urgent = [at(tenth / 10, "few") for tenth in others]
    together = sorted([*arrivals, *urgent], key=lambda one: one.time)
    whole, in_items = run(WHOLE, together), run(IN_ITEMS, together)
    assert in_items.outputs["estimates"].rows == whole.outputs["estimates"].rows
    assert refused(in_items) == refused(whole)
    assert len(in_items.outputs["soon"]) == len(others)


def refused(result: RunResult) -> list[tuple[str, int]]:
    return [(str(d.kind), d.row[0]) for _, d in result.side.dropped]


def test_fusion_gives_way_between_measurements() -> None:
    arrivals = [
        Arrival(0, "board", (n, 7, 1.0 * n, 0.0, 1.0, 1.0, True)) for n in range(6)
    ] + [at(6.5, "few")]  # fmt: skip
    result = run(IN_ITEMS, arrivals)
    kinds = [event[0] for event in result.trace.events]
    assert kinds.count(EventKind.PREEMPT) == 1
    assert times(result, "soon") == [7.5]
    (row,) = result.outputs["estimates"].rows
    (alone,) = run(WHOLE, arrivals).outputs["estimates"].rows
    assert row == alone


def test_virtual_time_charges_items_and_makes_one_call() -> None:
    arrivals = [Arrival(0, "board", (n, 7, 1.0 * n, 0.0, 1.0, 1.0, True)) for n in range(6)]
    result = Engine(plan=IN_ITEMS).run(arrivals)
    assert times(result, "estimates") == [11.1]
