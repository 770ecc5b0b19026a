"""Cars warned of for nothing, and the cars that have a time to collision."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import cos, hypot, radians, sin

import numpy as np
import pytest
from tests.drive.short_drives import SHORT, app, short_drive

from headway.drive.alarms import alarms, false_share
from headway.drive.collision_warning import Setting, plan_for
from headway.drive.encounters import Risks
from headway.drive.trial import Trial, run_trial
from headway.drive.warned_of import APART, CONDITIONS, WarnedOf, warning_of
from headway.errors import InputError
from headway.expressions.check import check
from headway.expressions.rows import compile_value
from headway.expressions.scope import Scope
from headway.model.expression import Sql
from headway.model.schema import Schema, parse_field
from headway.world.grid_traffic import GridTraffic

S = 1_000_000
TRAFFIC = GridTraffic(SHORT)
MET = 2
"""the car on collision course, there with us after 12.105 s"""


def risks(*told: tuple[int, float]) -> Risks:
    """Of these cars at these seconds."""
    return Risks(
        id=np.array([car for car, _ in told], dtype=np.int64),
        produced=np.array([round(at * S) for _, at in told], dtype=np.int64),
        ttc=np.full(len(told), 3.0),
    )


def test_a_car_that_hits_ours_is_no_false_alarm_until_it_has() -> None:
    for at, false in ((5.0, False), (12.0, False), (12.5, True)):
        (found,) = alarms(risks((MET, at)), TRAFFIC, TRAFFIC.own)
        assert found.false is false
        assert (found.car, found.warned) == (MET, round(at * S))


def test_a_car_counts_once_and_from_its_first_warning() -> None:
    other = int(TRAFFIC.ids[-1])
    found = alarms(risks((other, 1.0), (MET, 2.0), (other, 3.0)), TRAFFIC, TRAFFIC.own)
    assert [one.car for one in found] == [other, MET]
    assert [one.false for one in found] == [True, False]
    assert found[0].warned == 1 * S
    assert false_share(found) == 0.5


def test_how_near_they_come() -> None:
    """Cars towards us in the inner lane pass 3.5 m beside ours."""
    motion = TRAFFIC.at(np.array([0.0]))
    row = TRAFFIC.own - 1
    towards = (motion.vx[0] < 0) & (motion.y[0] == -motion.y[0, row])
    car = int(TRAFFIC.ids[np.flatnonzero(towards)[0]])
    (found,) = alarms(risks((car, 0.0)), TRAFFIC, TRAFFIC.own)
    assert found.nearest == pytest.approx(3.5, abs=0.05)


def test_nobody_was_warned_of() -> None:
    assert alarms(risks(), TRAFFIC, TRAFFIC.own) == ()
    assert false_share(()) == 0.0


# ---------------------------------------------------------------- the rule in the query


COLUMNS = ("dx", "dy", "dvx", "dvy", "vx", "vy")
SCOPE = Scope.row(Schema(tuple(parse_field(name, "double") for name in COLUMNS)))


def has_ttc(which: WarnedOf, *values: float) -> bool:
    # Without units, as the columns here have none.
    text = CONDITIONS[which].replace("'m^2/s'", "'1'")
    told: object = compile_value(check(Sql(text), SCOPE), SCOPE).function((0, *values))
    return bool(told)


def crossing(apart: float, degrees: float = 90.0, left: float = 3.0) -> tuple[float, ...]:
    """Ours at 15 m/s along x, there in ``left`` s; another from the side at 10 m/s that is there
    ``apart`` s after us."""
    vx, vy = 10 * cos(radians(degrees)), 10 * sin(radians(degrees))
    x, y = 15 * left - vx * (left + apart), -vy * (left + apart)
    return (x, y, vx - 15, vy, 15.0, 0.0)


@pytest.mark.parametrize(
    ("values", "crosses", "meets"),
    [
        (crossing(0.0), True, True),
        (crossing(APART - 0.01), True, True),
        (crossing(-(APART - 0.01)), True, True),
        (crossing(APART + 0.01), True, False),
        (crossing(-1.0), True, False),
        (crossing(0.0, -90.0), True, True),
        (crossing(0.0, 31.0), True, True),
        (crossing(0.0, 29.0), False, False),  # nearly along our way
        (crossing(0.0, 180.0), False, False),  # towards us in our street
        (crossing(-3.5), False, False),  # it has passed our way
        (crossing(0.0, left=-0.5), False, False),  # both have
    ],
)
def test_who_crosses_and_who_meets(values: tuple[float, ...], crosses: bool, meets: bool) -> None:
    closing = has_ttc(WarnedOf.CLOSING, *values)
    dx, dy, dvx, dvy, *_ = values
    later = hypot(dx + 1e-3 * dvx, dy + 1e-3 * dvy)
    assert closing is (later < hypot(dx, dy))
    assert has_ttc(WarnedOf.CROSSING, *values) is (crosses and closing)
    assert has_ttc(WarnedOf.MEETING, *values) is (meets and closing)


@cache
def driven(which: WarnedOf) -> Trial:
    return run_trial(app(), short_drive(), Setting(shed=400, warned_of=which))


def test_fewer_cars_are_warned_of_and_the_one_that_comes_is() -> None:
    found = [{one.car: one for one in driven(which).alarms()} for which in WarnedOf]
    closing, crossing, meeting = found
    assert closing.keys() > crossing.keys() > meeting.keys() == {MET}
    assert not meeting[MET].false
    assert {one.meetings()[0].detected for one in map(driven, WarnedOf)} == {
        driven(WarnedOf.CLOSING).meetings()[0].detected
    }


def test_the_choice_changes_what_is_told_and_not_when() -> None:
    for which in WarnedOf:
        here, example = driven(which).result.outputs, driven(WarnedOf.CLOSING).result.outputs
        for name in ("output1", "output3"):
            assert here[name].rows == example[name].rows
        assert here["output2"].completed == example["output2"].completed


def test_a_setting_tells_whom_it_warns_of() -> None:
    assert Setting().label == "s-edf"
    assert Setting(warned_of=WarnedOf.CROSSING).label == "s-edf, warned of crossing cars"


def test_a_query_that_makes_its_ttc_otherwise_is_refused() -> None:
    query = plan_for(app()).query
    elsewhere = replace(
        query,
        outputs=tuple(
            replace(one, stream="map3") if one.name == "output2" else one for one in query.outputs
        ),
    )
    assert warning_of(elsewhere, WarnedOf.CLOSING) is elsewhere
    with pytest.raises(InputError, match="not made as in the example"):
        warning_of(elsewhere, WarnedOf.MEETING)
