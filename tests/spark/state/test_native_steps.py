"""Compiled code in the steps of a stream: what Python's give and one uncut run gives, from states
as bytes after every step."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.cases import SOURCES, random_queries
from tests.contract.native import NATIVE_CASES, cases_query, without_refused
from tests.contract.native_users import with_twins
from tests.contract.random_queries import ALL, random_recording
from tests.contract.recordings import Recording
from tests.exploring import examples
from tests.native.needed import needs_compiler
from tests.spark.state.small_fleet import both, shown, table, waiting, window
from tests.spark.state.steps import Answers, cut_up, uncut

from headway.compiler import compile_query
from headway.errors import DataError, EnvironmentMissing
from headway.model.expression import Column, PythonCall, Sql
from headway.model.operators import Aggregate, Input, Map, UserDefined
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, SECOND
from headway.model.query import Output, Query, Source
from headway.model.schema import DataType, schema
from headway.native.toolchain import BuildMode
from headway.spark.state import step_programs
from headway.spark.state.state_sections import NATIVE_FORM, form_of
from headway.spark.state.step_programs import program_file, step_program
from headway.spark.state.vehicle_states import states_from
from headway.spark.state.vehicle_steps import StepCounts, StepInput, VehicleSteps, vehicle_steps

pytestmark = needs_compiler
SEEDS = st.integers(0, 2**32)


def native(plan: Plan, **options: Any) -> VehicleSteps:
    program = step_program(plan, mode=BuildMode.DEBUG)
    assert program.library is not None, program.reason
    return vehicle_steps(plan, program=program.library, **options)


def recorded(query: Query, draw: random.Random) -> Recording:
    """Some tuples have no timestamp."""
    found = random_recording(draw, query, vehicles=3).tuples
    return Recording(
        tuple(
            one._replace(row=(None, *one.row[1:])) if draw.random() < 0.05 else one for one in found
        )
    )


def check(plan: Plan, steps: VehicleSteps, draw: random.Random) -> Answers:
    recording = recorded(plan.query, draw)
    expected = uncut(plan, recording)
    assert cut_up([steps], plan, recording, draw) == expected
    return expected


# ---------------------------------------------------------------- the same as Python


@pytest.fixture(scope="module", params=SOURCES)
def every_kind(request: pytest.FixtureRequest) -> Iterator[tuple[Plan, VehicleSteps, VehicleSteps]]:
    """A query with every operator that is compiled; Python's steps and compiled ones."""
    plan = compile_query(cases_query(NATIVE_CASES, SOURCES[request.param]))
    with with_twins(plan) as twins:
        yield plan, vehicle_steps(plan), native(twins)


@examples(8)
@given(seed=SEEDS)
def test_every_operator(every_kind: tuple[Plan, VehicleSteps, VehicleSteps], seed: int) -> None:
    plan, python, compiled = every_kind
    expected = check(plan, compiled, random.Random(seed))
    assert expected == check(plan, python, random.Random(seed))


@examples(2)
@given(seed=SEEDS)
def test_random_queries(seed: int) -> None:
    plan = compile_query(without_refused(random_queries(seed, 6, ALL)))
    with with_twins(plan) as twins:
        steps = native(twins)
        for turn in range(6):
            check(plan, steps, random.Random(seed + turn))


def test_a_fleet_of_ten_thousand() -> None:
    """A tuple of each now and then; the windows of all close at the end."""
    steps = native(window())
    names = [f"car{number:05}" for number in range(10_000)]
    draw = np.random.default_rng(5)
    state: list[bytes] = []
    count = 0
    for turn in range(4):
        some = draw.choice(10_000, size=3_000, replace=False).tolist()
        count += len(some)
        gave = steps.step(StepInput({"s0": table(*((names[one], turn, 1) for one in some))}, state))
        assert gave.outputs["out"].num_rows == 0
        assert len(gave.changed) == len(some)
        state.append(gave.delta)
    rows = shown(steps.finish(state).outputs["out"])
    assert [vehicle for vehicle, _, _ in rows] == sorted({vehicle for vehicle, _, _ in rows})
    assert sum(value for _, _, value in rows) == count
    assert len(rows) == gave.counts.vehicles


