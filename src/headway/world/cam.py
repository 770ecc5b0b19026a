"""ETSI CAMs as bytes: EN 302 637-2 (CAM-PDU-Descriptions version 2), unaligned PER, by pycrate.

A CAM tells of one vehicle. Sent for a vehicle that the sender's radar saw it carries that vehicle's
station id, as the papers have it; who sent it is told by the network header, not by the CAM.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from headway.errors import EnvironmentMissing
from headway.world.cam_values import LATITUDE_UNAVAILABLE, LONGITUDE_UNAVAILABLE

PROTOCOL_VERSION = 2
CAM_MESSAGE = 2
"""messageID of a CAM"""
PASSENGER_CAR = 5
LARGEST_STATION_ID = 2**32 - 1

Row = tuple[int, ...]
"""the numbers of one CAM, in the order of :class:`~headway.world.cam_values.CamValues`"""


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
