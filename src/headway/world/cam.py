"""ETSI CAMs: what they can say, as the whole numbers of the standard, and as bytes.

:class:`CamValues` is the one place where a report is quantised: the bytes carry these numbers, and
a study that sends no bytes quantises by them too. Data elements after ETSI TS 102 894-2, message
after EN 302 637-2. Confidence is at 95 %: of a number the half-width 1.96 σ of its interval, of the
position the half axes √5.991 σ of its ellipse.

Positions on the wire are degrees; the map's origin stands at :data:`LATITUDE`, :data:`LONGITUDE`,
and a metre on the map is a metre along the meridian and the parallel through there.

A CAM tells of one vehicle. Sent for a vehicle that the sender's radar saw it carries that vehicle's
station id, as the papers have it; who sent it is told by the network header, not by the CAM.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from math import cos, log, pi, radians, sin, sqrt
from typing import Any

import numpy as np

from headway.errors import EnvironmentMissing
from headway.fusion.state import NORMAL_95
from headway.sources.its_log import GENERATION_MODULUS, ITS_EPOCH, generated_at
from headway.world.traffic import Array, Integers

# ---------------------------------------------------------------- quantities

EQUATORIAL_RADIUS = 6_378_137.0
"""a of WGS 84, metres"""
FLATTENING = 1 / 298.257223563
"""f"""
ECCENTRICITY_SQUARED = FLATTENING * (2 - FLATTENING)
"""e² = f (2 − f)"""
LATITUDE, LONGITUDE = 34.6937, 135.5023
"""degrees; any place would do, but not a pole"""
_CURVE = 1 - ECCENTRICITY_SQUARED * sin(radians(LATITUDE)) ** 2
METRES_PER_LATITUDE = EQUATORIAL_RADIUS * (1 - ECCENTRICITY_SQUARED) / _CURVE**1.5 * pi / 180
METRES_PER_LONGITUDE = EQUATORIAL_RADIUS / sqrt(_CURVE) * cos(radians(LATITUDE)) * pi / 180

ELLIPSE_95 = sqrt(-2 * log(0.05))
"""√5.991: half axis, in standard deviations, of the ellipse that holds 95 % of a 2-D normal law"""
POSITION_UNIT = 1e-7
"""degrees"""
LATITUDE_UNAVAILABLE, LONGITUDE_UNAVAILABLE = 900_000_001, 1_800_000_001
AXIS_UNIT, AXIS_MOST, AXIS_OUT_OF_RANGE = 0.01, 4093, 4094
"""SemiAxisLength: metres; 4095 is unavailable"""
HEADING_UNIT, HEADING_UNAVAILABLE = 0.1, 3601
"""degrees from north, clockwise"""
SPEED_UNIT, SPEED_MOST, SPEED_UNAVAILABLE = 0.01, 16382, 16383
"""m/s"""
CONFIDENCE_MOST, CONFIDENCE_OUT_OF_RANGE = 125, 126
"""SpeedConfidence (0.01 m/s) and HeadingConfidence (0.1 degrees), from 1; 127 is unavailable"""


@dataclass(frozen=True, slots=True)
class CamReports:
    """Vehicles as somebody reports them, one entry each; NaN: not known."""

    id: Integers
    timestamp: Integers
    """sensing time, microseconds since the Unix epoch"""
    x: Array
    y: Array
    vx: Array
    vy: Array
    var_x: Array
    var_y: Array
    var_vx: Array
    var_vy: Array


@dataclass(frozen=True, slots=True)
class CamValues:
    """The numbers of one CAM each; names after the standard's data elements."""

    station_id: Integers
    generation_delta_time: Integers
    latitude: Integers
    longitude: Integers
    semi_major_confidence: Integers
    semi_minor_confidence: Integers
    semi_major_orientation: Integers
    heading_value: Integers
    heading_confidence: Integers
    speed_value: Integers
    speed_confidence: Integers

    def rows(self) -> list[tuple[int, ...]]:
        """Message by message, in the order of the fields."""
        columns = (getattr(self, field.name).tolist() for field in fields(self))
        return list(zip(*columns, strict=True))


