"""The pass ``split``: low-level queries, and the routes of crossing streams."""

from __future__ import annotations

from tests.compiler.build import compiled_until
from tests.compiler.golden import EXAMPLE

from headway.compiler.node_queries import split
from headway.files import load_query, load_vehicle, parse_query, parse_vehicle
from headway.model.plan import HopKind


def test_the_study() -> None:
    compilation = compiled_until(
        split,
        load_query(EXAMPLE / "query.yaml").query,
        load_vehicle(EXAMPLE / "vehicle.yaml").vehicle,
    )
    one, two, three = compilation.node_queries
    assert (one.sources, one.operators) == (("gps", "speed"), ("own.sdfo1", "own.map1"))
    assert (one.sends, one.receives, one.outputs) == ((("own.map1", "node2"),), (), ())
    assert two.receives == (("own.map1", "node1"),)
    assert two.sends == (("union1", "node3"),)
    assert three.outputs == ("output1", "output2", "output3")
    assert [(c.stream, c.size_bytes, [h.name for h in c.hops]) for c in compilation.crossings] == [
        ("own.map1", 52, ["bus1"]),
        ("union1", 54, ["bus1", "gw", "bus2"]),
    ]
    assert compilation.crossings[1].delay == 2 * 925_000 + 500_000
    assert [hop.kind for hop in compilation.crossings[1].hops] == [
        HopKind.BUS,
        HopKind.GATEWAY,
        HopKind.BUS,
    ]


def test_a_stream_goes_once_to_each_node_that_reads_it() -> None:
    query = parse_query(
        """
query: test
sources: {s: {schema: {v: int}, rate: 1 per 1 s}}
operators:
  a: {filter: v > 0, from: s, cost: 1 us}
  b: {filter: v > 1, from: a, cost: 1 us}
  c: {filter: v > 2, from: a, cost: 1 us}
  d: {filter: v > 3, from: a, cost: 1 us}
outputs:
  o: {from: b, deadline: 1 s}
  p: {from: c, deadline: 1 s}
  q: {from: d, deadline: 1 s}
"""
    ).query
    vehicle = parse_vehicle(
        """
vehicle: test
nodes: {n1: {}, n2: {}, n3: {}}
buses: {can: {kind: can, bit_rate: 1 Mbit/s, nodes: [n1, n2]}}
links: {wire: {ends: [n1, n3], speed: 1 Mbit/s}}
sensors: {s: n1}
pins: {b: n2, c: n2, d: n3}
"""
    ).vehicle
    compilation = compiled_until(split, query, vehicle)
    assert [(c.stream, c.receiver, c.hops[0].name) for c in compilation.crossings] == [
        ("a", "n2", "can"),
        ("a", "n3", "wire"),
    ]
    # 12 bytes: two frames of 135 and 95 bits on the bus; 96 bits on the link.
    assert [c.delay for c in compilation.crossings] == [135_000 + 95_000, 96_000]
