"""Imprecise computation in native code: optional parts run in slack and are cut at the deadline,
piece by piece as in the Python engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.reserving.small import MS, instants
from tests.exploring import examples
from tests.native.needed import needs_compiler, needs_sanitizers
from tests.native.same_runs import seen

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult, summary_data
from headway.engine.trace import EventKind
from headway.errors import HeadwayError, QueryError
from headway.files import parse_query
from headway.model.plan import Plan
from headway.model.vehicle import Node, Vehicle
from headway.native.cpp_program import write_program
from headway.native.native_engine import NativeEngine
from headway.native.program_layout import vehicle_layout
from headway.native.toolchain import Mode

USER = """
    udo: "tests.native.anytime_users:{name}"
    native: "tests/native/anytime_users.hpp:anytime_users::{name}"
    schema: A
    most_outputs: 9
"""
ONE, TOGETHER = USER.format(name="Anytime"), USER.format(name="AnytimeTogether")
QUERY = f"""query: anytime
schemas:
  A: {{v: double}}
sources:
  radar: {{schema: A, rate: 1 per 10 ms}}
  lidar: {{schema: A, rate: 1 per 20 ms}}
  v2v: {{schema: A, rate: 1 per 10 ms}}
  left: {{schema: A, rate: 1 per 40 ms}}
  right: {{schema: A, rate: 1 per 40 ms}}
operators:
  guess:{ONE}    inputs: {{input: radar}}
    cost: 1 ms
    parameters: {{steps: 4}}
    optional: {{time: 3 ms, piece: 1 ms}}
  several:{ONE}    inputs: {{input: lidar}}
    cost: 500 us
  scaled: {{map: {{v: v * 20}}, from: several, cost: 100 us}}
  behind:{ONE}    inputs: {{input: scaled}}
    cost: 300 us
    parameters: {{steps: 2}}
    optional: {{time: 50 ms, piece: 700 us}}
  together:{TOGETHER}    inputs: {{left: left, right: right}}
    timeout: 5 ms
    cost: {{base: 1 ms, per_item: 500 us, most_items: 4, preempt: between_items}}
    parameters: {{steps: 99}}
    optional: {{time: 5 ms, piece: 1 ms}}
  other: {{map: {{v: v}}, from: v2v, cost: 1 ms}}
outputs:
  best: {{from: guess, deadline: 12 ms}}
  better: {{from: guess, deadline: 15 ms}}
  last: {{from: behind, deadline: 20 ms, criticality: soft}}
  joined: {{from: together, deadline: 30 ms, criticality: soft}}
  also: {{from: other, deadline: 30 ms, criticality: soft}}
"""
SOURCES = ("radar", "lidar", "v2v", "left", "right")

pytestmark = needs_compiler


def plan_of(text: str = QUERY, cores: int = 1) -> Plan:
    query = parse_query(text).query
    sensors = tuple((source.name, "ecu") for source in query.sources)
    node = Node(name="ecu", cores=cores, decision_cost=7_000, preemption_cost=11_000)
    return compile_query(query, Vehicle(name="one", nodes=(node,), sensors=sensors))


@cache
def engine(policy: str, cores: int, mode: Mode = Mode.DEBUG) -> NativeEngine:
    return NativeEngine(plan=plan_of(cores=cores), policy=policy, mode=mode)


def both(native: NativeEngine, arrivals: list[Arrival]) -> RunResult:
    """The native engine's result, which is the Python engine's."""
    python = Engine(plan=native.plan, policy=native.policy, charged=native.charged)
    wanted, result = seen(python.run(arrivals)), native.run(arrivals)
    found = seen(result)
    for part, value in wanted.items():
        assert found[part] == value, part
    return result


def precision(result: RunResult) -> dict[str, float | None]:
    return {one.output: one.precision for one in result.summary().outputs}


def came(time: float, source: str, value: float = 1.0) -> Arrival:
    return Arrival(int(time * MS), source, (int(time * MS) // 1000, value))


# ---------------------------------------------------------------- random arrivals

ARRIVALS = st.lists(
    st.tuples(
        st.integers(0, 1_200),  # tenths of a millisecond
        st.sampled_from(SOURCES),
        st.sampled_from([1.0, 1.0, 2.0, 3.0, 0.0, -1.0]),
        st.sampled_from([0, 0, 0, 5, 14]),  # how old it is, in milliseconds
    ),
    max_size=30,
)


@pytest.mark.parametrize(
    ("policy", "cores"),
    [("s-edf", 1), ("s-edf", 2), ("fifo+", 1), ("rop-edf-1", 1), ("rop-edf-2", 1)],
)
@examples(40)
@given(drawn=ARRIVALS)
def test_the_same_rows_precision_and_trace(
    policy: str, cores: int, drawn: list[tuple[int, str, float, int]]
) -> None:
    both(
        engine(policy, cores),
        [
            Arrival(time * MS // 10, source, (time * 100 - 1000 * age, value))
            for time, source, value, age in sorted(drawn)
        ],
    )


def busy_arrivals() -> list[Arrival]:
    """In which everything happens: parts are done, cut and left out; some end early."""
    found = []
    for number in range(60):
        start = 17.3 * number
        found += [came(start, "radar", float(number % 4)), came(start + 3.9, "lidar", 3.0)]
        found += [came(start + number % 5 + 0.5, "v2v"), came(start + 9, "left", -1.0)]
        if number % 2:
            found.append(came(start + 11, "right", 2.0))
    return sorted(found, key=lambda one: one.time)


@needs_sanitizers
@pytest.mark.parametrize("cores", [1, 2])
def test_the_same_under_sanitizers(cores: int) -> None:
    result = both(engine("s-edf", cores, Mode.DEBUG), busy_arrivals())
    shares = precision(result)
    assert shares["also"] is None
    assert all(0 < shares[name] < 1 for name in ("best", "last", "joined")), shares
    assert shares["better"] == shares["best"]
    assert instants(result, EventKind.CUT)
