"""The same input gives the same run, byte for byte; ties are broken by rule."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.compiler.build import one_node, query_of
from tests.engine.bounds import random_plan
from tests.engine.random_runs import Shape
from tests.engine.support import compiled, run, slots_of

from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.model.quantities import MILLISECOND
from headway.schedule.online import POLICIES

MS = MILLISECOND


def as_bytes(result: RunResult) -> bytes:
    table = result.trace.to_table()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(900_000, 900_006))
def test_twice_the_same(seed: int, policy: str) -> None:
    made = random_plan(seed, Shape(), patterns=("mixed",))
    if made is None:
        return
    plan, ((_, given),) = made
    once, again = run(plan, given, policy), run(plan, given, policy)
    assert as_bytes(once) == as_bytes(again)
    assert {n: list(r) for n, r in once.outputs.items()} == {
        n: list(r) for n, r in again.outputs.items()
    }
    assert once.side.dropped == again.side.dropped
    assert once.summary() == again.summary()


def test_equal_deadlines_go_in_order_of_release() -> None:
    query = query_of(
        [("s1", "a"), ("s2", "b"), ("a", "out_a"), ("b", "out_b")],
        {"out_a": 10 * MS, "out_b": 10 * MS},
        costs=MS,
    )
    plan = compiled(query, one_node(query))
    for first, second in (("s1", "s2"), ("s2", "s1")):
        given = [Arrival(0, first, (0, 1.0)), Arrival(0, second, (0, 1.0))]
        order = [slot.operator for slot in slots_of(run(plan, given))]
        assert order == [{"s1": "a", "s2": "b"}[one] for one in (first, second)]


def test_what_happens_at_one_instant_is_ordered_by_kind() -> None:
    """An operator ends when a timer is over: its result still comes in time for the timer's batch.
    A nanosecond later it does not."""
    query = query_of(
        [("s1", "a"), ("a", "pair"), ("s2", "pair"), ("pair", "out")],
        {"out": 50 * MS},
        costs={"a": MS, "pair": MS},
        timeouts={"pair": MS},
    )
    plan = compiled(query, one_node(query))
    result = run(plan, [Arrival(0, "s2", (0, 1.0)), Arrival(0, "s1", (0, 2.0))])
    assert result.summary().timeouts == 0
    slots = [(slot.start // MS, slot.operator) for slot in slots_of(result)]
    assert slots == [(0, "a"), (1, "pair")]
    late = [Arrival(0, "s2", (0, 1.0)), Arrival(1, "s1", (0, 2.0))]
    assert run(plan, late).summary().timeouts == 2


@pytest.mark.parametrize("fast_path", [True, False])
def test_a_timer_that_is_over_at_once_goes_before_the_next_choice(fast_path: bool) -> None:
    """The result of `a` waits for nothing: `pair` is ready when the core chooses, and more urgent
    than `calm`, which has waited all the time."""
    query = query_of(
        [
            ("s1", "a"),
            ("a", "pair"),
            ("s2", "pair"),
            ("pair", "out"),
            ("s3", "calm"),
            ("calm", "end"),
        ],
        {"out": 10 * MS, "end": 50 * MS},
        costs={"a": MS, "pair": MS, "calm": MS},
        timeouts={"pair": 0},
    )
    plan = compiled(query, one_node(query))
    given = [Arrival(0, "s1", (0, 1.0)), Arrival(0, "s3", (0, 1.0))]
    slots = slots_of(run(plan, given, fast_path=fast_path))
    assert [(one.start // MS, one.operator) for one in slots] == [
        (0, "a"),
        (1, "pair"),
        (2, "calm"),
    ]
