"""What a task of a batch does with its vehicles: whole recordings, in pieces of any size."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.cases import SOURCES
from tests.contract.native import NATIVE_CASES, cases_query
from tests.contract.native_users import with_twins
from tests.contract.random_queries import ALL, Shape, random_query, random_recording
from tests.contract.recordings import Recording
from tests.exploring import examples
from tests.native.needed import needs_compiler
from tests.spark.state.small_fleet import window
from tests.spark.state.steps import Answers, uncut

from headway.compiler import compile_query
from headway.engine.stepwise import Stepwise
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.native.toolchain import BuildMode
from headway.spark.lowering.engine_region import EXIT, replayed, struct_name
from headway.spark.lowering.frames import arrow_types
from headway.spark.lowering.side_rows import SIDE_EXIT
from headway.spark.state.step_programs import step_program

SEEDS = st.integers(0, 2**32)


def batches(plan: Plan, recording: Recording, cut: random.Random) -> Iterator[Any]:
    """As Spark hands them to a task: by vehicle, in order of arrival; some are empty."""
    sources = list(plan.query.sources)
    places = {source.name: place for place, source in enumerate(sources)}
    tuples = [
        (vehicle, places[name], at // MICROSECOND, row)
        for vehicle in recording.vehicles
        for at, name, row in recording.arrivals(plan, vehicle)
    ]
    columns: dict[str, Any] = {
        "vehicle": pa.array([one[0] for one in tuples], pa.string()),
        "#source": pa.array([one[1] for one in tuples], pa.int32()),
        "#at": pa.array([one[2] for one in tuples], pa.int64()),
        "#position": pa.nulls(len(tuples), pa.int64()),
    }
    for place, source in enumerate(sources):
        kinds = arrow_types(source.schema)
        names = [name for name, _ in kinds]
        rows = [
            dict(zip(names, one[3], strict=True)) if one[1] == place else None for one in tuples
        ]
        columns[struct_name(place)] = pa.array(rows, pa.struct(kinds))
    whole = pa.RecordBatch.from_pydict(columns)
    first = 0
    while first < len(tuples):
        count = cut.choice((0, 1, 2, 7, 30, 1000))
        yield whole.slice(first, count)
        first += count


def replay(
    plan: Plan, recording: Recording, cut: random.Random, watched: tuple[str, ...], program: Any
) -> tuple[Answers, dict[tuple[str, str], list[tuple[bool, int]]]]:
    """The tuples of all vehicles, and the marks and times of the outputs'."""
    answers: Answers = defaultdict(list)
    marks: dict[tuple[str, str], list[tuple[bool, int]]] = defaultdict(list)
    names = [output.name for output in plan.query.outputs]
    for batch in replayed(plan, watched, program)(batches(plan, recording, cut)):
        for row in batch.to_pylist():
            place, vehicle = row[EXIT], row["vehicle"]
            if place == SIDE_EXIT:
                kind, *side = row["#side"].values()
                answers[vehicle, kind].append(repr(tuple(side)))
                continue
            found = tuple(row[struct_name(place)].values())
            answers[vehicle, names[place]].append(repr(found))
            marks[vehicle, names[place]].append((row["#late"], row["#at"]))
    return dict(answers), dict(marks)


def meant_marks(
    plan: Plan, recording: Recording, watched: tuple[str, ...]
) -> dict[tuple[str, str], list[tuple[bool, int]]]:
    marks: dict[tuple[str, str], list[tuple[bool, int]]] = defaultdict(list)
    names = [output.name for output in plan.query.outputs]
    for vehicle in recording.vehicles:
        engine = Stepwise(plan, watched=watched)
        for arrival in recording.arrivals(plan, vehicle):
            engine.take(*arrival)
        engine.finish()
        for one in engine.take_results():
            marks[vehicle, names[one.output]].append((one.late, one.at // MICROSECOND))
    return dict(marks)


@examples(25)
@given(SEEDS)
def test_python_in_pieces(seed: int) -> None:
    draw = random.Random(seed)
    plan = compile_query(random_query(draw, Shape(ALL)))
    recording = random_recording(draw, plan.query, vehicles=4)
    answers, marks = replay(plan, recording, draw, ("o0",), None)
    assert answers == uncut(plan, recording)
    assert marks == meant_marks(plan, recording, ("o0",))


@pytest.fixture(scope="module")
def every_kind() -> Iterator[tuple[Plan, Plan, bytes, tuple[str, ...]]]:
    """A query with every operator that is compiled, its twin and its program."""
    plan = compile_query(cases_query(NATIVE_CASES, SOURCES["plain"]))
    watched = tuple(output.stream for output in plan.query.outputs)
    with with_twins(plan) as twins:
        program = step_program(twins, watched, mode=BuildMode.DEBUG)
        assert program.library is not None, program.reason
        yield plan, twins, program.library, watched


@needs_compiler
@examples(6)
@given(seed=SEEDS)
def test_compiled_in_pieces(
    every_kind: tuple[Plan, Plan, bytes, tuple[str, ...]], seed: int
) -> None:
    plan, twins, program, watched = every_kind
    draw = random.Random(seed)
    recording = random_recording(draw, plan.query, vehicles=4)
    answers, marks = replay(twins, recording, draw, watched, program)
    assert answers == uncut(plan, recording)
    assert marks == meant_marks(plan, recording, watched)


def test_no_tuples() -> None:
    assert list(replayed(window(), (), None)(iter(()))) == []
