"""Places on the earth against published and hand-worked ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway_studies.beyond.geodesy import Array, ecef_to_geodetic, ecef_to_local, geodetic_to_ecef


def ecef(latitude: float, longitude: float, altitude: float) -> Array:
    """The ECEF position of one place."""
    place = geodetic_to_ecef(np.array([latitude]), np.array([longitude]), np.array([altitude]))
    return place.reshape(3)


def test_where_the_axes_meet_the_ellipsoid() -> None:
    np.testing.assert_allclose(ecef(0, 0, 0), [6378137.0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(ecef(0, 90, 100), [0, 6378237.0, 0], atol=1e-6)
    np.testing.assert_allclose(ecef(90, 0, 0), [0, 0, 6356752.314245], atol=1e-6)


@given(st.floats(-85, 85), st.floats(-179, 179), st.floats(-100, 9000))
def test_there_and_back(latitude: float, longitude: float, altitude: float) -> None:
    back = ecef_to_geodetic(ecef(latitude, longitude, altitude)[None, :])
    np.testing.assert_allclose(
        [float(value[0]) for value in back], [latitude, longitude, altitude], atol=1e-6
    )


def test_a_small_step_on_the_map() -> None:
    """At 60° north a degree of longitude is 55.8 km, one of latitude 111.4 km."""
    origin = ecef(60, 10, 0)
    east = ecef_to_local(ecef(60, 10.001, 0)[None, :], origin)[0]
    north = ecef_to_local(ecef(60.001, 10, 0)[None, :], origin)[0]
    up = ecef_to_local(ecef(60, 10, 5)[None, :], origin)[0]
    np.testing.assert_allclose(east, [55.80, 0, 0], atol=0.01)
    np.testing.assert_allclose(north, [0, 111.41, 0], atol=0.01)
    np.testing.assert_allclose(up, [0, 0, 5], atol=1e-6)
