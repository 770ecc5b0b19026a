"""A source in a log of vehicles' own messages: SAE J2735 BSMs as JSON, or ETSI CAMs as bytes.

BSMs as the ITS Data Exchange of the US DOT publishes them, a JSON object a line::

    bsm: bsm.jsonl
    columns: {speed: coreData.speed, lat: coreData.position.latitude}
    vehicle: KA-HW-1          # optional; without it the message's own id, coreData.id

Paths lead into the message (``payload.data``), or, beginning with ``metadata.``, into what the
recorder says of it. A tuple is sensed when its record was generated, with the milliseconds of the
message's ``secMark``, and arrives when it was received.

CAMs (EN 302 637-2) in UPER, a JSON object a line with ``received`` (ISO 8601 or microseconds) and
``uper`` (hexadecimal)::

    cam: cams.jsonl
    columns: {speed: speed, lat: latitude, id: station_id}

Columns are those of ``CAM_FIELDS``, in degrees, metres and seconds; what a message calls
unavailable is NULL. A tuple is sensed when the CAM was generated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from headway.errors import DataError, Place, Problem
from headway.model.schema import TIMESTAMP_COLUMN, DataType, Field, Schema
from headway.sources.jsonl_file import CONVERTERS
from headway.sources.pointer_file import Pointer
from headway.sources.source_records import (
    ARRIVAL_FIELD,
    Record,
    bad_value,
    needed,
    parse_time,
    unreadable,
)

Line = tuple[int, dict[str, Any]]
_ABSENT = object()


def read_its(pointer: Pointer, schema: Schema) -> Iterator[Record]:
    """The tuples in the order of their lines; the mapping is checked at once."""
    pointer.only(("bsm", "cam", "columns", "vehicle"))
    if "bsm" in pointer.data:
        paths = pointer.all_columns(schema, "field")
        return _bsms(pointer.file("bsm"), schema, paths, pointer.text("vehicle"))
    names = pointer.all_columns(schema, "field")
    if unknown := [name for name in names if name not in CAM_FIELDS]:
        raise pointer.wrong("columns", f"fields of {', '.join(CAM_FIELDS)}", ", ".join(unknown))
    return _cams(pointer.file("cam"), schema, names, pointer.text("vehicle"))


def _lines(path: Path) -> Iterator[Line]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, text in enumerate(file, start=1):
                if text.isspace():
                    continue
                try:
                    line = json.loads(text)
                except (ValueError, RecursionError):
                    raise DataError("not JSON", place=Place(str(path), number)) from None
                if not isinstance(line, dict):
                    got = f"{text.strip():.80}"
                    raise DataError("no JSON object", place=Place(str(path), number), got=got)
                yield number, line
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError as error:
        raise unreadable(path, error, "is not JSON in UTF-8") from None


def _look_up(value: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return _ABSENT
        value = value[name]
    return value


def _cells(
    path: Path, number: int, schema: Schema, values: list[Any], sensed: int
) -> tuple[Any, ...]:
    cells: list[Any] = [sensed]
    for field, value in zip(schema.fields, values, strict=True):
        try:
            cells.append(None if value is None else CONVERTERS[field.type](value))
        except (TypeError, ValueError, OverflowError):
            raise bad_value(path, number, field, value) from None
    return tuple(cells)


# ---------------------------------------------------------------- BSMs

MINUTE_US = 60_000_000
SECOND_MARK_UNKNOWN = 61_000
"""secMark: milliseconds within the minute; from here on leap seconds, reserved, unknown"""


def _bsms(path: Path, schema: Schema, paths: list[str], vehicle: str | None) -> Iterator[Record]:
    seen: set[str] = set()
    for number, line in _lines(path):
        message, metadata = _look_up(line, "payload.data"), line.get("metadata")
        if not isinstance(message, dict) or not isinstance(metadata, dict):
            want = "want an object with metadata and payload.data, as the ODE writes BSMs"
            raise DataError("no BSM", place=Place(str(path), number), want=want)
        found = [_look_up(line if one.startswith("metadata.") else message, one) for one in paths]
        seen |= {one for one, value in zip(paths, found, strict=True) if value is not _ABSENT}
        generated = _time(path, number, TIMESTAMP_COLUMN, metadata.get("recordGeneratedAt"))
        sensed = _with_mark(generated, _look_up(message, "coreData.secMark"))
        received = metadata.get("odeReceivedAt")
        at = sensed if received is None else _time(path, number, ARRIVAL_FIELD.name, received)
        owner = vehicle if vehicle is not None else _look_up(message, "coreData.id")
        values = [None if one is _ABSENT else one for one in found]
        row = _cells(path, number, schema, values, sensed)
        yield Record(at, owner if isinstance(owner, str) else None, row, number)
    if missing := [one for one in paths if one not in seen]:
        raise DataError(
            Problem(f"no message has a field {one!r}", place=Place(str(path))) for one in missing
        )


def _time(path: Path, number: int, name: str, value: object) -> int:
    """Java's texts may end with the zone's name: ``2026-01-01T00:00:00Z[UTC]``."""
    try:
        if not isinstance(value, str):
            raise TypeError
        return parse_time(value.partition("[")[0])
    except (TypeError, ValueError):
        raise bad_value(path, number, Field(name, DataType.TIMESTAMP), value) from None


def _with_mark(generated: int, mark: Any) -> int:
    """The moment within its minute that the message itself names, in the minute that is nearest to
    when the record was generated."""
    if type(mark) is not int or not 0 <= mark < SECOND_MARK_UNKNOWN:
        return generated
    offset = (mark * 1000 - generated % MINUTE_US + MINUTE_US // 2) % MINUTE_US - MINUTE_US // 2
    return generated + offset


# ---------------------------------------------------------------- CAMs

GENERATION_MODULUS = 65_536
"""GenerationDeltaTime: milliseconds of TimestampIts modulo this"""
ITS_EPOCH = 1_072_915_200_000_000 - 5_000_000
"""microseconds since the Unix epoch at which TimestampIts is 0: 2004-01-01 UTC; it counts the leap
seconds since (5 until 2017, and none later)"""
Times = TypeVar("Times", int, "np.ndarray[tuple[int], np.dtype[np.int64]]")


def generated_at(delta: Times, arrived_at: Times) -> Times:
    """The latest time that fits GenerationDeltaTime and is not after arrival; microseconds."""
    arrived = (arrived_at - ITS_EPOCH) // 1000
    age = (arrived - delta) % GENERATION_MODULUS
    return (arrived - age) * 1000 + ITS_EPOCH


_MOTION = "cam.camParameters.highFrequencyContainer"
_BASIC = "cam.camParameters.basicContainer"
CAM_FIELDS: Mapping[str, tuple[str, float | None, int | None]] = {
    "station_id": ("header.stationID", None, None),
    "station_type": (f"{_BASIC}.stationType", None, None),
    "latitude": (f"{_BASIC}.referencePosition.latitude", 1e-7, 900_000_001),
    "longitude": (f"{_BASIC}.referencePosition.longitude", 1e-7, 1_800_000_001),
    "altitude": (f"{_BASIC}.referencePosition.altitude.altitudeValue", 0.01, 800_001),
    "heading": (f"{_MOTION}.heading.headingValue", 0.1, 3601),
    "speed": (f"{_MOTION}.speed.speedValue", 0.01, 16_383),
    "acceleration": (
        f"{_MOTION}.longitudinalAcceleration.longitudinalAccelerationValue", 0.1, 161),
    "yaw_rate": (f"{_MOTION}.yawRate.yawRateValue", 0.01, 32_767),
    "length": (f"{_MOTION}.vehicleLength.vehicleLengthValue", 0.1, 1023),
    "width": (f"{_MOTION}.vehicleWidth", 0.1, 62),
    "drive_direction": (f"{_MOTION}.driveDirection", None, None),
}  # fmt: skip
"""name -> where it is, its unit (None: as it stands), the number that says it is unavailable"""


def _cams(path: Path, schema: Schema, names: list[str], vehicle: str | None) -> Iterator[Record]:
    decode = _decoder()
    for number, line in _lines(path):
        arrived = line.get("received")
        try:
            at = parse_time(str(arrived))
        except ValueError:
            raise bad_value(path, number, ARRIVAL_FIELD, arrived) from None
        message = decode(path, number, line.get("uper"))
        values = [_cam_value(message, name) for name in names]
        sensed = generated_at(int(message["cam"]["generationDeltaTime"]), at)
        yield Record(at, vehicle, _cells(path, number, schema, values, sensed), number)


def _cam_value(message: dict[str, Any], name: str) -> Any:
    where, unit, unavailable = CAM_FIELDS[name]
    value = _look_up(message, where)
    if value is _ABSENT or value == unavailable:
        return None
    return value if unit is None else value * unit


def _decoder() -> Callable[[Path, int, object], dict[str, Any]]:
    cams = needed("pycrate_asn1dir.ITS_CAM_2", "pycrate", extra="cam", reading="CAMs")
    kind = cams.CAM_PDU_Descriptions.CAM

    def decode(path: Path, number: int, given: object) -> dict[str, Any]:
        try:
            kind.from_uper(bytes.fromhex(str(given)))
            message: dict[str, Any] = kind.get_val()
            parameters = message["cam"]["camParameters"]
            name, motion = parameters["highFrequencyContainer"]
            parameters["highFrequencyContainer"] = motion if name.startswith("basic") else {}
        # pycrate's decoder lets through whatever bytes that are no CAM make it trip over.
        except Exception:  # noqa: BLE001
            raise DataError(
                "no CAM",
                place=Place(str(path), number),
                at="uper",
                got=f"{given!r:.60}",
                want="want the bytes of a CAM (EN 302 637-2) in UPER, hexadecimal",
            ) from None
        return message

    return decode
