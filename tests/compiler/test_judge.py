"""The pass ``judge``: latency bounds worked out by hand, and the reasons for having none."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.compiler.build import one_node, query_of

from headway.compiler.passes import compile_query
from headway.files import parse_query, parse_vehicle
from headway.model.plan import Plan, Promise
from headway.model.quantities import MICROSECOND, MILLISECOND, Rate

MS = MILLISECOND


def parallel(costs: dict[str, tuple[int, ...]], deadlines: dict[str, int], **node: float) -> Plan:
    """Independent chains on one ECU: ``costs`` of the operators of each, each on its own sensor."""
    streams: list[tuple[str, str]] = []
    cost_of: dict[str, int] = {}
    for name, chain in costs.items():
        operators = [f"{name}{number}" for number in range(len(chain))]
        cost_of |= dict(zip(operators, chain, strict=True))
        path = [f"s_{name}", *operators, name]
        streams += pairwise(path)
    query = query_of(streams, deadlines, costs=cost_of)
    return compile_query(query, one_node(query, **node))


def promises(plan: Plan) -> dict[str, Promise]:
    assert plan.verdict is not None
    return {promise.output: promise for promise in plan.verdict.promises}


def bounds(plan: Plan) -> dict[str, int | None]:
    return {name: promise.bound for name, promise in promises(plan).items()}


def compiled(query: str, vehicle: str = "vehicle: v\nnodes: {ecu: {}}") -> Plan:
    return compile_query(parse_query(query).query, parse_vehicle(vehicle).vehicle)


# ---------------------------------------------------------------- one node


def test_a_task_alone_takes_its_own_time() -> None:
    assert bounds(parallel({"a": (3 * MS, 4 * MS)}, {"a": 10 * MS})) == {"a": 7 * MS}


def test_arrival_after_sensing_counts() -> None:
    plan = compiled(
        """
query: q
sources: {s: {schema: {v: int}, rate: 1 per 100 ms, delay: 2 ms}}
operators: {a: {filter: v > 0, from: s, cost: 3 ms}}
outputs: {o: {from: a, deadline: 10 ms}}
"""
    )
    assert bounds(plan) == {"o": 5 * MS}
    steps = promises(plan)["o"].steps
    assert [(step.place, step.time) for step in steps] == [("s", 2 * MS), ("ecu", 3 * MS)]


def test_an_urgent_task_waits_for_one_operator_under_way() -> None:
    """a may find c's operator just begun: 20 + 3. c waits for all others: 3 + 5 + 20."""
    deadlines = {"a": 10 * MS, "b": 50 * MS, "c": 90 * MS}
    plan = parallel({"a": (3 * MS,), "b": (5 * MS,), "c": (20 * MS,)}, deadlines)
    assert bounds(plan) == {"a": 23 * MS, "b": 28 * MS, "c": 28 * MS}
    assert not promises(plan)["a"].kept


def test_a_train_is_preempted_between_its_operators() -> None:
    """The same work in two operators: a waits for the longer one only."""
    deadlines = {"a": 20 * MS, "c": 90 * MS}
    plan = parallel({"a": (3 * MS,), "c": (12 * MS, 8 * MS)}, deadlines)
    assert bounds(plan) == {"a": 15 * MS, "c": 23 * MS}
    assert promises(plan)["a"].kept


def test_a_faster_node_needs_less() -> None:
    plan = parallel({"a": (3 * MS,), "c": (12 * MS, 8 * MS)}, {"a": 20 * MS, "c": 90 * MS}, rate=2)
    assert bounds(plan) == {"a": 7_500_000, "c": 11_500_000}


def test_decisions_and_preemptions_are_charged() -> None:
    """A job: one preemption, the decision to resume after it, and one for its operator."""
    plan = parallel({"a": (MS,)}, {"a": 10 * MS}, decision_cost=2_000, preemption_cost=5_000)
    assert bounds(plan) == {"a": MS + 2 * 2_000 + 5_000}