# ---------------------------------------------------------------- what waits and what is let go


def test_a_silent_vehicle_goes_on_by_the_clock() -> None:
    steps = native(waiting(), hold=100 * MILLISECOND)
    first = StepInput({"s0": table(("a", 1, 10), ("b", 1, 20))}, None, clock=1_000_000)
    gave = steps.step(first)
    assert gave.counts.held == 2
    heard = StepInput({"s0": table(("b", 2, 21))}, gave.state, clock=1_100_000)
    gave = steps.step(heard)
    assert shown(gave.outputs["out"]) == [("a", 1, 10)]
    assert gave.counts == StepCounts(tuples=1, vehicles=2, held=2)


def test_only_vehicles_with_something_to_do_are_touched() -> None:
    steps = native(both())
    gave = steps.step(StepInput({"s0": table(("a", 1, 10), ("b", 1, 20))}, None))
    before = gave.states.engines.to_pylist()
    assert before == [b"", b""]  # nothing could be run yet
    gave = steps.step(StepInput({"s1": table(("b", 3, 21))}, gave.state))
    assert gave.changed.vehicles.to_pylist() == ["b"]
    assert gave.states.engines.to_pylist()[0] == b""


def test_texts_that_do_not_fit_are_told_in_the_order_of_arrival() -> None:
    plan = text_plan("string(3)")
    assert native(plan).fingerprint != vehicle_steps(plan).fingerprint
    texts = pa.array(["much", "abc", "longer", None, "€€", "x"], pa.string())
    given = pa.table(
        {
            "vehicle": pa.array(["b", "a", "a", "a", "b", "b"]),
            "#at": pa.array([3, 1, 2, 0, 1, 2]),
            "#position": pa.array(range(6)),
            "timestamp": pa.array([1, 2, 3, 4, 5, 6]),
            "name": texts,
        }
    )
    gave = native(plan).step(StepInput({"s0": given}, None))
    python = vehicle_steps(plan).step(StepInput({"s0": given}, None))
    assert gave.side.equals(python.side)
    assert gave.side.column("timestamp").cast(pa.int64()).to_pylist() == [3, 5, 1]
    last = native(plan).finish(gave.state).outputs["out"]
    assert last.equals(vehicle_steps(plan).finish(python.state).outputs["out"])
    assert last.column("name").to_pylist() == ["abc", "x"]


def text_plan(kind: str) -> Plan:
    longest = Aggregate(
        name="x",
        inputs=(Input("input", "s0"),),
        window=10 * MILLISECOND,
        every=10 * MILLISECOND,
        columns=(Column("name", Sql("max(name)")),),
    )
    return compile_query(
        Query(
            name="texts",
            sources=(Source(name="s0", schema=schema(name=kind), lateness=SECOND),),
            steps=(longest,),
            outputs=(Output(name="out", stream="x", deadline=SECOND),),
        )
    )


# ---------------------------------------------------------------- states


def test_a_wrong_state_is_refused() -> None:
    steps = native(window())
    given = {"s0": table(("a", 1, 1), ("b", 1, 2))}
    state = steps.step(StepInput(given, None)).state
    assert form_of(states_from(state).fingerprint) == NATIVE_FORM
    with pytest.raises(DataError, match="a state of another program"):
        vehicle_steps(window()).step(StepInput({}, state))
    with pytest.raises(DataError, match="a state of another program"):
        native(both()).step(StepInput({}, state))
    with pytest.raises(DataError, match="a damaged state"):
        steps.finish(state[:-1])
    # A container that is sound, with an engine's state that is not.
    for wrong in (b"x", b"\xff" * 40, states_from(state).engines[0].as_py() + b"\0"):
        whole = states_from(state)
        engines = pa.array([whole.engines[0].as_py(), wrong], pa.large_binary())
        broken = replace(whole, engines=engines).to_bytes()
        with pytest.raises(DataError, match="a state that is none of this query's"):
            steps.finish(broken)
        assert shown(steps.finish(state).outputs["out"]) == [("a", 1, 1), ("b", 1, 2)]