def values_of(rows: list[tuple[int, ...]]) -> CamValues:
    """The inverse of :meth:`CamValues.rows`."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(fields(CamValues)))
    return CamValues(*table.T)


def quantise(reports: CamReports) -> CamValues:
    """Reports as the standard's numbers, rounded to the nearest."""
    speed = np.hypot(reports.vx, reports.vy)
    moving = np.isfinite(speed)
    along = np.arctan2(reports.vy, reports.vx)
    heading = _whole(np.degrees(pi / 2 - along) % 360 / HEADING_UNIT, moving) % 3600
    var_along, var_across = _along(along, reports.var_vx, reports.var_vy)
    with np.errstate(divide="ignore", invalid="ignore"):
        heading_spread = np.degrees(np.sqrt(var_across) / speed)
    # An axis-parallel ellipse: the longer half axis to the east or to the north.
    eastward = reports.var_x > reports.var_y
    major = np.where(eastward, reports.var_x, reports.var_y)
    minor = np.where(eastward, reports.var_y, reports.var_x)
    return CamValues(
        reports.id,
        (reports.timestamp - ITS_EPOCH) // 1000 % GENERATION_MODULUS,
        np.rint((LATITUDE + reports.y / METRES_PER_LATITUDE) / POSITION_UNIT).astype(np.int64),
        np.rint((LONGITUDE + reports.x / METRES_PER_LONGITUDE) / POSITION_UNIT).astype(np.int64),
        _axis(major),
        _axis(minor),
        np.where(eastward, 900, 0),
        np.where(moving, heading, HEADING_UNAVAILABLE),
        _confidence(heading_spread, HEADING_UNIT),
        np.where(
            moving,
            np.minimum(_whole(speed / SPEED_UNIT, moving), SPEED_MOST),
            SPEED_UNAVAILABLE,
        ),
        _confidence(np.sqrt(var_along), SPEED_UNIT),
    )


def reports_of(values: CamValues, arrived_at: Integers) -> CamReports:
    """What a receiver reads from CAMs that arrived at these times (µs since the Unix epoch).

    The sensing time is the latest that fits GenerationDeltaTime and is not after arrival. Where a
    confidence says nothing the variance is NaN, and where speed or heading is unavailable the
    velocity is.
    """
    known = (values.heading_value < HEADING_UNAVAILABLE) & (values.speed_value <= SPEED_MOST)
    speed = np.where(known, values.speed_value * SPEED_UNIT, np.nan)
    along = pi / 2 - np.radians(values.heading_value * HEADING_UNIT)
    var_along = _variance(values.speed_confidence, SPEED_UNIT)
    var_across = _variance(values.heading_confidence, radians(HEADING_UNIT)) * speed**2
    var_vx, var_vy = _along(along, var_along, var_across)
    major = _axis_variance(values.semi_major_confidence)
    minor = _axis_variance(values.semi_minor_confidence)
    orientation = pi / 2 - np.radians(values.semi_major_orientation * HEADING_UNIT)
    var_x, var_y = _along(orientation, major, minor)
    return CamReports(
        values.station_id,
        generated_at(values.generation_delta_time, arrived_at),
        (_degrees(values.longitude) - LONGITUDE) * METRES_PER_LONGITUDE,
        (_degrees(values.latitude) - LATITUDE) * METRES_PER_LATITUDE,
        speed * np.cos(along),
        speed * np.sin(along),
        var_x,
        var_y,
        var_vx,
        var_vy,
    )


def _along(direction: Array, first: Array, second: Array) -> tuple[Array, Array]:
    """Variances along two axes turned by ``direction``, each way; what joins the axes is left
    out."""
    cosine, sine = np.cos(direction) ** 2, np.sin(direction) ** 2
    return cosine * first + sine * second, sine * first + cosine * second


def _degrees(position: Integers) -> Array:
    return position.astype(np.float64) * POSITION_UNIT


def _whole(number: Array, known: Array) -> Integers:
    return np.rint(np.where(known, number, 0.0)).astype(np.int64)


def _axis(variance: Array) -> Integers:
    """SemiAxisLength; 4095 where unknown."""
    known = np.isfinite(variance)
    length = _whole(ELLIPSE_95 * np.sqrt(variance) / AXIS_UNIT, known)
    return np.where(known, np.where(length > AXIS_MOST, AXIS_OUT_OF_RANGE, length), 4095)


def _axis_variance(length: Integers) -> Array:
    known = length <= AXIS_MOST
    # An axis of 0 was rounded down from less than half a unit.
    metres = np.maximum(length, 0.5) * AXIS_UNIT
    return np.where(known, (metres / ELLIPSE_95) ** 2, np.nan)


def _confidence(deviation: Array, unit: float) -> Integers:
    """SpeedConfidence or HeadingConfidence; 127 where unknown."""
    known = np.isfinite(deviation)
    width = np.maximum(_whole(NORMAL_95 * deviation / unit, known), 1)
    return np.where(known, np.where(width > CONFIDENCE_MOST, CONFIDENCE_OUT_OF_RANGE, width), 127)


def _variance(confidence: Integers, unit: float) -> Array:
    known = confidence <= CONFIDENCE_MOST
    return np.where(known, (confidence * unit / NORMAL_95) ** 2, np.nan)


# --------------------------------- bytes: CAM-PDU-Descriptions version 2, unaligned PER, by pycrate


PROTOCOL_VERSION = 2
CAM_MESSAGE = 2
"""messageID of a CAM"""
PASSENGER_CAR = 5

Row = tuple[int, ...]
"""the numbers of one CAM, in the order of :class:`~headway.world.cam.CamValues`"""


