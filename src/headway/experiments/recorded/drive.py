"""The car ahead on a drive in the layout of comma2k19, by a query on the vehicle engine.

The recording is written for the sources ``gps``, ``speed`` and ``radar`` of
``examples/collision_warning/car_ahead.yaml``: GNSS and speed as Parquet, the radar as it is in the
raw CAN log, decoded with its DBC.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.errors import DataError, Place, PlacementError, Problem
from headway.experiments.collision.application import Application, example
from headway.experiments.recorded.segment import can_log_of, dbc_of
from headway.files import load_query, load_vehicle
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Source
from headway.model.schema import Schema
from headway.model.user_operator import Row
from headway.sources.comma2k19 import load_radar, load_segment
from headway.sources.parquet_file import StreamWriter
from headway.sources.recordings import read_recording

RADAR_CAN = """log: {log}
dbc: {dbc}
bus: 1
messages: "TRACK_A_*"
columns: {{track: frame.address, valid: VALID, forward: LONG_DIST, right: LAT_DIST,
  closing: REL_SPEED}}
"""


def car_ahead_application() -> Application:
    """The example's query and its one ECU."""
    query, vehicle = example("car_ahead.yaml"), example("one_ecu.yaml")
    return Application(load_query(query).query, load_vehicle(vehicle).vehicle)


def plan_at(given: Application, rate: float) -> Plan:
    """For an ECU of this rate. Where it is too slow for the compiler (more work is declared than it
    can do), what was compiled for the rate of the file runs on it, and nothing is promised."""
    nodes = tuple(replace(node, rate=rate) for node in given.vehicle.nodes)
    vehicle = replace(given.vehicle, nodes=nodes)
    try:
        return compile_query(given.query, vehicle)
    except PlacementError:
        return replace(compile_query(given.query, given.vehicle), vehicle=vehicle, verdict=None)


def write_recording(folder: Path, segment_folder: Path, sources: Sequence[Source]) -> None:
    """GNSS and speed as Parquet; a pointer into the CAN log for the radar."""
    segment = load_segment(segment_folder)
    schemas = {source.name: source.schema for source in sources}
    gnss = segment.gnss
    heading = np.radians(90.0 - gnss.bearing)  # clockwise from north to counter-clockwise from east
    rows = zip(gnss.times.tolist(), *gnss.position.T.tolist(), heading.tolist(), strict=True)
    _write(folder / "gps.parquet", schemas["gps"], rows)
    speed = zip(segment.speed.times.tolist(), segment.speed.speed.tolist(), strict=True)
    _write(folder / "speed.parquet", schemas["speed"], speed)
    log, dbc = (
        json.dumps(str(path)) for path in (can_log_of(segment_folder), dbc_of(segment_folder))
    )
    (folder / "radar.can").write_text(RADAR_CAN.format(log=log, dbc=dbc), encoding="utf-8")


def _write(path: Path, schema: Schema, rows: Iterable[Row]) -> None:
    with StreamWriter(path, schema, arrival=False) as writer:
        for row in rows:
            writer.write(row)


def recorded(segment_folder: Path, sources: Sequence[Source]) -> list[Arrival]:
    """The segment's tuples for the query's sources, by arrival."""
    with TemporaryDirectory() as folder:
        write_recording(Path(folder), segment_folder, sources)
        found = [
            Arrival(one.arrived_at * MICROSECOND, one.source, one.row)
            for one in read_recording(Path(folder), sources)
        ]
    _check_tracks(segment_folder, found, sources)
    return found


def _check_tracks(folder: Path, found: Sequence[Arrival], sources: Sequence[Source]) -> None:
    """A DBC that was cut off, or is of another radar, would leave out tracks without a word."""
    (columns,) = (source.schema.columns for source in sources if source.name == "radar")
    place = [column.name for column in columns].index("track")
    decoded = {one.row[place] for one in found if one.source == "radar"}
    missing = sorted({int(track) for track in load_radar(folder).track} - decoded)
    if missing:
        raise DataError(
            Problem(
                f"{len(missing)} of the radar's tracks cannot be decoded, the first is "
                f"{missing[0]:#x}",
                place=Place(str(dbc_of(folder))),
                want="take the whole toyota_adas.dbc, and a drive of a Toyota RAV4",
            )
        )


def drive(arrivals: Iterable[Arrival], plan: Plan, policy: str = "s-edf") -> RunResult:
    return Engine(plan=plan, policy=policy, keep_trace=False).run(arrivals)