def test_a_burst_is_worked_off_one_by_one() -> None:
    query = query_of(
        [("s", "a"), ("a", "o")], {"o": 50 * MS}, costs=MS, rates={"s": Rate(3, 100 * MS)}
    )
    assert bounds(compile_query(query, one_node(query))) == {"o": 3 * MS}


def test_jitter_lets_two_bursts_meet() -> None:
    rate = Rate(1, 10 * MS, jitter=10 * MS)
    query = query_of([("s", "a"), ("a", "o")], {"o": 50 * MS}, costs=2 * MS, rates={"s": rate})
    assert bounds(compile_query(query, one_node(query))) == {"o": 4 * MS}


def test_a_load_shedder_that_decides_late_is_charged() -> None:
    """20 ms of window, then the two that were kept, beside two of the next window."""
    text = """
query: q
sources:
  s:
    schema: {v: int}
    rate: 1000 per 1 s
    shed: {at_most: 2 per 20 ms, value: v, decide: DECIDE}
operators: {a: {filter: v > 0, from: s, cost: 1 ms}}
outputs: {o: {from: a, deadline: 100 ms}}
"""
    late = compiled(text.replace("DECIDE", "window_end"))
    assert bounds(late) == {"o": 24 * MS}
    assert promises(late)["o"].steps[1].what == "the load shedder decides at its window's end"
    assert bounds(compiled(text.replace("DECIDE", "arrival"))) == {"o": 4 * MS}


def test_steps_add_up_to_the_bound() -> None:
    plan = parallel({"a": (3 * MS,), "c": (12 * MS, 8 * MS)}, {"a": 20 * MS, "c": 90 * MS})
    for promise in promises(plan).values():
        assert sum(step.time for step in promise.steps) == promise.bound


# ---------------------------------------------------------------- buses

TWO_NODES = """
vehicle: v
nodes: {n1: {}, n2: {}}
buses: {can: {kind: can, bit_rate: 1 Mbit/s, nodes: [n1, n2]}}
sensors: {s: n1, t: n1}
pins: {b: n2, d: n2}
"""
ONE_STREAM = """
query: q
sources: {s: {schema: {v: double}, rate: 1 per 100 ms}}
operators:
  a: {filter: v > 0, from: s, cost: 1 ms}
  b: {filter: v > 1, from: a, cost: 1 ms}
outputs: {o: {from: b, deadline: 10 ms}}
"""
TWO_STREAMS = """
query: q
sources:
  s: {schema: {v: double}, rate: 1 per 100 ms}
  t: {schema: {v: double}, rate: 1 per 100 ms}
operators:
  a: {filter: v > 0, from: s, cost: 1 ms}
  b: {filter: v > 1, from: a, cost: 1 ms}
  c: {filter: v > 0, from: t, cost: 1 ms}
  d: {filter: v > 1, from: c, cost: 1 ms}
outputs:
  o: {from: b, deadline: 10 ms}
  p: {from: d, deadline: 20 ms}
"""


def test_a_stream_alone_on_a_bus() -> None:
    """16 bytes: two frames of 135 bits at 1 Mbit/s."""
    plan = compiled(ONE_STREAM, TWO_NODES.replace("pins: {b: n2, d: n2}", "pins: {b: n2}"))
    assert bounds(plan) == {"o": 2 * MS + 270 * MICROSECOND}
    assert [(s.place, s.time) for s in promises(plan)["o"].steps] == [
        ("s", 0),
        ("n1", MS),
        ("can", 270 * MICROSECOND),
        ("n2", MS),
    ]


def test_streams_meet_on_a_bus() -> None:
    """The urgent stream waits for one frame of the other (135 us) and sends its two; the other
    waits for both of these and sends its own: 405 and 540 us. On a node both may meet: 2 ms."""
    plan = compiled(TWO_STREAMS, TWO_NODES)
    assert [(s.place, s.time) for s in promises(plan)["o"].steps][1:3] == [
        ("n1", 2 * MS),
        ("can", 405 * MICROSECOND),
    ]
    assert [(s.place, s.time) for s in promises(plan)["p"].steps][1:3] == [
        ("n1", 2 * MS),
        ("can", 540 * MICROSECOND),
    ]
    assert bounds(plan) == {
        "o": 4 * MS + 405 * MICROSECOND,
        "p": 4 * MS + 540 * MICROSECOND,
    }


