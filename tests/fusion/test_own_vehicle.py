"""Type 1: GPS and speed sensor."""

from __future__ import annotations

from math import atan2, hypot, pi

import pytest
from tests.fusion.support import GPS, OWN, SPEED, context, fix, own_vehicle, run

from headway.errors import QueryError
from headway.fusion.own_vehicle import OwnVehicleFusion
from headway.fusion.refused_tuples import RefusalReason
from headway.model.schema import Schema, schema
from headway.model.user_operator import Row

MS = 1_000


def speed(at: int, v: float | None) -> Row:
    return (at, v, 0.04)


def test_the_first_fix_is_the_first_estimate() -> None:
    fusion = own_vehicle()
    assert run(fusion, gps=[fix(5, 3.0, 4.0)]) == [(None, 5, 3.0, 4.0, 0.0, 0.0)]


def test_it_runs_with_what_is_there() -> None:
    fusion = own_vehicle()
    run(fusion, gps=[fix(0, 0.0)], speed=[])
    assert [row[1] for row in run(fusion, gps=[], speed=[speed(10 * MS, 5.0)])] == [10 * MS]
    assert [row[1] for row in run(fusion, gps=[fix(20 * MS, 0.0)])] == [20 * MS]


def test_an_estimate_is_for_the_newest_tuple_of_the_execution() -> None:
    fusion = own_vehicle()
    rows = run(fusion, gps=[fix(0, 0.0, bearing=90.0)], speed=[speed(7 * MS, 20.0)])
    assert [(row[0], row[1]) for row in rows] == [(None, 7 * MS)]


def test_the_speed_goes_along_a_measured_bearing_until_the_velocity_is_known() -> None:
    fusion = own_vehicle()
    run(fusion, gps=[fix(0, 0.0, bearing=30.0)])  # north-north-east
    for moment in range(1, 20):
        run(fusion, speed=[speed(moment * 10 * MS, 20.0)])
    state = fusion.rear_window("")[-1]
    assert hypot(state.vx, state.vy) == pytest.approx(20.0, rel=0.03)
    assert atan2(state.vy, state.vx) == pytest.approx(pi / 3)
    assert state.heading == pytest.approx(pi / 3)


def test_without_any_direction_a_speed_says_how_far_at_most() -> None:
    fusion = own_vehicle()
    run(fusion, gps=[fix(0, 0.0)])
    run(fusion, speed=[speed(0, 2.0)])
    state = fusion.rear_window("")[-1]
    assert (state.vx, state.vy) == (0.0, 0.0)
    assert state.var_vx == pytest.approx(1 / (1 / 400 + 1 / (0.04 + 2.0)))


def test_standing_still_is_believed() -> None:
    fusion = own_vehicle()
    run(fusion, gps=[fix(0, 0.0)])
    for moment in range(1, 50):
        run(fusion, speed=[speed(moment * 10 * MS, 0.0)])
    state = fusion.rear_window("")[-1]
    assert state.var_vx < 0.05
    assert state.var_vy < 0.05


def test_it_follows_a_straight_drive() -> None:
    fusion = own_vehicle()
    for step in range(200):
        at = step * 100 * MS
        offset = (-1) ** step
        run(
            fusion, gps=[fix(at, 1.2 * step + offset, 1.6 * step - offset)], speed=[speed(at, 20.0)]
        )
    last = fusion.estimate("", 200 * 100 * MS)
    assert last is not None
    assert (last.x, last.y) == pytest.approx((240.0, 320.0), abs=0.6)
    assert (last.vx, last.vy) == pytest.approx((12.0, 16.0), abs=0.2)


def test_a_speed_before_any_fix_waits_and_is_handed_over_in_the_end() -> None:
    fusion = own_vehicle()
    early = speed(0, 20.0)
    assert run(fusion, speed=[early]) == []
    assert fusion.unstarted == 0
    run(fusion, gps=[fix(1000 * MS, 0.0)])
    assert fusion.unstarted == 0
    run(fusion, gps=[fix(1001 * MS, 0.0)])
    assert [(r.reason, r.row) for r in fusion.take_refused()] == [(RefusalReason.UNSTARTED, early)]
    assert fusion.unstarted == 1


def test_a_late_fix_starts_before_the_waiting_speeds() -> None:
    fusion = own_vehicle()
    run(fusion, speed=[speed(50 * MS, 20.0)])
    run(fusion, gps=[fix(0, 0.0, bearing=90.0)])
    assert [state.timestamp for state in fusion.rear_window("")] == [0, 50 * MS]
    assert fusion.rear_window("")[-1].vx > 15


def test_unusable_speeds_and_fixes_are_refused() -> None:
    fusion = own_vehicle()
    run(fusion, gps=[fix(0, 0.0)])
    assert run(fusion, gps=[fix(1, None)], speed=[speed(2, None), speed(3, float("nan"))]) == []
    assert fusion.unusable == 3


