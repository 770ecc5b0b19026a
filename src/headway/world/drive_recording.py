"""A drive as one car's sensors record it: a table per source, and what was true.

In every table our car (the one that records) has the id 0, :data:`OWN_ID`, which is what type 1
fusion calls its own vehicle; all others have the id of the traffic.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headway.errors import InputError
from headway.model.query import Source
from headway.model.schema import DataType, Field, Schema, parse_field
from headway.sources.parquet_file import arrow_schema
from headway.sources.recordings import RecordedArrival
from headway.sources.source_records import ARRIVAL_FIELD, VEHICLE_FIELD, unreadable, wanted_fields
from headway.world.broadcasts import Broadcasts, RadioCounts, hear, hear_broadcasts, receive
from headway.world.car_sensors import CYCLE, CYCLE_MS, Readings, SensorModel, look, phases, read_own
from headway.world.drive_scenario import Purpose, Scenario, generator
from headway.world.grid_traffic import GridTraffic
from headway.world.own_estimate import OwnEstimates, estimate_own
from headway.world.radio import RadioModel
from headway.world.traffic import Integers, Motion, Traffic, seconds

# ---------------------------------------------------------------- tables

_MOTION = {"x": "float [m]", "y": "float [m]", "vx": "float [m/s]", "vy": "float [m/s]"}
_VARIANCES = dict.fromkeys(("var_x", "var_y", "var_vx", "var_vy"), "float")


def _schema(**columns: str) -> Schema:
    return Schema(tuple(parse_field(name, text) for name, text in columns.items()))


STREAMS: Mapping[str, Schema] = {
    "gps": _schema(x="float [m]", y="float [m]", heading="float [rad]"),
    "speed": _schema(v="float [m/s]"),
    "radar": _schema(
        id="bigint", dx="float [m]", dy="float [m]", dvx="float [m/s]", dvy="float [m/s]"
    ),
    "v2v": _schema(
        id="bigint", sensor="string(5)", own="boolean", **_MOTION, **_VARIANCES,
        distance="float [m]",
    ),
}  # fmt: skip
"""The sources of examples/collision_warning."""
EXTRA = {"v2v": [Field("sender", DataType.BIGINT)]}
"""Columns of the recordings that no source has."""
TRUTH = Schema(
    (
        parse_field("id", "bigint"),
        *(parse_field(name, text.replace("float", "double")) for name, text in _MOTION.items()),
    )
)


def stream_table(name: str, columns: Mapping[str, Any], vehicle: str) -> Any:
    """A source's table, with ``arrived_at`` and ``vehicle``."""
    fields = [*STREAMS[name].columns, *EXTRA.get(name, []), ARRIVAL_FIELD, VEHICLE_FIELD]
    rows = len(columns["timestamp"])
    return _table(fields, {**columns, "vehicle": np.full(rows, vehicle)})


def table(schema: Schema, columns: Mapping[str, Any]) -> Any:
    """A table with these columns and nothing else."""
    return _table(list(schema.columns), columns)


def _table(fields: list[Field], columns: Mapping[str, Any]) -> Any:
    types = arrow_schema(fields)
    # from_pandas: a NaN is a value that is not known, so NULL.
    arrays = [pa.array(columns[field.name], from_pandas=True).cast(field.type) for field in types]
    return pa.Table.from_arrays(arrays, schema=types)


