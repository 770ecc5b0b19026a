"""A car that acts: ways and speeds by hand, outlines that touch, crashes that geometry decides."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drive.short_drives import SHORT

from headway.drive.braking import FROM_SPEED, LENGTH, WIDTH, Braking, overlap, stops
from headway.drive.encounters import STOPPING_TIME, Meeting
from headway.errors import InputError
from headway.world.grid_traffic import GridTraffic
from headway.world.traffic import Array, Motion

US = 1_000_000


def test_from_60_km_h_it_stands_after_the_printed_time() -> None:
    braking = Braking.within()
    assert braking.stands(FROM_SPEED) == pytest.approx(2.8)
    assert braking.deceleration == pytest.approx(8.13, abs=0.005)
    assert braking.speed(FROM_SPEED, np.array([0.0, 0.75, 2.8, 9.0])).tolist() == pytest.approx(
        [FROM_SPEED, FROM_SPEED, 0, 0], abs=1e-9
    )
    # 12.5 m while the driver reacts, then v²/2a = 17.1 m, and no further.
    assert braking.driven(FROM_SPEED, np.array([0.75, 2.8, 9.0])).tolist() == pytest.approx(
        [12.5, 29.58, 29.58], abs=0.01
    )


def test_the_other_reading_stands_after_the_way_of_the_printed_time() -> None:
    braking = Braking.over()
    stands = braking.stands(FROM_SPEED)
    assert braking.driven(FROM_SPEED, np.array([stands, 60.0])).tolist() == pytest.approx(
        [FROM_SPEED * STOPPING_TIME] * 2
    )
    assert stands > STOPPING_TIME


@given(st.floats(0, 2.7), st.floats(0.5, 40), st.floats(0, 10))
def test_the_way_is_the_sum_of_the_speeds(reaction: float, start: float, after: float) -> None:
    braking = Braking.within(reaction)
    times = np.linspace(0, after, 2001)
    speeds = braking.speed(start, times)
    way = float(np.sum((speeds[1:] + speeds[:-1]) / 2) * after / 2000)
    # Two bends of the speed are cut off within a step each.
    cut = braking.deceleration * (after / 2000) ** 2
    assert float(braking.driven(start, np.array([after]))[0]) == pytest.approx(way, abs=cut + 1e-9)


@pytest.mark.parametrize(
    ("reaction", "message"),
    [(2.8, "a reaction shorter than the 2.8 s"), (-0.1, "a number of seconds from 0"),
     (math.nan, "a number of seconds from 0")],
)  # fmt: skip
def test_a_car_that_never_slows_down_is_refused(reaction: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Braking.within(reaction)


def at(x: float, y: float, degrees: float) -> Motion:
    """One car at one moment."""
    turned = math.radians(degrees)
    return Motion(*(np.array([one]) for one in (x, y, math.cos(turned), math.sin(turned))))


@pytest.mark.parametrize(
    ("other", "touches"),
    [
        (at(LENGTH - 0.01, 0, 0), True),  # behind each other
        (at(LENGTH + 0.01, 0, 180), False),
        (at(0, WIDTH - 0.01, 0), True),  # beside each other
        (at(0, WIDTH + 0.01, 180), False),
        (at((LENGTH + WIDTH) / 2 - 0.01, 0, 90), True),  # a side against a nose
        (at((LENGTH + WIDTH) / 2 + 0.01, 0, -90), False),
        # At 45° a corner comes first: no side of the other separates them, one of ours does.
        (at(LENGTH / 2 + (LENGTH + WIDTH) / 2 * math.sqrt(0.5) + 0.01, 0, 45), False),
        (at(LENGTH / 2 + (LENGTH + WIDTH) / 2 * math.sqrt(0.5) - 0.01, 0.6, 45), True),
    ],
)
def test_outlines(other: Motion, touches: bool) -> None:
    assert overlap(at(0, 0, 0), other).tolist() == [touches]
    assert overlap(other, at(0, 0, 0)).tolist() == [touches]


TRAFFIC = GridTraffic(SHORT)
IMPACT = 12_105_000
"""µs: car 2 crosses our way where we are then"""


def tried(left: float | None, braking: Braking) -> tuple[bool, float]:
    """Warned so many seconds before the impact: whether it crashed, and at what speed."""
    detected = None if left is None else IMPACT - round(left * US)
    met = Meeting(2, IMPACT, detected, left, left)
    (stop,) = stops(TRAFFIC, TRAFFIC.own, [met], braking)
    assert stop.crash == (stop.hit is not None)
    return stop.crash, stop.speed


def test_geometry_is_kinder_than_the_rule_of_2_8_s() -> None:
    """After 1.8 s of 60 km/h our car is 6.3 m behind where it would be, and the other is past."""
    for left, crash in ((2.8, False), (1.9, False), (1.7, True), (0.9, True)):
        assert tried(left, Braking.within())[0] is crash
        assert Meeting(2, IMPACT, 0, left).crash is (left < STOPPING_TIME)


def test_who_is_never_warned_crashes_at_full_speed() -> None:
    crash, speed = tried(None, Braking.within())
    assert crash
    assert speed == pytest.approx(FROM_SPEED)


def test_the_outlines_touch_before_the_middles_meet() -> None:
    (stop,) = stops(TRAFFIC, TRAFFIC.own, [Meeting(2, IMPACT)], Braking.within())
    assert stop.hit is not None
    # Both move 3.15 m, half a length and half a width, in 0.19 s.
    assert (IMPACT - stop.hit) / US == pytest.approx((LENGTH + WIDTH) / 2 / FROM_SPEED, abs=0.011)


def test_the_later_the_warning_the_harder_the_crash() -> None:
    speeds = [tried(left, Braking.within())[1] for left in (1.7, 1.5, 1.2, 1.0, 0.75, 0.2)]
    assert speeds == sorted(speeds)
    assert speeds[-1] == pytest.approx(FROM_SPEED)
    assert speeds[0] < 0.7 * FROM_SPEED


def test_a_quicker_driver_stops_for_more() -> None:
    """The 2.8 s are kept, so who reacts at once brakes more softly, but earlier."""
    least: list[float] = []
    lefts: Array = np.arange(0.5, 2.8, 0.02)
    for reaction in (0.0, 0.75, 1.5):
        braking = Braking.within(reaction)
        least.append(float(max(left for left in lefts if tried(float(left), braking)[0])))
    assert least == sorted(least)