def test_an_unusable_bearing_is_left_out() -> None:
    fusion = own_vehicle()
    run(fusion, gps=[fix(0, 0.0, bearing=float("nan"))])
    assert fusion.rear_window("")[0].heading is None


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ({"heading": "double [rad]"}, pi / 2),
        ({"heading": "double"}, pi / 2),
        ({"heading": "double [deg]"}, 90.0),
        ({"bearing": "double [deg]"}, 0.0),
        ({"bearing": "double"}, 360.0),
        ({"bearing": "double [rad]"}, 2 * pi),
    ],
)
def test_directions_are_read_by_name_and_unit(column: dict[str, str], value: float) -> None:
    fusion = OwnVehicleFusion()
    gps = schema({"x": "double", "y": "double", **column})
    fusion.open(context({"gps": gps, "speed": SPEED}, OWN))
    run(fusion, gps=[(0, 0.0, 0.0, value)], speed=[speed(0, 10.0)])
    state = fusion.rear_window("")[-1]
    assert state.vx == pytest.approx(0.0, abs=1e-9)
    assert state.vy > 9


def test_a_measured_velocity_is_used() -> None:
    fusion = OwnVehicleFusion()
    gps = schema(x="double", y="double", vx="double", vy="double", var_v="double")
    fusion.open(context({"gps": gps, "speed": schema(v="double")}, OWN))
    rows = run(fusion, gps=[(0, 0.0, 0.0, 3.0, 4.0, 0.01)])
    assert rows == [(None, 0, 0.0, 0.0, 3.0, 4.0)]
    assert run(fusion, gps=[(0, 0.0, 0.0, 3.0, 4.0, 0.01)]) == rows


def test_the_columns_of_the_example() -> None:
    vehicle = schema(
        id="bigint", sensor="string(5)", own="boolean", x="float", var_x="float", var_vy="float"
    )
    fusion = OwnVehicleFusion()
    inputs = {
        "gps": schema(x="float", y="float", heading="float [rad]"),
        "speed": schema(v="float"),
    }
    fusion.open(context(inputs, vehicle, parameters={"id": 7, "position_variance": 2.0}))
    assert run(fusion, gps=[(0, 0.1, 0.2, 0.3)]) == [
        (None, 7, "own", True, 0.10000000149011612, 2.0, 400.0)
    ]


@pytest.mark.parametrize(
    ("inputs", "output", "parameters", "message"),
    [
        (
            {"gps": schema(x="double"), "speed": schema(w="double")},
            OWN,
            {},
            "inputs.gps: input 'gps' has no column 'y'; got columns x; "
            "add it to the input's schema\n"
            "inputs.speed: input 'speed' has no column 'v'; got columns w; "
            "add it to the input's schema",
        ),
        (
            {"gps": schema(x="string", y="double"), "speed": SPEED},
            OWN,
            {},
            "inputs.gps: column 'x' of input 'gps' has the wrong type; got string; "
            "make it a number",
        ),
        (
            {"gps": GPS, "odometer": SPEED},
            OWN,
            {},
            "inputs: this operator needs the inputs gps and speed; got gps, odometer",
        ),
        (
            {"gps": GPS, "speed": SPEED},
            schema(at="double", colour="string"),
            {},
            "schema: column 'at' has the wrong type; got double; make it timestamp\n"
            "schema: a fusion operator has nothing to put into column 'colour'; it can give: "
            "id, sensor, own, at, x, y, vx, vy, var_x, var_y, var_vx, var_vy, speed, heading, conf",
        ),
        (
            {"gps": GPS, "speed": SPEED},
            schema(id="string", sensor="string(2)"),
            {},
            "schema: column 'id' cannot hold the objects' keys; got string; "
            "the keys are whole numbers\n"
            "schema: column 'sensor' is too short for 'own'; got string(2); "
            "make it longer, or set the parameter 'sensor'",
        ),
        (
            {"gps": GPS, "speed": SPEED},
            OWN,
            {"colour": 3, "speed_variance": -1},
            "parameters.colour: unknown parameter; there are: acceleration_variance, "
            "position_variance, speed_variance, scale_variance, heading_variance, "
            "velocity_variance, least_speed, shared_variance, id, sensor\n"
            "parameters.speed_variance: must be a positive number; got -1",
        ),
    ],
)
def test_what_is_wrong_is_said(
    inputs: dict[str, Schema], output: Schema, parameters: dict[str, int], message: str
) -> None:
    with pytest.raises(QueryError) as caught:
        OwnVehicleFusion().open(context(inputs, output, parameters=parameters))
    assert str(caught.value) == message
