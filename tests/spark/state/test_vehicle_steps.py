"""Micro-batches of a partition: cut anywhere, they give what one run over the whole gives."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.random_queries import ALL, Shape, random_query, random_recording
from tests.exploring import examples
from tests.spark.state.small_fleet import both, shown, table, waiting, window
from tests.spark.state.steps import cut_up, uncut

from headway.compiler import compile_query
from headway.errors import DataError
from headway.model.quantities import MILLISECOND, SECOND
from headway.spark.state.vehicle_hashes import Hashes, vehicle_hashes
from headway.spark.state.vehicle_states import Mask, merged_states, states_from
from headway.spark.state.vehicle_steps import StepCounts, StepInput, vehicle_steps

SEEDS = st.integers(0, 2**32)


@examples(60)
@given(SEEDS)
def test_where_it_is_cut_changes_nothing(seed: int) -> None:
    draw = random.Random(seed)
    plan = compile_query(random_query(draw, Shape(ALL)))
    recording = random_recording(draw, plan.query, vehicles=3)
    steps = [vehicle_steps(plan)]
    assert cut_up(steps, plan, recording, draw) == uncut(plan, recording)


# ---------------------------------------------------------------- one thing after another


def test_a_tuple_waits_for_the_other_source() -> None:
    steps = vehicle_steps(both())
    gave = steps.step(StepInput({"s0": table(("a", 1, 10), ("a", 5, 11), ("b", 1, 20))}, None))
    assert shown(gave.outputs["out"]) == []
    assert gave.counts == StepCounts(tuples=3, vehicles=2, held=3)
    gave = steps.step(StepInput({"s1": table(("a", 3, 12))}, gave.state))
    assert shown(gave.outputs["out"]) == [("a", 1, 10), ("a", 3, 12)]
    assert gave.counts == StepCounts(tuples=1, vehicles=2, held=2)
    gave = steps.step(
        StepInput({"s1": table(("a", 5, 13), ("a", 5, 14), ("b", 1, 21))}, gave.state)
    )
    # Of one instant the first source comes first; its own next tuple may be of that instant too.
    assert shown(gave.outputs["out"]) == [("a", 5, 11), ("b", 1, 20)]
    assert gave.counts.held == 3
    assert shown(steps.finish(gave.state).outputs["out"]) == [
        ("a", 5, 13), ("a", 5, 14), ("b", 1, 21)
    ]  # fmt: skip


def test_tuples_without_a_place_go_by_themselves() -> None:
    steps = vehicle_steps(both())
    unplaced = table(("a", 1, 3), ("a", 1, 1), ("a", 1, 2), position=[None] * 3)
    placed = table(("a", 1, 9), ("a", 1, 7), position=[8, 4])
    gave = steps.step(StepInput({"s0": pa.concat_tables([placed, unplaced])}, None))
    rows = shown(steps.finish(gave.state).outputs["out"])
    assert [value for _, _, value in rows] == [1, 2, 3, 7, 9]


def test_a_silent_vehicle_goes_on_by_the_clock() -> None:
    steps = vehicle_steps(waiting(), hold=100 * MILLISECOND)
    first = StepInput({"s0": table(("a", 1, 10), ("b", 1, 20))}, None, clock=1_000_000)
    gave = steps.step(first)
    assert gave.counts.held == 2
    quiet = steps.step(StepInput({}, gave.state, clock=1_099_999))
    assert (quiet.counts.held, quiet.changed.vehicles.to_pylist()) == (2, [])
    heard = StepInput({"s0": table(("b", 2, 21))}, quiet.state, clock=1_100_000)
    gave = steps.step(heard)
    assert shown(gave.outputs["out"]) == [("a", 1, 10)]  # it waited in the join, too
    assert gave.counts.held == 2
    done = steps.step(StepInput({}, gave.state, clock=1_150_000))
    assert done.counts.held == 2
    assert len(done.changed) == 0  # nothing of a is left to go on


def test_a_replay_has_no_clock() -> None:
    steps = vehicle_steps(both(), hold=1)
    gave = steps.step(StepInput({"s0": table(("a", 1, 10))}, None))
    gave = steps.step(StepInput({"s0": table(("b", 900, 10))}, gave.state))
    assert gave.counts.held == 2


def test_vehicles_are_forgotten_and_told_so() -> None:
    steps = vehicle_steps(both(), forget=10 * MILLISECOND)
    base = steps.step(StepInput({"s0": table(("a", 1, 10), ("b", 5, 20))}, None)).state
    gave = steps.step(StepInput({"s0": table(("c", 11, 30))}, base))
    assert gave.counts == StepCounts(tuples=1, vehicles=2, held=2, forgotten=1, shed=1)
    (side,) = gave.side.to_pylist()
    told = [side[name] for name in ("vehicle", "kind", "where", "reason", "row")]
    assert told == ["a", "shed", "s0", "its vehicle was forgotten", '{"timestamp": 1000, "v": 10}']
    assert gave.states.vehicles.to_pylist() == ["b", "c"]
    assert gave.changed.vehicles.to_pylist() == ["a", "c"]
    assert merged_states([base, gave.delta]).to_bytes() == gave.state
    later = steps.step(StepInput({}, [base, gave.delta], newest=15_000))
    assert later.counts.forgotten == 1
    assert later.states.vehicles.to_pylist() == ["c"]


def test_forgetting_by_the_clock() -> None:
    steps = vehicle_steps(window(), forget=10 * SECOND)
    gave = steps.step(StepInput({"s0": table(("a", 1, 10), ("b", 1, 10))}, None, clock=0))
    gave = steps.step(StepInput({"s0": table(("b", 2, 10))}, gave.state, clock=9_999_999))
    assert gave.counts == StepCounts(tuples=1, vehicles=2)
    gave = steps.step(StepInput({}, gave.state, clock=10_000_000))
    assert gave.counts == StepCounts(vehicles=1, forgotten=1)


def test_at_most_so_many_tuples_of_a_vehicle_are_held() -> None:
    steps = vehicle_steps(both(), most_held=2)
    gave = steps.step(StepInput({"s0": table(("a", 1, 10), ("b", 1, 20))}, None))
    more = {"s0": table(("a", 3, 12), ("a", 2, 11), ("a", 4, 13))}
    gave = steps.step(StepInput(more, gave.state))
    assert gave.counts == StepCounts(tuples=3, vehicles=2, held=3, shed=2)
    assert gave.side.column("reason").unique().to_pylist() == [
        "2 tuples of its vehicle wait already"
    ]
    assert gave.side.column("row").to_pylist() == [
        '{"timestamp": 3000, "v": 12}', '{"timestamp": 4000, "v": 13}'
    ]  # fmt: skip
    gave = steps.step(StepInput({"s1": table(("a", 9, 14))}, gave.state))
    assert shown(gave.outputs["out"]) == [("a", 1, 10), ("a", 2, 11)]


def test_only_what_is_listed_is_told() -> None:
    steps = vehicle_steps(both(), most_held=0, listed=["s1"])
    gave = steps.step(
        StepInput({"s0": table(("a", 1, 10)), "s1": table(("a", 9, 1), ("a", 9, 2))}, None)
    )
    assert gave.counts.shed == 2
    assert gave.side.column("where").to_pylist() == ["s1", "s1"]


# ---------------------------------------------------------------- states


def test_nothing_comes_of_nothing() -> None:
    steps = vehicle_steps(window())
    gave = steps.step(StepInput({}, None))
    assert gave.counts == StepCounts()
    assert gave.outputs["out"].schema.names == ["vehicle", "timestamp", "v"]
    again = steps.step(StepInput({"s0": table()}, gave.state))
    assert again.state == gave.state == steps.finish(gave.state).state


def test_a_wrong_state_is_refused() -> None:
    steps = vehicle_steps(window())
    state = steps.step(StepInput({"s0": table(("a", 1, 1))}, None)).state
    for wrong in (state[:-1], state[:10], b"x" * len(state), state + b"x"):
        with pytest.raises(DataError, match="a damaged state"):
            steps.step(StepInput({}, wrong))
    for place in range(8, len(state), 97):
        damaged = bytearray(state)
        damaged[place] ^= 1
        with pytest.raises(DataError, match="a damaged state"):
            steps.finish(bytes(damaged))
    newer = state[:4] + b"\x63" + state[5:]
    with pytest.raises(DataError, match="another version of Headway"):
        steps.step(StepInput({}, newer))
    with pytest.raises(DataError, match="a state of another program"):
        vehicle_steps(both()).step(StepInput({}, state))


def test_states_move_between_partitions() -> None:
    """Two partitions become three: each takes the vehicles that are its own from both."""
    steps = vehicle_steps(window())
    names = [f"car{number}" for number in range(40)]
    hashes = dict(zip(names, vehicle_hashes(pa.array(names)).tolist(), strict=True))

    def given(count: int, part: int, at: int) -> dict[str, Any]:
        mine = [(name, at, 1) for name in names if hashes[name] % count == part]
        return {"s0": table(*mine)}

    def own(part: int) -> Callable[[Hashes], Mask]:
        return lambda found: found % 3 == part

    old = [steps.step(StepInput(given(2, part, 1), None)).state for part in range(2)]
    whole = merged_states(old).to_bytes()
    rows = []
    for part in range(3):
        states = [states_from(one) for one in old]
        mine = [one.only(own(part)(vehicle_hashes(one.vehicles))).to_bytes() for one in states]
        gave = steps.step(StepInput(given(3, part, 2), merged_states(mine).to_bytes()))
        with_keep = StepInput(given(3, part, 2), whole, keep=own(part))
        assert steps.step(with_keep).state == gave.state
        rows += shown(steps.finish(gave.state).outputs["out"])
    assert sorted(rows) == sorted((name, 1, 2) for name in names)


def test_names_are_hashed_as_spark_does() -> None:
    """Values of Spark's own xxhash64."""
    long = "a vehicle with a name of more than thirty-two bytes, and then some"
    found = vehicle_hashes(pa.array(["", "Spark", "car 1", long, "ä"])).tolist()
    assert found[:2] == [-7444071767201028348, -4294468057691064905]
    assert len(set(found)) == 5
    assert vehicle_hashes(pa.array(["x", "Spark", long])[1:]).tolist() == [found[1], found[3]]
