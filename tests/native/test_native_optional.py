"""Imprecise computation in native code: optional parts run in slack and are cut at the deadline,
piece by piece as in the Python engine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.reserving.small import MS, instants
from tests.exploring import examples
from tests.native.needed import needs_compiler, needs_sanitizers
from tests.native.same_runs import seen
from tests.native.test_native_own_fusion import CPP as HALFWAY
from tests.native.test_native_own_fusion import Halfway
from tests.native.trace_runs import Case, first_difference, native_lines, python_lines
from tests.waiting import PATIENCE_S

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.nodes.launcher import Launcher
from headway.engine.results import RunResult, summary_data
from headway.engine.trace import EventKind
from headway.errors import QueryError
from headway.files import parse_query
from headway.model.operators import Fusion
from headway.model.plan import Plan
from headway.model.user_operator import Row
from headway.model.vehicle import Node, Vehicle
from headway.native.cpp_program import write_program
from headway.native.native_build import build_car
from headway.native.native_engine import NativeEngine
from headway.native.native_gaps import query_problems
from headway.native.program_layout import vehicle_layout
from headway.native.toolchain import BuildMode, Target

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
    parameters: {{steps: 4, of_now: 0.5}}
    optional: {{time: 3 ms, piece: 1 ms}}
  several:{ONE}    inputs: {{input: lidar}}
    cost: 500 us
  scaled: {{map: {{v: v * 20}}, from: several, cost: 100 us}}
  behind:{ONE}    inputs: {{input: scaled}}
    cost: 300 us
    parameters: {{steps: 2, of_now: 0.5}}
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


def plan_of(text: str = QUERY, *, cores: int = 1, costs: bool = True) -> Plan:
    """``costs``: decisions and preemptions take time."""
    query = parse_query(text).query
    sensors = tuple((source.name, "ecu") for source in query.sources)
    node = Node(name="ecu", cores=cores)
    if costs:
        node = replace(node, decision_cost=7_000, preemption_cost=11_000)
    return compile_query(query, Vehicle(name="one", nodes=(node,), sensors=sensors))


@cache
def engine(policy: str, cores: int) -> NativeEngine:
    return NativeEngine(plan=plan_of(cores=cores), policy=policy, mode=BuildMode.DEBUG)


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


RUNS = (("s-edf", 1), ("s-edf", 2), ("fifo+", 1), ("rop-edf-1", 1), ("rop-edf-2", 1))


@pytest.mark.parametrize(("policy", "cores"), RUNS)
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


def test_everything_happens_in_a_busy_run() -> None:
    result = both(engine("s-edf", 1), busy_arrivals())
    shares = precision(result)
    assert shares["also"] is None
    for name in ("best", "last", "joined"):
        share = shares[name]
        assert share is not None
        assert 0 < share < 1, name
    assert shares["better"] == shares["best"]
    assert instants(result, EventKind.CUT)


@needs_sanitizers
def test_the_same_under_sanitizers(tmp_path: Path) -> None:
    cases = [
        Case(plan=plan_of(cores=cores), arrivals=busy_arrivals(), policy=policy)
        for policy, cores in RUNS
    ]
    for case, native in zip(
        cases, native_lines(cases, tmp_path, mode=BuildMode.SANITIZED), strict=True
    ):
        python = python_lines(case)
        assert python == native, first_difference(python, native)


# ---------------------------------------------------------------- worked out by hand

ALONE = f"""query: alone
schemas:
  A: {{v: double}}
sources:
  radar: {{schema: A, rate: 1 per 40 ms}}
  v2v: {{schema: A, rate: 1 per 40 ms}}
operators:
  guess:{ONE}    inputs: {{input: radar}}
    cost: 2 ms
    parameters: {{steps: 9}}
    optional: {{time: 7 ms, piece: 1 ms}}
  other: {{map: {{v: v}}, from: v2v, cost: 1 ms}}
outputs:
  best: {{from: guess, deadline: 8 ms}}
  also: {{from: other, deadline: 30 ms}}
