"""Position errors by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headway.drive.trial import Estimates, Ids, Metres, Moment, Times, errors, summarise

ESTIMATES = Estimates(
    id=np.array([1, 1, 2]),
    about=np.array([0, 1_000_000, 0]),
    produced=np.array([500_000, 1_500_000, 500_000]),
    x=np.array([0.0, 13.0, 5.0]),
    y=np.array([3.0, 0.0, 5.0]),
    vx=np.array([10.0, 12.0, 0.0]),
    vy=np.array([0.0, 0.0, 0.0]),
)


def places(id: Ids, at: Times) -> tuple[Metres, Metres]:
    """Car 1 drives along x at 10 m/s; car 2 is not there."""
    there = np.where(id == 1, 0.0, np.nan)
    return there + at / 1e5, there


def test_an_error_at_the_moment_that_the_estimate_is_about() -> None:
    assert errors(ESTIMATES, places, Moment.ABOUT).tolist() == [3.0, 3.0]


def test_an_error_at_the_moment_it_comes_out_has_the_way_driven_since() -> None:
    found = errors(ESTIMATES, places, Moment.OUT)
    assert found.tolist() == [pytest.approx(math.hypot(5, 3)), pytest.approx(2.0)]


def test_an_estimate_that_is_carried_on_keeps_its_error_and_adds_that_of_its_velocity() -> None:
    assert errors(ESTIMATES, places, Moment.CARRIED).tolist() == [3.0, pytest.approx(4.0)]


def test_a_summary() -> None:
    one = summarise(np.array([1.0, 2.0, 3.0, 4.0]))
    assert (one.count, one.mean, one.median) == (4, 2.5, 2.5)
    assert math.isnan(summarise(np.zeros(0)).mean)