def test_a_gateway_adds_its_delay_and_the_second_bus() -> None:
    vehicle = """
vehicle: v
nodes: {n1: {}, n2: {}}
buses:
  one: {kind: can, bit_rate: 1 Mbit/s, nodes: [n1]}
  two: {kind: can, bit_rate: 500 kbit/s, nodes: [n2]}
gateways: {gw: {buses: [one, two], delay: 300 us}}
sensors: {s: n1}
pins: {b: n2}
"""
    plan = compiled(ONE_STREAM, vehicle)
    assert bounds(plan) == {"o": 2 * MS + (270 + 300 + 540) * MICROSECOND}


def test_loads_of_nodes_and_buses() -> None:
    verdict = compiled(TWO_STREAMS, TWO_NODES).verdict
    assert verdict is not None
    assert {load.name: load.utilisation for load in verdict.loads} == pytest.approx(
        {"n1": 0.02, "n2": 0.02, "can": 2 * 10 * 270e-6}
    )


def test_loads_by_the_way_that_streams_take() -> None:
    """a is sent to both nodes of the second bus, and enters it once; the link takes what b sends.
    Half of the two cores of n1 is what one of them does; n2 is twice as fast."""
    vehicle = """
vehicle: v
nodes: {n1: {cores: 2}, n2: {rate: 2, capacity: 0.5}, n3: {}}
buses:
  one: {kind: can, bit_rate: 1 Mbit/s, nodes: [n1]}
  two: {kind: can, bit_rate: 500 kbit/s, nodes: [n2, n3], capacity: 0.75}
gateways: {gw: {buses: [one, two], delay: 300 us}}
links: {l: {ends: [n2, n3], speed: 1 Mbit/s}}
sensors: {s: n1}
pins: {a: n1, b: n2, c: n3, d: n3}
"""
    query = """
query: q
sources: {s: {schema: {v: double}, rate: 10 per 1 s}}
operators:
  a: {filter: v > 0, from: s, cost: 10 ms}
  b: {filter: v > 1, from: a, cost: 10 ms}
  c: {filter: v > 2, from: a, cost: 10 ms}
  d: {filter: v > 3, from: b, cost: 10 ms}
outputs:
  o: {from: c, deadline: 100 ms}
  p: {from: d, deadline: 100 ms}
"""
    verdict = compiled(query, vehicle).verdict
    assert verdict is not None
    assert [(load.name, load.kind, load.capacity) for load in verdict.loads] == [
        ("n1", "node", 1.0),
        ("n2", "node", 0.5),
        ("n3", "node", 1.0),
        ("one", "bus", 1.0),
        ("two", "bus", 0.75),
        ("l", "link", 1.0),
    ]
    assert [load.utilisation for load in verdict.loads] == pytest.approx(
        [0.05, 0.05, 0.2, 10 * 270e-6, 10 * 540e-6, 10 * 128e-6]
    )


# ---------------------------------------------------------------- waiting


def test_a_gathering_operator_waits_for_its_timeout() -> None:
    """A tuple waits up to 10 ms for its partner; then two runs of 2 ms may stand before the node:
    each input could bring about a run of its own."""
    plan = compiled(
        """
query: q
sources:
  s: {schema: {v: int}, rate: 1 per 100 ms, delay: 1 ms}
  t: {schema: {v: int}, rate: 1 per 100 ms}
operators:
  f: {udo: "m:C", inputs: {s: s, t: t}, schema: {v: int}, timeout: 10 ms, cost: 2 ms}
outputs: {o: {from: f, deadline: 30 ms}}
"""
    )
    assert bounds(plan) == {"o": 1 * MS + 10 * MS + 4 * MS}
    steps = promises(plan)["o"].steps
    assert ("f waits for its other inputs", 10 * MS) in [(s.what, s.time) for s in steps]


AGGREGATE = """
query: q
sources: {s: {schema: {v: int}, rate: 1 per 100 ms, lateness: 50 ms, gap: 200 ms}}
operators: {n: {aggregate: {n: count(*)}, from: s, window: 1 s, cost: 1 ms}}
outputs: {o: {from: n, deadline: 5 s}}
"""