"""


@pytest.mark.parametrize(
    ("other", "at", "pieces"),
    [(None, 8, 6), (7.5, 8, 6), (3.5, 4, 2), (3.0, 3, 1), (1.0, 2, 0)],
    ids=["at the deadline", "under way", "when something comes", "at a border", "left out"],
)
def test_when_it_is_cut(other: float | None, at: int, pieces: int) -> None:
    native = NativeEngine(plan=plan_of(ALONE, costs=False), mode=BuildMode.DEBUG)
    given = [came(0, "radar"), *([] if other is None else [came(other, "v2v")])]
    result = both(native, given)
    (record,) = [one for name, one in result.outputs.items() if name == "best"]
    assert record.completed == [at * MS]
    assert record.rows == [(0, 1.0 - 0.5**pieces)]
    assert instants(result, EventKind.CUT) == [at]
    assert precision(result)["best"] == pytest.approx(pieces / 7)


def test_without_costs_there_is_no_optional_part() -> None:
    native = NativeEngine(plan=plan_of(ALONE), mode=BuildMode.DEBUG, charged=False)
    result = both(native, [came(0, "radar")])
    assert result.outputs["best"].rows == [(0, 0.0)]
    assert all("precision" not in one for one in summary_data(result.summary())["outputs"])


# ---------------------------------------------------------------- by the wall clock


def test_a_node_reports_its_precision(tmp_path: Path) -> None:
    """How much is done depends on the machine; what was asked for does not."""
    build = tmp_path / "build"
    build_car(plan_of(ALONE), build, targets={"ecu": Target.NATIVE})
    recording, out = tmp_path / "recording", tmp_path / "out"
    recording.mkdir()
    lines = [json.dumps({"timestamp": 20_000 * n, "v": 1.0}) for n in range(9)]
    (recording / "radar.jsonl").write_text("\n".join(lines))
    (recording / "v2v.jsonl").write_text(lines[3])
    with Launcher(build=build, outputs=out, inputs=recording) as launcher:
        launcher.start()
        ended = launcher.wait(PATIENCE_S)["ecu"]
    assert ended.report is not None, ended.errors
    pieces = ended.report["precision"]
    assert pieces.keys() == {"guess"}
    assert pieces["guess"]["asked"] == 9 * 7
    rows = [json.loads(line)["row"] for line in (out / "best.jsonl").read_text().splitlines()]
    refined = {1.0 - 0.5**done: done for done in range(8)}
    assert pieces["guess"]["done"] == sum(refined[row["v"]] for row in rows)


# ---------------------------------------------------------------- a fusion

FUSED = """query: fused
schemas:
  Seen: {id: bigint, x: double}
  Out: {id: bigint, x: double, weight: double}
sources:
  a: {schema: Seen, rate: 1 per 10 ms}
  b: {schema: Seen, rate: 1 per 10 ms}
operators:
  halfway:
    fusion: "tests.native.test_native_optional:RefinedHalfway"
    native: "halfway.hpp:mine::Halfway"
    inputs: {first: a, second: b}
    schema: Out
    object: id
    front: 5 ms
    rear: 90 ms
    timeout: 3 ms
    most_outputs: 2
    cost: 1 ms
    parameters: {weight: 0.3}
    optional: {time: 3 ms, piece: 1 ms}
outputs:
  estimate: {from: halfway, deadline: 10 ms}
"""
REFINES = """
  bool refine_piece(headway::WaitingRows<Out> results, std::uint32_t piece) override {
    for (Out& out : results) out.weight.value += 1.0 + piece;
    return true;
  }
"""


class RefinedHalfway(Halfway):
    """Adds the number of each piece to the weight."""

    def refine(self, rows: Sequence[Row], now: int) -> Iterator[Sequence[Row]]:
        for piece in count(1):
            rows = [(at, key, x, weight + float(piece)) for at, key, x, weight in rows]
            yield rows


def test_a_fusion_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "halfway.hpp").write_text(HALFWAY.replace(" protected:\n", f" protected:{REFINES}"))
    monkeypatch.chdir(tmp_path)
    native = NativeEngine(plan=plan_of(FUSED), mode=BuildMode.DEBUG)
    given = [
        Arrival(time * MS, "ab"[time % 2], (time * 1000, time % 3, float(time)))
        for time in range(0, 200, 7)
    ]
    result = both(native, given)
    assert {row[3] for row in result.outputs["estimate"].rows} == {0.3 + 1.0 + 2.0 + 3.0}


# ---------------------------------------------------------------- what cannot be


def test_a_class_without_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rough.hpp").write_text("class Rough {};")
    (tmp_path / "halfway.hpp").write_text(HALFWAY)
    monkeypatch.chdir(tmp_path)
    named = "tests/native/anytime_users.hpp:anytime_users::Anytime"
    for text, name in (
        (ALONE.replace(named, "rough.hpp:Rough"), "Rough"),
        (FUSED, "mine::Halfway"),
    ):
        layout = vehicle_layout(plan_of(text))
        with pytest.raises(QueryError, match=f"{name} has no optional part; override refine_piece"):
            write_program(layout)


def test_fusions_that_come_with_headway_have_none() -> None:
    (fusion,) = parse_query(FUSED).query.operators
    assert isinstance(fusion, Fusion)
    built_in = "headway.fusion.own_vehicle:OwnVehicleFusion"
    own = replace(fusion, native=None, implementation=built_in)
    (problem,) = query_problems([], [own])
    assert "OwnVehicleFusion has no optional part" in str(problem)
    assert problem.at == "operators.halfway.optional"
