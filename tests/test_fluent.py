"""Queries built in Python equal those in YAML, for every construct; mistakes are told at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

import headway as hw
from headway.errors import InputError, QueryError, VehicleError
from headway.files import parse_query, parse_vehicle
from headway.model.quantities import MILLISECOND, Cost, Rate
from headway.model.query import Decide

HEAD = """
query: q
sources:
  a: {schema: {id: bigint, v: "double [m/s]"}}
  b: {schema: {id: bigint, v: "double [m/s]"}}
"""
TAIL = """
outputs:
  o: {from: x, deadline: 30 ms}
"""
A = {"id": "bigint", "v": "double [m/s]"}


Build = Callable[[hw.QueryBuilder, hw.Stream, hw.Stream], hw.Stream]
CONSTRUCTS: dict[str, tuple[Build, str]] = {
    "filter": (
        lambda q, a, b: a.filter("x", "v > 1", cost="50 us", selectivity=0.5, most_outputs=2),
        "{filter: v > 1, from: a, cost: 50 us, selectivity: 0.5, most_outputs: 2}",
    ),
    "filter by a literal": (lambda q, a, b: a.filter("x", True), "{filter: true, from: a}"),
    "filter by a function": (
        lambda q, a, b: a.filter("x", hw.call("math:isfinite", "v", returns="boolean")),
        '{filter: {python: "math:isfinite", arguments: [v], returns: boolean}, from: a}',
    ),
    "map": (
        lambda q, a, b: a.map("x", {"w": "v * 2", "n": 1}, cost=hw.cost(50_000)),
        "{map: {w: v * 2, n: 1}, from: a, cost: 50 us}",
    ),
    "map by a function": (
        lambda q, a, b: a.map("x", {"w": hw.call(math.isfinite, "v", returns="boolean")}),
        '{map: {w: {python: "math:isfinite", arguments: [v], returns: boolean}}, from: a}',
    ),
    "set": (lambda q, a, b: a.set("x", {"w": "v"}), "{set: {w: v}, from: a}"),
    "distinct": (
        lambda q, a, b: a.distinct("x", ["id"], within="1 s", cost="1 us"),
        "{distinct: [id], from: a, within: 1 s, cost: 1 us}",
    ),
    "distinct by one column": (
        lambda q, a, b: a.distinct("x", "id", within=5),
        "{distinct: [id], from: a, within: 5 ns}",
    ),
    "distinct without keys": (
        lambda q, a, b: a.distinct("x", within="1 s"),
        "{distinct: [], from: a, within: 1 s}",
    ),
    "any kind by its key": (
        lambda q, a, b: a.apply("filter", "x", "v > 1", cost=hw.cost("50 us")),
        "{filter: v > 1, from: a, cost: 50 us}",
    ),
    "any kind of several streams": (
        lambda q, a, b: q.apply("join", "x", {"l": a, "r": b}, within="50 ms"),
        "{join: {l: a, r: b}, within: 50 ms}",
    ),
    "union": (
        lambda q, a, b: q.union("x", a, b, cost="1 us"),
        "{union: [a, b], cost: 1 us}",
    ),
    "join": (
        lambda q, a, b: q.join("x", {"l": a, "r": b}, within="50 ms"),
        "{join: {l: a, r: b}, within: 50 ms}",
    ),
    "join with everything": (
        lambda q, a, b: q.join(
            "x",
            {"l": a, "r": b},
            within="0 ms",
            keys=["id", ("v", "id")],
            where="l.v < r.v",
            select={"w": "l.v"},
            partners=("l", 1),
            timeout="10 ms",
        ),
        "{join: {l: a, r: b}, within: 0 ms, keys: [id, [v, id]], where: l.v < r.v, "
        "select: {w: l.v}, partners: {l: 1}, timeout: 10 ms}",
    ),
    "aggregate": (
        lambda q, a, b: a.aggregate("x", {"n": "count(*)"}, window="1 s"),
        "{aggregate: {n: count(*)}, from: a, window: 1 s}",
    ),
    "aggregate that slides": (
        lambda q, a, b: a.aggregate(
            "x", {"n": "count(*)"}, window="1 s", every="500 ms", by=["id"]
        ),
        "{aggregate: {n: count(*)}, from: a, window: 1 s, every: 500 ms, by: [id]}",
    ),
    "udo": (
        lambda q, a, b: q.udo(
            "x",
            "m:C",
            {"l": a, "r": b},
            schema={"w": "string(4)"},
            gather="time",
            timeout="5 ms",
            parameters={"k": 1, "f": 0.5, "on": True, "s": "t"},
        ),
        '{udo: "m:C", inputs: {l: a, r: b}, schema: {w: string(4)}, gather: time, timeout: 5 ms, '
        "parameters: {k: 1, f: 0.5, on: true, s: t}}",
    ),
    "udo by its class": (
        lambda q, a, b: q.udo("x", QueryError, {"l": a}, schema=hw.schema(w="int")),
        '{udo: "headway.errors:QueryError", inputs: {l: a}, schema: {w: int}}',
    ),
    "fusion": (
        lambda q, a, b: q.fusion(
            "x",
            "m:K",
            {"l": a, "r": b},
            schema=hw.schema(A),
            front="200 ms",
            rear="1 s",
            object="id",
            sensor="v",
            timeout="10 ms",
            gather="all",
            parameters={"k": 2},
            cost=hw.cost("10 ms", per_item="1 ms", most_items=60, between_items=True),
        ),
        '{fusion: "m:K", inputs: {l: a, r: b}, schema: {id: bigint, v: "double [m/s]"}, '
        "front: 200 ms, rear: 1 s, object: id, sensor: v, timeout: 10 ms, gather: all, "
        "parameters: {k: 2}, "
        "cost: {base: 10 ms, per_item: 1 ms, most_items: 60, preempt: between_items}}",
    ),
}


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_python_and_yaml_give_equal_queries(construct: str) -> None:
    build, entry = CONSTRUCTS[construct]
    q = hw.QueryBuilder("q")
    a, b = q.source("a", A), q.source("b", hw.schema(A))
    q.output("o", build(q, a, b), deadline="30 ms")
    assert q.build() == parse_query(f"{HEAD}operators:\n  x: {entry}\n{TAIL}").query


def test_sources_and_outputs() -> None:
    q = hw.QueryBuilder("q")
    a = q.source(
        "a",
        {"v": "int"},
        rate="10 per 100 ms",
        jitter="5 ms",
        gap="1 s",
        delay="2 ms",
        lateness=3 * MILLISECOND,
        shed=hw.shed("20 per 100 ms", value="-v", decide=Decide.WINDOW_END),
    )
    b = q.source("b", {"v": "int"}, rate=Rate(1, 10, 2))
    q.output("o1", a, deadline="30 ms", criticality="soft", weight=2)
    q.output("o2", b, deadline=None)
    assert (
        q.build()
        == parse_query(
            """
        query: q
        sources:
          a:
            schema: {v: int}
            rate: 10 per 100 ms
            jitter: 5 ms
            gap: 1 s
            delay: 2 ms
            lateness: 3 ms
            shed: {at_most: 20 per 100 ms, value: -v, decide: window_end}
          b: {schema: {v: int}, rate: 1 per 10 ns, jitter: 2 ns}
        outputs:
          o1: {from: a, deadline: 30 ms, criticality: soft, weight: 2}
          o2: {from: b, deadline: none}
        """
        ).query
    )


def test_components_inside_components() -> None:
    inner = hw.component("inner")
    inner.output("out", inner.input("in_", A).filter("keep", "v > 0"))
    outer = hw.component("outer")
    outer.output("result", outer.use("first", inner, in_=outer.input("port", A)).out)
    q = hw.QueryBuilder("q")
    used = q.use("x", outer, port=q.source("a", A))
    assert list(used) == ["result"]
    assert used["result"].name == used.result.name == "x.result"
    q.output("o", used.result, deadline="1 s")
    assert (
        q.build()
        == parse_query(
            """
        query: q
        schemas: {A: {id: bigint, v: "double [m/s]"}}
        sources: {a: {schema: A}}
        components:
          inner:
            inputs: {in_: A}
            operators: {keep: {filter: v > 0, from: in_}}
            outputs: {out: keep}
          outer:
            inputs: {port: A}
            operators: {first: {component: inner, inputs: {in_: port}}}
            outputs: {result: first.out}
        operators: {x: {component: outer, inputs: {port: a}}}
        outputs: {o: {from: x.result, deadline: 1 s}}
        """
        ).query
    )


def test_vehicles() -> None:
    vehicle = (
        hw.VehicleBuilder("v", bus_charge="ahead")
        .node("n1", rate=0.5, capacity=0.9, cores=2, decision_cost="2 us", preemption_cost="2.6 us")
        .node("n2")
        .bus("b1", ["n1"], bit_rate="500 kbit/s", identifier_bits=29, capacity=0.8)
        .bus("b2", ["n2"], kind="can_fd", bit_rate=500_000, data_bit_rate="2 Mbit/s")
        .gateway("g", ["b1", "b2"], delay="500 us")
        .link("l", "n1", "g", speed="100 Mbit/s", capacity=0.5)
        .sensor("a", "n1")
        .pin("use.x", "n2")
        .build()
    )
    text = """
    vehicle: v
    nodes:
      n1: {rate: 0.5, capacity: 0.9, cores: 2, decision_cost: 2 us, preemption_cost: 2.6 us}
      n2: {}
    buses:
      b1: {kind: can, bit_rate: 500 kbit/s, nodes: [n1], identifier_bits: 29, capacity: 0.8}
      b2: {kind: can_fd, bit_rate: 500 kbit/s, data_bit_rate: 2 Mbit/s, nodes: [n2]}
    gateways: {g: {buses: [b1, b2], delay: 500 us}}
    links: {l: {ends: [n1, g], speed: 100 Mbit/s, capacity: 0.5}}
    sensors: {a: n1}
    pins: {use.x: n2}
    bus_charge: ahead
    """
    assert vehicle == parse_vehicle(text).vehicle
    with pytest.raises(QueryError, match="bus_charge: no such choice; got 'behind'"):
        hw.VehicleBuilder("v", bus_charge="behind")
    with pytest.raises(VehicleError, match=r"buses\.b\.bit_rate: not a bit rate; got 'fast'"):
        hw.VehicleBuilder("v").bus("b", [], bit_rate="fast")


def local_class() -> type:
    class Local:
        pass

    return Local


def other_stream() -> hw.Stream:
    return hw.QueryBuilder("other").source("s", A)


MISTAKES: dict[str, tuple[Build, str]] = {
    "name taken": (
        lambda q, a, b: a.filter("b", "true"),
        "operators.b: the name 'b' is taken; choose another",
    ),
    "not a name": (
        lambda q, a, b: a.filter("a.b", "true"),
        "operators.a.b: not a name; got 'a.b'; use letters, digits and '_', "
        "not starting with a digit, at most 63",
    ),
    "stream of another query": (
        lambda q, a, b: q.union("x", a, other_stream()),
        "operators.x.inputs.input2: the stream 's' belongs to 'other'; "
        "use a stream of 'q', or hand it in through a component's input",
    ),
    "no stream": (
        lambda q, a, b: q.union("x", "a"),  # type: ignore[arg-type]
        "operators.x.inputs.input1: a stream is wanted; got 'a'; "
        "pass what source(), filter(), ... returned",
    ),
    "duration": (
        lambda q, a, b: a.filter("x", "true", cost="5 parsecs"),
        "operators.x.cost: not a duration; got '5 parsecs'; "
        "write a duration such as '30 ms', or whole nanoseconds",
    ),
    "negative duration": (
        lambda q, a, b: a.filter("x", "true", timeout=-1),
        "operators.x.timeout: not a duration; got -1; "
        "write a duration such as '30 ms', or whole nanoseconds",
    ),
    "lambda": (
        lambda q, a, b: a.filter("x", hw.call(lambda v: v, "v", returns="boolean")),
        "call: engines cannot import a lambda, a local definition or one in a script",
    ),
    "local class": (
        lambda q, a, b: q.udo("x", local_class(), {"l": a}, schema=A),
        "operators.x.implementation: engines cannot import a lambda, a local definition or one in "
        "a script",
    ),
    "column type": (
        lambda q, a, b: q.udo("x", "m:C", {"l": a}, schema={"w": "intt"}),
        "operators.x.schema: 'intt' is not the type of a column",
    ),
    "gather": (
        lambda q, a, b: q.udo("x", "m:C", {"l": a}, schema=A, gather="some"),
        "operators.x.gather: no such choice; got 'some'; choose from 'all', 'time'",
    ),
    "join of one": (
        lambda q, a, b: q.join("x", {"l": a}, within="1 s"),
        "operators.x: a join reads two streams; got 1",
    ),
    "empty expression": (
        lambda q, a, b: a.map("x", {"w": " "}),
        "operators.x.columns.w: an SQL expression is wanted; got ' '; write SQL text",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake: str) -> None:
    build, expected = MISTAKES[mistake]
    q = hw.QueryBuilder("q")
    with pytest.raises(InputError) as caught:
        build(q, q.source("a", A), q.source("b", A))
    assert str(caught.value).startswith(expected)


def test_mistakes_with_components_and_outputs() -> None:
    spc = hw.component("c")
    spc.output("out", spc.input("i", A))
    q = hw.QueryBuilder("q")
    a = q.source("a", A)
    with pytest.raises(QueryError, match="the inputs of 'c' do not fit; got j; give it i"):
        q.use("x", spc, j=a)
    used = q.use("x", spc, i=a)
    with pytest.raises(QueryError, match=r"operators\.x: no output 'nothing'; its outputs: out"):
        _ = used.nothing
    changed = hw.component("c")
    changed.output("out2", changed.input("i", A))
    with pytest.raises(QueryError, match=r"components\.c: two components of that name"):
        q.use("y", changed, i=a)
    with pytest.raises(QueryError, match="no such choice; got 'firm'"):
        q.output("o", a, deadline="1 s", criticality="firm")
    q.output("o", a, deadline="1 s")
    with pytest.raises(QueryError, match=r"outputs\.o: the output 'o' is taken"):
        q.output("o", a, deadline="1 s")
    with pytest.raises(QueryError, match="a jitter without a rate"):
        q.source("c", A, jitter="1 ms")
    with pytest.raises(QueryError, match="not a rate; got 'often'"):
        q.source("d", A, rate="often")


def test_functions_and_classes_of_a_module_are_named_by_their_path() -> None:
    call = hw.call(math.hypot, "x", "y", returns="double [m]")
    assert (call.function, call.arguments, call.unit) == ("math:hypot", ("x", "y"), "m")
    assert hw.cost("1 ms") == Cost(MILLISECOND)
