"""Type 2: own and surrounding vehicles."""

from __future__ import annotations

import pytest
from tests.fusion.support import AROUND, SEEN, context, run, seen, surroundings

from headway.errors import QueryError
from headway.fusion.surroundings import SurroundingsFusion
from headway.model.schema import Schema, schema

MS = 1_000


def test_all_estimates_of_an_execution_are_for_its_newest_tuple() -> None:
    fusion = surroundings()
    rows = run(
        fusion,
        board=[seen(100 * MS, 0, 0.0, sensor="own", own=True), seen(100 * MS, 2, 9.0)],
        v2v=[seen(30 * MS, 1, 5.0, sensor="v2v")],
    )
    assert [(row[0], row[1], row[2], row[3]) for row in rows] == [
        (None, 0, True, 100 * MS),
        (None, 1, False, 100 * MS),
        (None, 2, False, 100 * MS),
    ]


def test_the_own_vehicle_always_comes_and_first() -> None:
    fusion = surroundings()
    assert [row[1] for row in run(fusion, v2v=[seen(0, 1, 5.0)])] == [1]  # not known yet
    run(fusion, board=[(0, 7, "own", True, 0.0, 0.0, 20.0, 0.0, 1.0, 1.0, 0.01, 0.01)])
    rows = run(fusion, v2v=[seen(100 * MS, 1, 5.0)])
    assert [row[1:3] for row in rows] == [(7, True), (1, False)]
    assert rows[0][4] == pytest.approx(2.0)  # predicted


def test_the_own_vehicle_is_unknown_after_the_rear_window() -> None:
    fusion = surroundings()
    run(fusion, board=[seen(0, 0, 0.0, own=True)])
    assert len(run(fusion, v2v=[seen(1000 * MS, 1, 5.0)])) == 2
    assert len(run(fusion, v2v=[seen(1001 * MS, 1, 5.0)])) == 1


def test_only_measured_objects_and_the_own_one_come() -> None:
    fusion = surroundings()
    run(fusion, board=[seen(0, 0, 0.0, own=True), seen(0, 1, 1.0), seen(0, 2, 2.0)])
    assert [row[1] for row in run(fusion, v2v=[seen(50 * MS, 2, 5.0)])] == [0, 2]


def test_a_late_execution_is_for_its_own_moment() -> None:
    """What was measured later corrects later estimates, it does not leak into earlier ones."""
    fusion = surroundings()
    run(fusion, board=[seen(0, 0, 0.0, own=True), seen(0, 1, 1.0)])
    run(fusion, board=[seen(200 * MS, 0, 50.0, own=True)])
    rows = run(fusion, v2v=[seen(100 * MS, 1, 1.0, sensor="v2v")])
    assert [(row[1], row[3]) for row in rows] == [(0, 100 * MS), (1, 100 * MS)]
    assert rows[0][4] == 0.0  # at rest at 0, as far as was known at 100 ms


def test_confidence_grows_with_a_second_sensor() -> None:
    fusion = surroundings()
    first = run(fusion, board=[seen(0, 1, 0.0)])
    second = run(fusion, v2v=[seen(0, 1, 0.0, sensor="v2v")])
    assert first[0][6] == pytest.approx(1.96 * 2)
    assert second[0][6] == pytest.approx(1.96 * 2 / 2**0.5)


def test_two_sensors_meet_by_variance() -> None:
    fusion = surroundings()
    run(fusion, board=[(0, 1, "radar", False, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0)])
    rows = run(fusion, v2v=[(0, 1, "v2v", False, 4.0, 8.0, 0.0, 0.0, 3.0, 1.0, 1.0, 1.0)])
    assert rows[0][4:6] == pytest.approx((1.0, 4.0))


def test_the_own_vehicle_may_be_named() -> None:
    fusion = SurroundingsFusion()
    plain = schema(track="string", x="double", y="double", var_pos="double")
    output = schema(track="string", own="boolean")
    fusion.open(context({"all": plain}, output, object_key="track", parameters={"own_id": "us"}))
    rows = run(fusion, all=[(0, "them", 1.0, 1.0, 1.0), (0, "us", 0.0, 0.0, 1.0)])
    assert rows == [(None, "us", True), (None, "them", False)]


PLAIN = schema(id="bigint", x="double", y="double", var_pos="double")


@pytest.mark.parametrize(
    ("inputs", "object_key", "message"),
    [
        (
            {"all": PLAIN},
            "id",
            "inputs: no input tells which vehicle is our own; "
            "add a boolean column 'own' to one, or the parameter 'own_id'",
        ),
        (
            {"all": SEEN},
            None,
            "object: this operator needs to know which object a tuple is about; "
            "name the column, such as 'object: id'",
        ),
        (
            {"all": PLAIN},
            "x",
            "object: input 'all' needs a column 'x' of type string, int, bigint or boolean "
            "to tell objects apart; got a double",
        ),
        (
            {"a": SEEN, "b": schema(id="string", x="double", y="double", var_pos="double")},
            "id",
            "object: column 'id' is a string in some inputs and a number in others; "
            "give it the same type in all",
        ),
        (
            {"all": schema(id="bigint", own="boolean", x="double", y="double", var_x="double")},
            "id",
            "inputs.all: input 'all' has no column 'var_y' or 'var_pos'; "
            "got columns id, own, x, y, var_x; add it to the input's schema",
        ),
    ],
)
def test_what_is_wrong_is_said(
    inputs: dict[str, Schema], object_key: str | None, message: str
) -> None:
    with pytest.raises(QueryError) as caught:
        SurroundingsFusion().open(context(inputs, AROUND, object_key=object_key))
    assert str(caught.value) == message


def test_windows_are_needed() -> None:
    with pytest.raises(QueryError, match=r"rear: a fusion operator needs the length"):
        SurroundingsFusion().open(context({"all": SEEN}, AROUND, rear=-1, object_key="id"))