def python_values(column: Any) -> list[Any]:
    """A column's values as the reader of recordings gives them: times as microseconds."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if column.null_count or pa.types.is_string(column.type):
        values: list[Any] = column.to_pylist()
    else:
        values = column.to_numpy().tolist()
    return values


# ---------------------------------------------------------------- the drive


OWN_ID = 0
BEGIN = 1_767_225_600_000_000
"""2026-01-01 00:00:00 UTC, in microseconds: time 0 of a drive"""


@dataclass(frozen=True, slots=True)
class DriveRecording:
    """``streams``: tables gps, speed, radar, v2v, in order of arrival, with the columns of the
    example's schemas and ``timestamp``, ``arrived_at`` (µs, UTC) and ``vehicle``; v2v also has
    ``sender``. ``truth``: ``timestamp, id, x, y, vx, vy`` of every car, every 100 ms from the
    begin."""

    traffic: Traffic
    car: int
    """the id, in the traffic, of the car that records"""
    vehicle: str
    begin: int
    """microseconds since the epoch at time 0"""
    streams: Mapping[str, Any]
    truth: Any
    counts: RadioCounts

    def arrivals(self, sources: Iterable[Source]) -> Iterator[RecordedArrival]:
        """The same tuples, in the same order, as reading the written recording gives."""
        streams = [self._arrivals(source, place) for place, source in enumerate(sources)]
        return (arrival for _, _, _, arrival in heapq.merge(*streams))

    def _arrivals(
        self, source: Source, place: int
    ) -> Iterator[tuple[int, int, int, RecordedArrival]]:
        stream = self.streams.get(source.name)
        if stream is None:
            raise InputError(
                f"the drive has no stream {source.name!r}",
                at=f"sources.{source.name}",
                want=f"there are: {', '.join(self.streams)}",
            )
        names = [field.name for field in source.schema.columns]
        wanted_fields(Path(source.name), source.schema, stream.column_names)
        arrived = python_values(stream.column("arrived_at"))
        rows = zip(*(python_values(stream.column(name)) for name in names), strict=True)
        for number, (arrived_at, row) in enumerate(zip(arrived, rows, strict=True)):
            yield (
                arrived_at,
                place,
                number,
                RecordedArrival(arrived_at, source.name, row, self.vehicle),
            )

    def write(self, folder: Path) -> None:
        """One Parquet file per stream, and ``truth.parquet``; ``headway run`` reads the folder."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, stream in {**self.streams, "truth": self.truth}.items():
                pq.write_table(stream, folder / f"{name}.parquet")
        except OSError as error:
            raise unreadable(folder, error, "cannot be written") from None


def record(
    world: Scenario | Traffic,
    car: int | None = None,
    *,
    trial: int = 0,
    sensors: SensorModel | None = None,
    radio: RadioModel | None = None,
    bytes_on_air: bool = False,
    begin: int = BEGIN,
    said: Broadcasts | None = None,
) -> DriveRecording:
    """Drives once through the world and keeps what ``car`` (ours if None) senses and hears.

    ``trial`` numbers repetitions in the same traffic: other phases, noise and losses.
    ``bytes_on_air`` encodes every message as a CAM in UPER and decodes it again (needs the extra
    ``cam``); without it the values are quantised alike, which gives the same tuples.
    ``said``: what the others send, where they run a query of their own
    (:mod:`headway.drive.car_broadcasts`); without it a model of them says it.
    """
    traffic = GridTraffic(world) if isinstance(world, Scenario) else world
    sensors, radio = sensors or SensorModel(), radio or RadioModel()
    sensors.validate()
    radio.validate()
    column = _column(traffic, traffic.own if car is None else car)
    _check(trial, begin)

    seed, ids = traffic.seed, traffic.ids
    cycles = int(traffic.duration / CYCLE + 1e-9)
    phase = phases(seed, trial, len(ids))
    sensed_at = (phase[None, :] + CYCLE_MS * np.arange(cycles)[:, None]) * 1000
    motion = traffic.of(np.arange(len(ids))[None, :], seconds(sensed_at))
    readings = read_own(sensors, motion, seed, trial)
    estimates = _estimates(traffic, motion, readings, sensors, trial)

    names = np.where(np.arange(len(ids)) == column, OWN_ID, ids)
    if said is None:
        heard = hear(traffic, column, sensed_at, estimates, sensors, radio, trial)
    else:
        heard = hear_broadcasts(traffic, column, said, radio)
    own = sensed_at[:, column], estimates.x[:, column], estimates.y[:, column]
    received, counts = receive(heard, names, own, radio, (seed, trial, column), begin, bytes_on_air)
    reports = received.reports
    v2v = {
        "timestamp": reports.timestamp, "id": reports.id,
        "sensor": np.full(len(reports.id), "v2v"), "own": np.zeros(len(reports.id), np.bool_),
        "x": reports.x, "y": reports.y, "vx": reports.vx, "vy": reports.vy,
        "var_x": reports.var_x, "var_y": reports.var_y,
        "var_vx": reports.var_vx, "var_vy": reports.var_vy,
        "distance": received.distance, "sender": names[received.sender],
        "arrived_at": received.arrived_at,
    }  # fmt: skip
    board = _on_board(traffic, column, sensed_at[:, column], readings, sensors, trial, names)
    vehicle = f"car{int(ids[column])}"
    return DriveRecording(
        traffic=traffic,
        car=int(ids[column]),
        vehicle=vehicle,
        begin=begin,
        streams={
            name: stream_table(name, columns, vehicle)
            for name, columns in {
                **{name: _shifted(columns, begin) for name, columns in board.items()},
                "v2v": v2v,
            }.items()
        },
        truth=_truth(traffic, names, cycles, begin),
        counts=counts,
    )


