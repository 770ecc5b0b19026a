"""A drive's tables: the example's schemas, the same bytes for the same seed, nothing uncounted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.world.support import needs_pycrate

from headway import load_query
from headway.errors import InputError
from headway.sources.recordings import read_recording
from headway.world.car_sensors import SensorModel
from headway.world.drive_recording import BEGIN, OWN_ID, STREAMS, DriveRecording, record
from headway.world.drive_scenario import Scenario
from headway.world.grid_traffic import GridTraffic, clear_view
from headway.world.radio import RadioModel

QUERY = Path(__file__).parents[2] / "examples" / "collision_warning" / "query.yaml"
SHORT = Scenario(
    cars=30, duration=16.0, collision_crossings=(1,), crowded_crossings=(1,), columns=3, rows=5
)


@pytest.fixture(scope="module")
def drive() -> DriveRecording:
    return record(Scenario())


def values(table: Any, name: str) -> np.ndarray:
    column = table.column(name)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    array: np.ndarray = column.to_numpy()
    return array


def test_the_streams_have_the_schemas_of_the_example() -> None:
    sources = load_query(QUERY).query.sources
    assert {source.name: source.schema for source in sources} == dict(STREAMS)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, trial in (("a", 0), ("b", 0), ("c", 1)):
        record(SHORT, trial=trial).write(tmp_path / name)
    for stream in (*STREAMS, "truth"):
        first, same, other = (
            (tmp_path / name / f"{stream}.parquet").read_bytes() for name in "abc"
        )
        assert first == same
        assert (first == other) == (stream == "truth"), stream


def test_what_is_written_reads_back_as_it_arrives(tmp_path: Path, drive: DriveRecording) -> None:
    sources = load_query(QUERY).query.sources
    drive.write(tmp_path)
    read = list(read_recording(tmp_path, sources, vehicle="car1"))
    assert read == list(drive.arrivals(sources))
    assert Counter(arrival.source for arrival in read) == {
        name: table.num_rows for name, table in drive.streams.items()
    }


def test_v2v_arrives_out_of_order_by_up_to_100_ms(drive: DriveRecording) -> None:
    v2v = drive.streams["v2v"]
    arrived, sensed = values(v2v, "arrived_at"), values(v2v, "timestamp")
    assert (np.diff(arrived) >= 0).all()
    delay = arrived - sensed
    assert delay.min() >= 0
    assert delay.max() <= 100_000
    assert delay.max() > 80_000
    behind = np.maximum.accumulate(sensed) - sensed
    assert 50_000 < behind.max() <= 100_000


def test_the_sensors_of_a_car_share_its_cycle(drive: DriveRecording) -> None:
    """Join1 pairs radar and own position within 1 ms."""
    gps, speed = drive.streams["gps"], drive.streams["speed"]
    times = values(gps, "timestamp")
    np.testing.assert_array_equal(times, values(speed, "timestamp"))
    assert (np.diff(times) == 100_000).all()
    assert set(values(drive.streams["radar"], "timestamp")) <= set(times)
    per_cycle = Counter(values(drive.streams["radar"], "timestamp").tolist())
    assert max(per_cycle.values()) <= 8
    for name, most in (("gps", 2_000), ("speed", 1_000), ("radar", 2_000)):
        table = drive.streams[name]
        assert (values(table, "arrived_at") - values(table, "timestamp")).max() <= most


def test_every_report_is_near_the_truth_and_nobody_unequipped_sends(drive: DriveRecording) -> None:
    v2v, traffic = drive.streams["v2v"], drive.traffic
    id, sender = values(v2v, "id"), values(v2v, "sender")
    meeting = {collision.id for collision in traffic.collisions}
    assert not meeting & set(sender.tolist())
    assert meeting <= set(id.tolist())  # but they are seen
    assert OWN_ID in id  # and so are we
    assert OWN_ID not in sender
    column = np.where(id == OWN_ID, traffic.own, id) - 1
    truth = traffic.of(column, (values(v2v, "timestamp") - drive.begin) * 1e-6)
    error = np.hypot(values(v2v, "x") - truth.x, values(v2v, "y") - truth.y)
    about_self = id == sender
    assert error[about_self].mean() < 0.6  # fused (type 1) before it is sent
    assert error.mean() < 1.5
    # What is told of the variance holds: some 95 % within 1.96 σ, no less than 90 %.
    within = np.abs(values(v2v, "x") - truth.x) <= 1.96 * np.sqrt(values(v2v, "var_x"))
    assert within.mean() > 0.9


def test_radar_first_sees_a_meeting_car_where_the_corner_opens(drive: DriveRecording) -> None:
    """Both d before the crossing, the corner w = 10 m from the middles: d ≤ 2w, 1.2 s before."""
    radar, traffic = drive.streams["radar"], drive.traffic
    for collision in traffic.collisions:
        seen = values(radar, "timestamp")[values(radar, "id") == collision.id]
        first = collision.time - (seen.min() - drive.begin) * 1e-6
        assert 1.0 <= first <= 1.2 + 1e-6
    id, at = values(radar, "id") - 1, (values(radar, "timestamp") - drive.begin) * 1e-6
    own, other = traffic.of(np.zeros(len(id), np.int64), at), traffic.of(id, at)
    assert clear_view(traffic.buildings, own.x, own.y, other.x, other.y).all()


def test_truth_is_the_traffic_every_100_ms(drive: DriveRecording) -> None:
    truth = drive.truth
    assert truth.num_rows == 481 * 55
    own = values(truth, "x")[values(truth, "id") == OWN_ID]
    np.testing.assert_allclose(own, -100 + 60 / 3.6 * np.arange(481) / 10, atol=1e-9)
    assert values(truth, "timestamp").min() == BEGIN


def test_the_default_offers_about_a_thousand_tuples_at_its_busiest(drive: DriveRecording) -> None:
    arrived = values(drive.streams["v2v"], "arrived_at")
    rate = np.bincount((arrived - drive.begin) // 1_000_000)
    assert sum(rate) == drive.counts.delivered
    assert 900 <= max(rate) <= 1100
    assert 15 <= int(np.argmax(rate[:24])) <= 20  # around crossing 2, reached at 18 s
    assert 33 <= 24 + int(np.argmax(rate[24:])) <= 38  # and 5, at 36 s


def test_loss_is_counted() -> None:
    clean, lossy = record(SHORT), record(SHORT, radio=RadioModel(loss=0.3))
    counts = lossy.counts
    assert counts.sent == clean.counts.sent == clean.counts.delivered
    assert counts.sent == counts.lost + counts.malformed + counts.delivered
    assert counts.lost / counts.sent == pytest.approx(0.3, abs=0.03)
    assert lossy.streams["v2v"].num_rows == counts.delivered
    # Loss takes messages away and changes none.
    assert lossy.streams["gps"].equals(clean.streams["gps"])
    kept = set(zip(*lossy.streams["v2v"].to_pydict().values(), strict=True))
    assert kept < set(zip(*clean.streams["v2v"].to_pydict().values(), strict=True))


def test_without_v2v_the_radio_is_silent_and_all_else_the_same() -> None:
    loud, silent = record(SHORT), record(replace(SHORT, v2v=False))
    assert silent.streams["v2v"].num_rows == 0
    assert silent.streams["v2v"].schema == loud.streams["v2v"].schema
    for name in ("gps", "speed", "radar"):
        assert silent.streams[name].equals(loud.streams[name])


@needs_pycrate
def test_bytes_on_the_air_give_the_same_tuples() -> None:
    short = replace(SHORT, duration=15.0)
    plain, uper = record(short), record(short, bytes_on_air=True)
    assert plain.streams["v2v"].num_rows > 1000
    assert uper.streams["v2v"].equals(plain.streams["v2v"])
    assert uper.counts == plain.counts


@needs_pycrate
def test_damaged_messages_are_counted_by_reason() -> None:
    counts = record(SHORT, radio=RadioModel(loss=0.1, damage=0.3), bytes_on_air=True).counts
    assert counts.sent == counts.lost + counts.malformed + counts.delivered
    assert counts.malformed == sum(counts.reasons.values()) > 100
    assert {"undecodable", "other message", "implausibly far", "stale"} <= set(counts.reasons)


def test_only_bytes_can_be_damaged() -> None:
    with pytest.raises(InputError, match=r"radio\.damage: only bytes can be damaged"):
        record(SHORT, radio=RadioModel(damage=0.1))


def test_any_car_may_record_and_is_then_the_own_vehicle() -> None:
    traffic = GridTraffic(SHORT)
    theirs = record(traffic, 9)
    assert (theirs.car, theirs.vehicle) == (9, "car9")
    truth = theirs.truth
    own = traffic.at(np.zeros(1)).x[0, 8]
    first = (values(truth, "id") == OWN_ID) & (values(truth, "timestamp") == BEGIN)
    assert values(truth, "x")[first].tolist() == [own]
    assert 9 not in values(theirs.streams["v2v"], "id")
    with pytest.raises(InputError, match="there is no such car; got 99; the traffic has 1 to 31"):
        record(traffic, 99)


def test_without_noise_reports_are_true_to_the_steps_of_a_cam() -> None:
    exact = SensorModel(gps=0, heading=0, speed=0, radar_position=0, radar_velocity=0)
    drive = record(SHORT, sensors=exact)
    v2v = drive.streams["v2v"]
    id = values(v2v, "id")
    column = np.where(id == OWN_ID, drive.traffic.own, id) - 1
    truth = drive.traffic.of(column, (values(v2v, "timestamp") - drive.begin) * 1e-6)
    np.testing.assert_allclose(values(v2v, "x"), truth.x, atol=0.006)
    np.testing.assert_allclose(values(v2v, "y"), truth.y, atol=0.006)
    np.testing.assert_allclose(values(v2v, "vx"), truth.vx, atol=0.006)
