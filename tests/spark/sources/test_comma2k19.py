"""A minute of a real drive from raw CAN: own speed and radar tracks, the same on both engines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.contract.recordings import Answer, comparable
from tests.recorded_drive import SEGMENT, frames, needs_the_documented_drive

import headway as hw
from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.sources.can_log import CanDecoder, CanMapping, load_can_file, read_frames
from headway.sources.recordings import read_recording
from headway.spark.batches.lower_batch import lower_batch
from headway.spark.sources.can_source import register
from headway.spark.sources.checked_files import Quarantine
from headway_studies.beyond.comma2k19 import load_radar, load_segment
from headway_studies.beyond.recorded_segment import can_log_of, dbc_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RADAR_DBC = dbc_of(SEGMENT)
LOG = can_log_of(SEGMENT)
pytestmark = needs_the_documented_drive

WHEELS_DBC = """VERSION ""
BS_:
BU_: CAR
BO_ 170 WHEELS: 8 CAR
 SG_ FRONT_RIGHT : 7|16@0+ (0.01,-67.67) [0|250] "km/h" CAR
 SG_ FRONT_LEFT : 23|16@0+ (0.01,-67.67) [0|250] "km/h" CAR
 SG_ REAR_RIGHT : 39|16@0+ (0.01,-67.67) [0|250] "km/h" CAR
 SG_ REAR_LEFT : 55|16@0+ (0.01,-67.67) [0|250] "km/h" CAR