def _column(traffic: Traffic, car: int) -> int:
    found = np.flatnonzero(traffic.ids == car)
    if found.size == 0:
        raise InputError(
            "there is no such car",
            at="car",
            got=str(car),
            want=f"the traffic has {traffic.ids[0]} to {traffic.ids[-1]}",
        )
    return int(found[0])


def _check(trial: int, begin: int) -> None:
    if trial < 0:
        raise InputError("must not be negative", at="trial", got=str(trial))
    if begin % 1000:
        raise InputError(
            "must be whole milliseconds, as a CAM tells times",
            at="begin",
            got=f"{begin} microseconds",
        )


def _estimates(
    traffic: Traffic, motion: Motion, readings: Readings, sensors: SensorModel, trial: int
) -> OwnEstimates:
    speed = np.hypot(motion.vx, motion.vy)
    typical = float(np.nanmedian(speed)) if np.isfinite(speed).any() else 0.0
    random = generator(traffic.seed, trial, Purpose.OWN_ESTIMATE)
    return estimate_own(motion, readings, sensors, typical, random)


def _on_board(
    traffic: Traffic,
    column: int,
    sensed_at: Integers,
    readings: Readings,
    sensors: SensorModel,
    trial: int,
    names: Integers,
) -> dict[str, dict[str, Any]]:
    """Columns of gps, speed and radar; times in µs from the begin."""
    there = np.flatnonzero(np.isfinite(readings.x[:, column]))
    at = sensed_at[there]
    random = generator(traffic.seed, trial, Purpose.OWN_RADAR, column)
    seen = look(sensors, traffic, np.full(len(at), column), seconds(at), random)
    x, y, heading, speed = (
        values[there, column]
        for values in (readings.x, readings.y, readings.heading, readings.speed)
    )
    return {
        "gps": {"timestamp": at, "x": x, "y": y, "heading": heading,
                "arrived_at": at + round(sensors.gps_delay * 1e6)},
        "speed": {"timestamp": at, "v": speed,
                  "arrived_at": at + round(sensors.speed_delay * 1e6)},
        "radar": {"timestamp": at[seen.look], "id": names[seen.column],
                  "dx": seen.dx, "dy": seen.dy, "dvx": seen.dvx, "dvy": seen.dvy,
                  "arrived_at": at[seen.look] + round(sensors.radar_delay * 1e6)},
    }  # fmt: skip


def _shifted(columns: dict[str, Any], begin: int) -> dict[str, Any]:
    times = {name: columns[name] + begin for name in ("timestamp", "arrived_at")}
    return {**columns, **times}


def _truth(traffic: Traffic, names: Integers, cycles: int, begin: int) -> Any:
    times = np.arange(cycles + 1, dtype=np.float64) * CYCLE
    motion = traffic.at(times)
    cycle, car = np.nonzero(np.isfinite(motion.x))
    columns = {name: values[cycle, car] for name, values in motion._asdict().items()}
    at = cycle * round(CYCLE * 1e6) + begin
    return table(TRUTH, {"timestamp": at, "id": names[car], **columns})