def test_a_window_closes_after_its_end_the_gap_and_the_lateness() -> None:
    """The first tuple of a window may be 1 s old at its end; the tuple that closes it comes at most
    200 ms after 50 ms more."""
    plan = compiled(AGGREGATE)
    steps = promises(plan)["o"].steps
    assert ("n waits until its window closes", 1_250 * MS) in [(s.what, s.time) for s in steps]
    bound = bounds(plan)["o"]
    assert bound is not None
    assert 1_251 * MS <= bound <= 1_251 * MS + 14 * MS


def test_an_aggregate_without_a_gap_has_no_bound() -> None:
    plan = compiled(AGGREGATE.replace(", gap: 200 ms", ""))
    promise = promises(plan)["o"]
    assert promise.bound is None
    assert not promise.kept
    assert promise.reason == (
        "n closes a window only when later tuples come: declare 'gap', the longest silence, on its "
        "sources"
    )


def test_a_join_makes_its_output_as_old_as_the_older_half() -> None:
    plan = compiled(
        """
query: q
sources:
  s: {schema: {v: int}, rate: 1 per 100 ms}
  t: {schema: {v: int}, rate: 1 per 100 ms}
operators:
  j: {join: {a: s, b: t}, within: 5 ms, select: {v: a.v}, partners: {a: 1}, cost: 1 ms}
outputs: {o: {from: j, deadline: 30 ms}}
"""
    )
    steps = promises(plan)["o"].steps
    assert ("a joined tuple is as old as its older half", 5 * MS) in [
        (s.what, s.time) for s in steps
    ]
    bound = bounds(plan)["o"]
    assert bound is not None
    assert bound >= 5 * MS + 2 * MS


# ---------------------------------------------------------------- no bound


def test_overload_in_the_worst_case() -> None:
    """The mean fits, the most does not: 30 outputs of each input, 4 ms each, in 100 ms."""
    plan = compiled(
        """
query: q
sources: {s: {schema: {v: int}, rate: 1 per 100 ms}}
operators:
  u: {udo: "m:C", inputs: {s: s}, schema: {v: int}, cost: 1 ms, most_outputs: 30}
  f: {filter: v > 0, from: u, cost: 4 ms}
outputs: {o: {from: f, deadline: 1 s}}
"""
    )
    promise = promises(plan)["o"]
    assert (promise.bound, promise.reason) == (None, "ecu can be asked for more than it can do")
    assert promise.blame == "ecu"


def test_several_cores_have_a_bound_for_one_queue() -> None:
    """Another job under way, this one, and the time in which a core may idle: half of 3 ms."""
    plan = parallel({"a": (MS,)}, {"a": 10 * MS}, cores=2)
    assert promises(plan)["a"].bound == 1_500_000


def test_what_follows_an_unbounded_task_has_the_first_cause() -> None:
    plan = compiled(
        AGGREGATE.replace(", gap: 200 ms", "").replace(
            "}}\noutputs: {o: {from: n",
            "}, last: {filter: n > 0, from: n, cost: 1 ms}}\noutputs: {o: {from: last",
        )
    )
    assert promises(plan)["o"].reason.startswith("n closes a window only when later tuples come")


def test_what_follows_an_unbounded_node_over_a_bus() -> None:
    """The second node and the bus have done nothing wrong."""
    busy = ONE_STREAM.replace("from: s, cost: 1 ms", "from: s, cost: 100 ms")
    promise = promises(compiled(busy, TWO_NODES.replace("pins: {", "pins: {a: n1, ")))["o"]
    assert promise.bound is None
    assert promise.reason.startswith("n1 can be asked for more than it can do")


def test_without_a_vehicle_there_is_no_verdict() -> None:
    assert compile_query(parse_query(AGGREGATE).query).verdict is None


def test_soft_outputs_are_told_apart() -> None:
    plan = compiled(AGGREGATE.replace("deadline: 5 s", "deadline: 5 s, criticality: soft"))
    assert not promises(plan)["o"].hard
