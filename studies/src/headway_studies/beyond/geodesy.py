"""Places on the earth as metres on a local map (WGS 84)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headway.world.cam import ECCENTRICITY_SQUARED, EQUATORIAL_RADIUS

Array = NDArray[np.float64]


def geodetic_to_ecef(latitude: Array, longitude: Array, altitude: Array) -> Array:
    """Degrees and metres above the ellipsoid to earth-centred, earth-fixed metres, shape (n, 3)."""
    phi, lam = np.radians(latitude), np.radians(longitude)
    normal_radius = EQUATORIAL_RADIUS / np.sqrt(1 - ECCENTRICITY_SQUARED * np.sin(phi) ** 2)
    return np.stack(
        [
            (normal_radius + altitude) * np.cos(phi) * np.cos(lam),
            (normal_radius + altitude) * np.cos(phi) * np.sin(lam),
            (normal_radius * (1 - ECCENTRICITY_SQUARED) + altitude) * np.sin(phi),
        ],
        axis=-1,
    )


def ecef_to_geodetic(ecef: Array) -> tuple[Array, Array, Array]:
    """The inverse of :func:`geodetic_to_ecef`, by fixed-point iteration; not for the poles."""
    x, y, z = ecef[..., 0], ecef[..., 1], ecef[..., 2]
    longitude = np.arctan2(y, x)
    distance = np.hypot(x, y)
    latitude = np.arctan2(z, distance * (1 - ECCENTRICITY_SQUARED))
    altitude = np.zeros_like(latitude)
    for _ in range(10):  # each step gains more than two digits
        normal_radius = EQUATORIAL_RADIUS / np.sqrt(
            1 - ECCENTRICITY_SQUARED * np.sin(latitude) ** 2
        )
        altitude = distance / np.cos(latitude) - normal_radius
        share = normal_radius / (normal_radius + altitude)
        latitude = np.arctan2(z, distance * (1 - ECCENTRICITY_SQUARED * share))
    return np.degrees(latitude), np.degrees(longitude), altitude


def east_north_up(origin: Array) -> Array:
    """The matrix that turns ECEF differences at ``origin`` (ECEF) into east, north, up."""
    latitude, longitude, _ = ecef_to_geodetic(origin)
    phi, lam = np.radians(latitude), np.radians(longitude)
    return np.array(
        [
            [-np.sin(lam), np.cos(lam), 0.0],
            [-np.sin(phi) * np.cos(lam), -np.sin(phi) * np.sin(lam), np.cos(phi)],
            [np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)],
        ]
    )


def ecef_to_local(ecef: Array, origin: Array) -> Array:
    """ECEF positions as metres east, north and up of ``origin`` (ECEF)."""
    local: Array = (ecef - origin) @ east_north_up(origin).T
    return local