def test_a_state_follows_what_it_holds() -> None:
    """Not the largest vehicle that came before it."""
    plan = compile_query(
        Query(
            name="groups",
            sources=(Source(name="s0", schema=schema(v="int"), lateness=0),),
            steps=(
                Aggregate(
                    name="x",
                    inputs=(Input("input", "s0"),),
                    window=SECOND,
                    every=SECOND,
                    by=("v",),
                    columns=(Column("n", Sql("count(*)")),),
                ),
            ),
            outputs=(Output(name="out", stream="x", deadline=SECOND),),
        )
    )
    steps = native(plan)
    many = [("a", 1, value) for value in range(5000)]
    gave = steps.step(StepInput({"s0": table(*many, ("b", 1, 1))}, None))
    large, small = (len(one) for one in gave.states.engines.to_pylist())
    assert large > 5000 * 20
    assert small < 200
    assert steps.finish(gave.state).outputs["out"].num_rows == 5001


# ---------------------------------------------------------------- which program


def test_a_program_is_shipped_as_bytes() -> None:
    program = step_program(window(), mode=BuildMode.DEBUG).library
    assert program is not None
    path = program_file(program)
    assert path.read_bytes() == program
    path.write_bytes(b"half")
    program_file.cache_clear()
    assert program_file(program) == path
    assert path.read_bytes() == program
    assert [one for one in path.parent.iterdir() if one.name.startswith(f".{path.stem}")] == []


def test_python_runs_what_cannot_be_compiled_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free = step_program(text_plan("string"))
    assert free.library is None
    assert "sources.s0.schema.name: a string without a length" in free.reason
    call = PythonCall("math:floor", ("v",), DataType.BIGINT)
    query = Query(
        name="python",
        sources=(Source(name="s0", schema=schema(v="double")),),
        steps=(Map(name="x", inputs=(Input("input", "s0"),), columns=(Column("v", call),)),),
        outputs=(Output(name="out", stream="x", deadline=SECOND),),
    )
    refused = step_program(compile_query(query))
    assert refused.library is None
    assert "math:floor cannot run in native code" in refused.reason

    def missing(*_: object) -> None:
        raise EnvironmentMissing("There is no compiler.")

    monkeypatch.setattr(step_programs, "meaning_program", missing)
    assert step_program(window()) == step_programs.StepProgram(None, "There is no compiler.")


COUNTING = """
#pragma once
#include "headway/user_operator.hpp"
#include "streams.hpp"

class Counting : public headway::UserOperator<users::Speed, users::Counted> {
 public:
  void start() override { seen_ = 0; }
  void process(const users::Speed& row) override {
    users::Counted out{};
    out.v = headway::known(++seen_);
    (void)row;
    emit(out);
  }

 protected:
  std::int32_t seen_ = 0;
};

class CountingOn : public Counting {
 public:
  void save(headway::StateWriter& writer) const override { writer.put(seen_); }
  bool load(headway::StateReader& reader) override { return reader.get(seen_); }
};

class CountingFurther : public CountingOn {};
"""


def test_a_class_in_cpp_must_save_what_it_remembers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One program serves many vehicles: what a class keeps for itself would go from one to the
    other."""
    (tmp_path / "counting.hpp").write_text(COUNTING)
    monkeypatch.syspath_prepend(tmp_path)

    def plan(name: str) -> Plan:
        step = UserDefined(
            name="counted",
            inputs=(Input("input", "speed"),),
            native=f"counting.hpp:{name}",
            schema=schema(v="int"),
        )
        source = Source(name="speed", schema=schema(v="int"))
        output = Output(name="out", stream="counted", deadline=SECOND)
        return compile_query(
            Query(name="users", sources=(source,), steps=(step,), outputs=(output,))
        )

    forgetful = step_program(plan("Counting"), mode=BuildMode.DEBUG)
    assert forgetful.library is None
    assert "operators.counted: its class in C++ does not save what it remembers" in forgetful.reason
    steps = native(plan("CountingFurther"))
    gave = steps.step(StepInput({"speed": table(("a", 1, 0), ("b", 1, 0), ("a", 2, 0))}, None))
    gave = steps.step(StepInput({"speed": table(("a", 3, 0), ("b", 3, 0))}, gave.state))
    assert shown(gave.outputs["out"]) == [("a", 3, 3), ("b", 3, 2)]
