"""A vehicle's tuples that come long after its later ones: as they come, or as an upload apart."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.random_queries import ALL, Shape, random_query, random_recording
from tests.contract.recordings import Recording
from tests.exploring import examples
from tests.spark.state.small_fleet import shown, table, waiting, window
from tests.spark.state.steps import Answers, add, pieces, uncut

from headway.compiler import compile_query
from headway.engine.stepwise import Stepwise
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND
from headway.spark.state.vehicle_hashes import vehicle_hashes
from headway.spark.state.vehicle_steps import StepInput, VehicleSteps, vehicle_steps

HOUR_MS = 3_600_000
HOUR = 3600 * SECOND
YESTERDAY = (("a", 1, 1), ("a", 9, 2), ("a", 12, 3))
TODAY = tuple((vehicle, at + 24 * HOUR_MS, value + 10) for vehicle, at, value in YESTERDAY)
BOTH_DAYS = [
    ("a", 1, 3), ("a", 12, 3), ("a", 1 + 24 * HOUR_MS, 23), ("a", 12 + 24 * HOUR_MS, 13)
]  # fmt: skip


def streamed(steps: VehicleSteps, *batches: Sequence[tuple[str, int, int]]) -> tuple[Any, Any]:
    """What comes out, in order of time; and how many tuples were late."""
    state: bytes | None = None
    rows, late = [], 0
    for one in batches:
        gave = steps.step(StepInput({"s0": table(*one)}, state))
        state = gave.state
        rows += shown(gave.outputs["out"])
        late += gave.side.num_rows
    assert state is not None
    rows += shown(steps.finish(state).outputs["out"])
    return sorted(rows), late


def test_an_engine_that_sees_all_at_once_counts_all() -> None:
    engine = Stepwise(window())
    for _, at, value in (*YESTERDAY, *TODAY):
        engine.take(at * MILLISECOND, "s0", (at * 1000, value))
    engine.finish()
    found = [("a", one.row[0] // 1000, one.row[1]) for one in engine.take_results()]
    assert found == BOTH_DAYS
    assert streamed(vehicle_steps(window()), YESTERDAY, TODAY) == (BOTH_DAYS, 0)


def test_as_it_comes_it_is_late() -> None:
    rows, late = streamed(vehicle_steps(window()), TODAY, YESTERDAY)
    assert rows == BOTH_DAYS[2:]
    assert late == len(YESTERDAY)


def test_another_vehicle_is_never_delayed() -> None:
    other = tuple(("b", at, value) for _, at, value in YESTERDAY)
    rows, late = streamed(vehicle_steps(window()), TODAY, other)
    assert rows == sorted([("b", 1, 3), ("b", 12, 3), *BOTH_DAYS[2:]])
    assert late == 0


@pytest.mark.parametrize(
    "batches",
    [
        (TODAY, YESTERDAY),
        (YESTERDAY, TODAY),
        (TODAY[:1], YESTERDAY[:1], TODAY[1:], YESTERDAY[1:]),
        (TODAY[:1], (*YESTERDAY[:2], *TODAY[1:]), YESTERDAY[2:]),
        ((*TODAY, *YESTERDAY),),
    ],
)
def test_as_an_upload_of_its_own_all_counts(batches: tuple[Any, ...]) -> None:
    steps = vehicle_steps(window(), upload_gap=HOUR)
    assert streamed(steps, *batches) == (BOTH_DAYS, 0)


def test_uploads_of_several_days_each_after_the_later_one() -> None:
    days = [tuple(("a", at + 24 * HOUR_MS * day, day) for at in (1, 4, 15)) for day in (3, 2, 1, 0)]
    rows, late = streamed(vehicle_steps(window(), upload_gap=HOUR), *days)
    assert late == 0
    assert rows == [
        ("a", at + 24 * HOUR_MS * day, value)
        for day in range(4)
        for at, value in ((1, 2 * day), (15, day))
    ]


def test_what_is_late_by_less_than_the_gap_is_late() -> None:
    steps = vehicle_steps(window(), upload_gap=HOUR)
    rows, late = streamed(steps, TODAY, [("a", 24 * HOUR_MS - 1000, 5)])
    assert (rows, late) == (BOTH_DAYS[2:], 1)


def test_it_stays_in_the_partition_of_its_vehicle() -> None:
    steps = vehicle_steps(waiting(), upload_gap=HOUR)
    gave = steps.step(StepInput({"s0": table(*TODAY)}, None))
    gave = steps.step(StepInput({"s0": table(*YESTERDAY)}, gave.state))
    assert gave.counts.vehicles == 2
    (mine,) = vehicle_hashes(pa.array(["a"]))
    kept = steps.step(StepInput({}, gave.state, keep=lambda hashes: hashes == mine))
    assert kept.counts.vehicles == 2
    assert kept.counts.held == 6
    gone = steps.step(StepInput({}, gave.state, keep=lambda hashes: hashes != mine))
    assert gone.counts.vehicles == 0
    partners = {"s1": table(*YESTERDAY, *TODAY)}
    done = steps.finish(steps.step(StepInput(partners, kept.state)).state)
    vehicles = set(done.outputs["out"]["vehicle"].to_pylist())
    assert vehicles <= {"a"}


# ---------------------------------------------------------------- whatever the query


def next_day(recording: Recording, before: Recording) -> Recording:
    """The same drive, a day after the end of another."""
    ended = max((one.arrived_at for one in before.tuples), default=0)
    begins = min((one.arrived_at for one in recording.tuples), default=0)
    by = ended - begins + 24 * HOUR // MICROSECOND
    return Recording(
        tuple(
            one._replace(arrived_at=one.arrived_at + by, row=(one.row[0] + by, *one.row[1:]))
            for one in recording.tuples
        )
    )


def counted(answers: Answers) -> dict[tuple[str, str], list[str]]:
    return {key: sorted(rows) for key, rows in answers.items() if rows}


@examples(40)
@given(st.integers(0, 2**32))
def test_two_drives_in_the_wrong_order_give_what_each_gives_alone(seed: int) -> None:
    draw = random.Random(seed)
    plan = compile_query(random_query(draw, Shape(ALL)))
    early = random_recording(draw, plan.query, vehicles=2)
    late = next_day(random_recording(draw, plan.query, vehicles=2), early)
    wanted: Answers = defaultdict(list)
    for drive in (early, late):
        for key, rows in uncut(plan, drive).items():
            wanted[key] += rows
    steps = vehicle_steps(plan, upload_gap=HOUR)
    answers: Answers = defaultdict(list)
    state: bytes | None = None
    for drive in (late, early):
        for tables in pieces(plan, drive, draw):
            gave = steps.step(StepInput(tables, state))
            state = gave.state
            add(answers, gave)
    assert state is not None
    add(answers, steps.finish(state))
    assert counted(answers) == counted(wanted)
