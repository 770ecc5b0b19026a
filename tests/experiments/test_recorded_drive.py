"""The car ahead on a real drive: what docs/recorded-drive.md says of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.bench_fusion_error import segment_directory

from headway.compile import compile_query
from headway.experiments.recorded_drive import (
    CarAhead,
    agreement,
    car_ahead,
    drive,
    radar_alone,
    write_recording,
)
from headway.files import load_query, load_vehicle
from headway.model.plan import Plan
from headway.report.recorded_drive_chart import recorded_drive_svg
from headway.runtime.engine import RunResult

EXAMPLE = Path(__file__).parents[2] / "examples/collision_warning"
needs_the_drive = pytest.mark.skipif(
    not segment_directory().is_dir(), reason=f"no recording at {segment_directory()}"
)


@pytest.fixture(scope="module")
def plan() -> Plan:
    query = load_query(EXAMPLE / "car_ahead.yaml").query
    return compile_query(query, load_vehicle(EXAMPLE / "one_ecu.yaml").vehicle)


@pytest.fixture(scope="module")
def result(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    folder = tmp_path_factory.mktemp("recording")
    write_recording(folder, segment_directory(), plan)
    return drive(folder, plan)


def test_every_deadline_is_promised(plan: Plan) -> None:
    assert plan.verdict is not None
    assert all(promise.kept for promise in plan.verdict.promises)


@needs_the_drive
def test_no_deadline_is_missed_and_no_promise_broken(plan: Plan, result: RunResult) -> None:
    assert plan.verdict is not None
    for promise in plan.verdict.promises:
        record = result.outputs[promise.output]
        assert record.misses == 0
        assert promise.bound is not None
        assert record.latencies.max() <= promise.bound


@needs_the_drive
def test_the_car_ahead_is_the_one_the_radar_sees(result: RunResult) -> None:
    ours, radar = car_ahead(result), radar_alone(segment_directory())
    found = agreement(ours, radar)
    assert found.both == found.moments > 500
    assert found.distance_median < 0.2
    assert found.speed_median < 0.05
    assert found.another_car < 0.07
    for one in (ours, radar):
        least = int(np.nanargmin(one.ttc))
        assert one.ttc[least] == pytest.approx(4.65, abs=0.1)
        assert one.time[least] - radar.time[0] == pytest.approx(59.9, abs=0.2)
    # the same in every component of the query: output2 has this TTC, too
    assert min(row[3] for row in result.outputs["output2"].rows if row[3] is not None) < 4.7


def test_there_is_no_time_to_collision_where_nothing_closes() -> None:
    one = CarAhead(np.arange(3.0), np.array([10.0, 10.0, 10.0]), np.array([-2.0, -0.4, 3.0]))
    np.testing.assert_array_equal(one.ttc, [5.0, np.nan, np.nan])
    later = one.at(np.array([0.04, 1.3]))
    np.testing.assert_array_equal(later.distance, [10.0, np.nan])
    svg = recorded_drive_svg("t", one, one)
    assert svg.count("<circle") == 3 + 1 + 2  # three distances, one TTC, two legends