"""
WHEELS = {"fr": "FRONT_RIGHT", "fl": "FRONT_LEFT", "rr": "REAR_RIGHT", "rl": "REAR_LEFT"}
RADAR = {
    "distance": "LONG_DIST",
    "right": "LAT_DIST",
    "speed": "REL_SPEED",
    "valid": "VALID",
    "track": "frame.address",
}
RADAR_TO_CAMERA = 2.7
"""metres, which comma2k19 adds"""


def drive() -> Plan:
    q = hw.QueryBuilder("drive")
    wheels = q.source(
        "wheels", hw.schema(**dict.fromkeys(WHEELS, "double")), rate="2 per 10 ms", delay="0 ms"
    )
    types = {"valid": "boolean", "track": "int"}
    radar = q.source(
        "radar",
        hw.schema(**{name: types.get(name, "double") for name in RADAR}),
        rate="16 per 30 ms",
        delay="0 ms",
    )
    own = wheels.map("own", {"v": "(fr + fl + rr + rl) / 4 / 3.6"}, cost="1 us")
    forward = {"x": f"distance + {RADAR_TO_CAMERA}", "y": "-right", "v": "speed", "track": "track"}
    tracks = radar.filter("seen", "valid", cost="1 us").map("tracks", forward, cost="1 us")
    q.output("own_speed", own, deadline="100 ms")
    q.output("targets", tracks, deadline="100 ms")
    return compile_query(q.build())


def recording(folder: Path) -> Path:
    """What the vehicle engine reads: two files that point into the log."""
    (folder / "wheels.dbc").write_text(WHEELS_DBC, encoding="utf-8")
    files = {
        "wheels": ("wheels.dbc", 0, "*", WHEELS),
        "radar": (RADAR_DBC, 1, "TRACK_A_*", RADAR),
    }
    for name, (dbc, bus, messages, columns) in files.items():
        signals = ", ".join(f"{column}: {signal}" for column, signal in columns.items())
        text = (
            f"log: {LOG}\ndbc: {dbc}\nbus: {bus}\nmessages: '{messages}'\ncolumns: {{{signals}}}\n"
        )
        (folder / f"{name}.can").write_text(text, encoding="utf-8")
    return folder


def in_the_vehicle(plan: Plan, folder: Path) -> Answer:
    arrivals = (
        Arrival(one.arrived_at * MICROSECOND, one.source, one.row)
        for one in read_recording(folder, plan.query.sources)
    )
    result = Engine(plan=plan, charged=False, keep_trace=False).run(arrivals)
    return Counter(
        ("", name, comparable(row))
        for name, record in result.outputs.items()
        for row in record.rows
    )


def can_frame(spark: SparkSession, folder: Path, name: str, **more: str) -> DataFrame:
    log, mapping = load_can_file(folder / f"{name}.can")
    kinds = {"valid": "boolean", "track": "int"}
    columns = ", ".join(f"{column} {kinds.get(column, 'double')}" for column, _ in mapping.columns)
    reader = spark.read.format("headway_can").schema(
        f"timestamp timestamp, {columns}, vehicle string, position bigint"
    )
    options = {
        "path": str(log),
        "dbc": str(mapping.dbc),
        "bus": str(mapping.bus),
        "messages": ",".join(mapping.messages),
        "columns": ", ".join("=".join(pair) for pair in mapping.columns),
        "label": name,
    }
    return reader.options(**options, **more).load()


def on_spark(plan: Plan, sources: dict[str, Any]) -> Answer:
    answer: Answer = Counter()
    with lower_batch(plan, sources) as lowered:
        for name, data in lowered.items():
            table = data.toArrow()
            at = table.column("timestamp").cast("int64").to_pylist()
            rest = [table.column(n).to_pylist() for n in table.column_names[2:]]
            answer.update(("", name, comparable(row)) for row in zip(at, *rest, strict=True))
    return answer


def test_39_000_frames_can_be_decoded() -> None:
    columns = (("distance", "LONG_DIST"), ("counter", "COUNTER"))
    fields = hw.schema(distance="double", counter="double")
    decoder = CanDecoder(CanMapping(RADAR_DBC, columns, bus=1), fields)
    assert sum(1 for _ in decoder.rows(read_frames(LOG))) == 39_000
    assert decoder.counts.undecodable.total() == 6_000
    reasons = {one.reason for one in decoder.counts.undecodable}
    assert reasons == {"no message of the DBC has this address"}


def test_both_engines_give_what_comma_ai_decoded(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    plan, folder = drive(), recording(tmp_path)
    expected = in_the_vehicle(plan, folder)
    _compare_with_the_data_set(expected)
    left_out = str(tmp_path / "quarantine")
    sources = {
        name: can_frame(spark, folder, name, quarantine=left_out) for name in ("wheels", "radar")
    }
    got = on_spark(plan, sources)
    assert got == expected
    entries = Quarantine(Path(left_out)).entries()
    assert [entry.source for entry in entries] == ["radar", "wheels"]
    assert entries[0].count == 6_000
    others = frames() - 19_200 - 6_000
    told = f"{frames():,} frames: 19,200 rows, {others:,} not asked for; 1,200 of 0x230"
    assert told in entries[0].reason


def _compare_with_the_data_set(answer: Answer) -> None:
    """Its distances were decoded with two bits less, in steps of 4 cm; all else is equal."""

    def rows(name: str) -> Any:
        found = (row for _, output, row in answer.elements() if output == name)
        return np.array(sorted(found, key=lambda row: (row[0], row[-1])))

    own, speed = rows("own_speed"), load_segment(SEGMENT).speed.speed
    assert len(own) == len(speed) == 4_974
    np.testing.assert_allclose(own[:, 1], speed, atol=1e-9)
    targets, radar = rows("targets"), load_radar(SEGMENT)
    assert len(targets) == len(radar.seconds) == 10_100
    times = np.rint(radar.seconds * 1e6)
    columns = [times, radar.forward, radar.left, radar.opening, radar.track]
    given = np.column_stack(columns)[np.lexsort((radar.track, times))]
    coarse = np.rint((targets[:, 1] - RADAR_TO_CAMERA) * 100) // 4 * 0.04 + RADAR_TO_CAMERA
    np.testing.assert_allclose(coarse, given[:, 1], atol=1e-9)
    np.testing.assert_allclose(targets[:, [0, 2, 3, 4]], given[:, [0, 2, 3, 4]], atol=1e-9)