class Drop(StrEnum):
    """Why bytes were not taken for a CAM."""

    UNDECODABLE = "undecodable"
    """not UPER of a CAM, or cut short"""
    OTHER_MESSAGE = "other message"
    """another protocol version or message than a CAM"""
    NO_VEHICLE = "no vehicle"
    """a road-side unit's CAM"""
    NO_POSITION = "no position"
    """its position is unavailable"""
    STALE = "stale"
    """older than a CAM may be when it arrives"""
    FAR = "implausibly far"
    """no radio reaches that far"""


@dataclass(frozen=True, slots=True)
class Codec:
    """pycrate's CAM. Not to be shared between threads: pycrate keeps the value last handled."""

    cam: Any
    errors: tuple[type[Exception], ...]

    def encode(self, row: Row) -> bytes:
        """The bytes of a CAM with these numbers, all else unavailable."""
        self.cam.set_val(_value(row))
        encoded: bytes = self.cam.to_uper()
        return encoded

    def decode(self, data: bytes) -> Row | Drop:
        """The numbers of a CAM, or why it is none. Whatever the bytes, nothing is raised."""
        try:
            self.cam.from_uper(data)
            value = self.cam.get_val()
        except self.errors:
            return Drop.UNDECODABLE
        return _row(value)

    def decode_all(self, messages: Iterable[bytes]) -> list[Row | Drop]:
        return [self.decode(data) for data in messages]


@cache
def codec() -> Codec:
    """The codec, loaded when first needed; EnvironmentMissing without pycrate."""
    try:
        from pycrate_asn1dir.ITS_CAM_2 import CAM_PDU_Descriptions
        from pycrate_core.utils import PycrateErr
    except ImportError:
        raise EnvironmentMissing(
            "Encoding and decoding CAMs needs pycrate. Install it with: pip install 'headway[cam]'"
        ) from None
    # pycrate's own errors, and what its decoder lets through on bytes that are no CAM.
    errors = (PycrateErr, ValueError, LookupError, TypeError, ArithmeticError, AssertionError)
    return Codec(CAM_PDU_Descriptions.CAM, errors)


def _value(row: Row) -> dict[str, Any]:
    (station, generated, latitude, longitude, major, minor, orientation,
     heading, heading_confidence, speed, speed_confidence) = row  # fmt: skip
    position = {
        "latitude": latitude,
        "longitude": longitude,
        "positionConfidenceEllipse": {
            "semiMajorConfidence": major,
            "semiMinorConfidence": minor,
            "semiMajorOrientation": orientation,
        },
        "altitude": {"altitudeValue": 800_001, "altitudeConfidence": "unavailable"},
    }
    motion = {
        "heading": {"headingValue": heading, "headingConfidence": heading_confidence},
        "speed": {"speedValue": speed, "speedConfidence": speed_confidence},
        "driveDirection": "forward",
        "vehicleLength": {
            "vehicleLengthValue": 1023,
            "vehicleLengthConfidenceIndication": "unavailable",
        },
        "vehicleWidth": 62,
        "longitudinalAcceleration": {
            "longitudinalAccelerationValue": 161,
            "longitudinalAccelerationConfidence": 102,
        },
        "curvature": {"curvatureValue": 1023, "curvatureConfidence": "unavailable"},
        "curvatureCalculationMode": "unavailable",
        "yawRate": {"yawRateValue": 32_767, "yawRateConfidence": "unavailable"},
    }
    return {
        "header": {
            "protocolVersion": PROTOCOL_VERSION,
            "messageID": CAM_MESSAGE,
            "stationID": station,
        },
        "cam": {
            "generationDeltaTime": generated,
            "camParameters": {
                "basicContainer": {"stationType": PASSENGER_CAR, "referencePosition": position},
                "highFrequencyContainer": ("basicVehicleContainerHighFrequency", motion),
            },
        },
    }


def _row(value: dict[str, Any]) -> Row | Drop:
    header = value["header"]
    if (header["protocolVersion"], header["messageID"]) != (PROTOCOL_VERSION, CAM_MESSAGE):
        return Drop.OTHER_MESSAGE
    parameters = value["cam"]["camParameters"]
    kind, motion = parameters["highFrequencyContainer"]
    if kind != "basicVehicleContainerHighFrequency":
        return Drop.NO_VEHICLE
    position = parameters["basicContainer"]["referencePosition"]
    latitude, longitude = position["latitude"], position["longitude"]
    if latitude == LATITUDE_UNAVAILABLE or longitude == LONGITUDE_UNAVAILABLE:
        return Drop.NO_POSITION
    ellipse = position["positionConfidenceEllipse"]
    return (
        header["stationID"],
        value["cam"]["generationDeltaTime"],
        latitude,
        longitude,
        ellipse["semiMajorConfidence"],
        ellipse["semiMinorConfidence"],
        ellipse["semiMajorOrientation"],
        motion["heading"]["headingValue"],
        motion["heading"]["headingConfidence"],
        motion["speed"]["speedValue"],
        motion["speed"]["speedConfidence"],
    )
