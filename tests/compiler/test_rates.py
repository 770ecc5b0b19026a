"""The pass ``rates``: tuples per second of every stream at worst."""

from __future__ import annotations

import pytest
from tests.compiler.build import compiled_until, one_node

from headway.compiler.utilisation import rates
from headway.files import parse_query

TEXT = """
query: test
sources:
  fast: {schema: {id: int}, rate: 10 per 100 ms, jitter: 30 ms}
  slow: {schema: {id: int}, rate: 1 per 100 ms}
  radio: {schema: {id: int}, rate: 1000 per 1 s, shed: {at_most: 4 per 100 ms, value: id}}
  rare: {schema: {id: int}, rate: 2 per 1 s, shed: {at_most: 4 per 100 ms, value: id}}
operators:
  half: {filter: id > 0, from: fast, selectivity: 0.5, cost: 1 us}
  both: {union: [half, slow], cost: 1 us}
  pairs: {join: {a: both, b: radio}, within: 1 ms, select: {id: a.id}, selectivity: 2,
          most_outputs: 9, cost: 1 us}
  few: {join: {a: slow, b: radio}, within: 1 ms, select: {id: a.id}, partners: {a: 1}, cost: 1 us}
  means: {aggregate: {n: count(*)}, from: fast, window: 2 s, every: 500 ms, selectivity: 0.1,
          cost: 1 us}
outputs:
  o1: {from: pairs, deadline: 1 s}
  o2: {from: few, deadline: 1 s}
  o3: {from: means, deadline: 9 s}
  o4: {from: rare, deadline: 1 s}
"""


def test_rates_by_stream() -> None:
    query = parse_query(TEXT).query
    found = compiled_until(rates, query, one_node(query)).rates
    assert found == pytest.approx(
        {
            "fast": 100,
            "slow": 10,
            "radio": 40,  # what the load shedder lets through
            "rare": 2,  # less than the load shedder would let through
            "half": 50,
            "both": 60,
            "pairs": 200,
            "few": 10,  # one pair for each tuple of slow, though 50 tuples enter
            "means": 100 * 0.1 * 4,  # each tuple falls into four windows
        }
    )


def test_without_a_vehicle_nothing_is_known() -> None:
    assert compiled_until(rates, parse_query(TEXT).query).rates == {}
