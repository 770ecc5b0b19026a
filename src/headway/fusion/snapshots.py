"""A track as plain JSON-able data and back, exactly."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

from headway.fusion.state import Associated, FilterState, SpeedScale, TrackState
from headway.fusion.track import Measurement, Reading, Track
from headway.model.user_operator import Row


def pack_track(track: Track[Reading]) -> dict[str, Any]:
    return {
        "object": track.object,
        "measurements": [
            [m.sensor, m.arrival, m.port, pack_row(m.row)] for m in track.measurements
        ],
        "times": list(track.times),
        "states": [state and pack_known(state) for state in track.states],
    }


def unpack_track(
    packed: dict[str, Any], read: Callable[[str, Row], Reading | None]
) -> Track[Reading]:
    track: Track[Reading] = Track(packed["object"])
    for sensor, arrival, port, values in packed["measurements"]:
        row = unpack_row(values)
        reading = read(port, row)
        if reading is not None:  # it was usable when it came
            track.measurements.append(Measurement(row[0], sensor, arrival, port, row, reading))
    track.times = list(packed["times"])
    track.states = [state and unpack_known(state) for state in packed["states"]]
    return track


def pack_known(state: TrackState) -> list[Any] | dict[str, Any]:
    if not isinstance(state, Associated):
        return pack_state(state)
    packed = state._asdict()
    for name in ("believed", "rival"):
        packed[name] = packed[name] and pack_state(packed[name])
    return packed


def unpack_known(packed: list[Any] | dict[str, Any]) -> TrackState:
    if isinstance(packed, list):
        return unpack_state(packed)
    rival = packed["rival"]
    return Associated(
        **{
            **packed,
            "believed": unpack_state(packed["believed"]),
            "rival": rival and unpack_state(rival),
        }
    )


def pack_state(state: FilterState) -> list[Any]:
    *values, scale = state
    return [*values, scale and list(scale)]


def unpack_state(packed: list[Any]) -> FilterState:
    *values, scale = packed
    return FilterState._make([*values, scale and SpeedScale(*scale)])


def pack_row(row: Row) -> list[Any]:
    """JSON has no NaN and no infinity: they become ``{"float": "nan"}``."""
    return [
        {"float": str(value)} if isinstance(value, float) and not isfinite(value) else value
        for value in row
    ]


def unpack_row(values: list[Any]) -> Row:
    return tuple(float(value["float"]) if isinstance(value, dict) else value for value in values)
