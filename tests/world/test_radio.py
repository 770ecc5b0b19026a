"""Power falls with distance and around corners; golden numbers of ITU-R P.1411 by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headway.errors import InputError
from headway.world.drive_scenario import Scenario
from headway.world.grid_traffic import GridTraffic
from headway.world.radio import RadioModel, corner_loss, line_of_sight_loss

RADIO = RadioModel()
TRAFFIC = GridTraffic(Scenario())


def power(*ends: tuple[float, float, float, float]) -> np.ndarray:
    return RADIO.received(TRAFFIC, *np.array(ends, dtype=float).T)


def test_line_of_sight_as_the_recommendation_has_it() -> None:
    """λ = 0.42827 m, h = 1.5 m: R_bp = 9/λ = 21.0146 m; L_bp = 20 log₁₀(8π·2.25/λ²) = 49.780 dB."""
    loss = line_of_sight_loss(np.array([21.0146, 10.5073, 210.146]), 700e6, 1.5)
    expected = 49.780 + 6 + np.array([0, -20 * np.log10(2), 40])
    np.testing.assert_allclose(loss, expected, atol=0.01)


def test_a_corner_as_the_recommendation_has_it() -> None:
    """x₁ = x₂ = 50 m, w = 20 m: the reflected way costs 2500·0.79469/400 = 4.967 dB beyond free
    space, the diffracted one 10 log₁₀(2500/100) + 2·(20/π)·(2 arctan 2.5 − π/2) = 24.28 dB; both
    together −10 log₁₀(10^−0.4967 + 10^−2.428) = 4.917 dB."""
    assert corner_loss(np.array([50.0]), np.array([50.0]), 20.0, 700e6)[0] == pytest.approx(
        4.917, abs=0.01
    )


def test_power_falls_with_distance_and_is_just_enough_at_its_reach() -> None:
    line = power(*((0.0, 0.0, x, 0.0) for x in np.arange(1.0, 200.5, 0.5)))
    assert (np.diff(line) < 0).all()
    assert line[-1] == pytest.approx(RADIO.sensitivity)
    assert RADIO.heard(line).all()
    assert power((0.0, 0.0, 200.1, 0.0))[0] == -np.inf


def test_a_corner_costs_more_the_further_it_is_rounded() -> None:
    """From 50 m west of crossing 0 to ever further north of it."""
    around = power(*((-50.0, 0.0, 0.0, y) for y in np.arange(20.0, 100.0, 5.0)))
    straight = power(*((-50.0, 0.0, y, 0.0) for y in np.arange(20.0, 100.0, 5.0)))
    assert (np.diff(around) < 0).all()
    assert (around < straight).all()
    assert RADIO.heard(around[0])  # some way round the corner ...
    assert not RADIO.heard(around[-1])  # ... but not as far as straight on
    assert RADIO.heard(straight[-1])


def test_it_is_the_same_in_both_directions() -> None:
    there, back = power((-50.0, 1.75, 1.75, 60.0), (1.75, 60.0, -50.0, 1.75))
    assert there == back


def test_two_corners_are_one_too_many() -> None:
    """From our street to the next one that runs beside it."""
    assert power((50.0, 0.0, 50.0, 100.0))[0] == -np.inf


@pytest.mark.parametrize(
    ("field", "value"), [("reach", 0.0), ("loss", 1.1), ("damage", -0.1), ("interval", 1.0)]
)
def test_what_cannot_be_is_refused(field: str, value: float) -> None:
    with pytest.raises(InputError, match=f"radio.{field}: must be"):
        replace(RADIO, **{field: value}).validate()
