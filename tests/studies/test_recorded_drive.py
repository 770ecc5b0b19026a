"""The car ahead on a real drive: what docs/recorded-drive.md says of it, and its study."""

from __future__ import annotations

import numpy as np
import pytest
from tests.recorded_drive import SEGMENT, needs_the_documented_drive

from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.model.plan import Plan
from headway_studies.beyond.recorded_drive import STUDY, slowest_kept
from headway_studies.beyond.recorded_segment import (
    CarAhead,
    agreement,
    car_ahead,
    car_ahead_application,
    drive,
    plan_at,
    radar_alone,
    recorded,
)
from headway_studies.cell_store import CellStore
from headway_studies.row_reading import number, where
from headway_studies.study import Row, Verdict, works_of


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_at(car_ahead_application(), 10.0)


@pytest.fixture(scope="module")
def arrivals(plan: Plan) -> list[Arrival]:
    return recorded(SEGMENT, plan.query.sources)


@pytest.fixture(scope="module")
def result(plan: Plan, arrivals: list[Arrival]) -> RunResult:
    return drive(arrivals, plan)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """Of the quick grid, as they come back from a folder."""
    store = CellStore(tmp_path_factory.mktemp("cells"))
    works = works_of(STUDY, quick=True)
    for work in works:
        store.write(work, STUDY.run(work.parameters()))
    return store.merge(STUDY.name, works)


def test_every_deadline_is_promised(plan: Plan) -> None:
    assert plan.verdict is not None
    assert all(promise.kept for promise in plan.verdict.promises)


def test_a_slow_ecu_has_the_same_trains_and_no_promises(plan: Plan) -> None:
    slow = plan_at(car_ahead_application(), 0.5)
    assert [node.rate for node in slow.vehicle.nodes] == [0.5]
    assert slow.tasks == plan.tasks
    assert slow.verdict is None


def test_no_deadline_is_missed_and_no_promise_broken(plan: Plan, result: RunResult) -> None:
    assert plan.verdict is not None
    for promise in plan.verdict.promises:
        record = result.outputs[promise.output]
        assert record.misses == 0
        assert promise.bound is not None
        assert record.latencies.max() <= promise.bound


@needs_the_documented_drive
def test_the_car_ahead_is_the_one_the_radar_sees(result: RunResult) -> None:
    ours, radar = car_ahead(result), radar_alone(SEGMENT)
    found = agreement(ours, radar)
    assert found.both == found.moments > 500
    assert found.distance_median < 0.1
    assert found.speed_median < 0.05
    assert found.another_car < 0.005
    # where the radar gave the number of an object at the roadside to the car ahead
    begin = radar.time[0]
    there = (ours.time > begin + 8) & (ours.time < begin + 16)
    assert np.abs(ours.distance - radar.at(ours.time).distance)[there].max() < 0.5
    for one in (ours, radar):
        least = int(np.nanargmin(one.ttc))
        assert one.ttc[least] == pytest.approx(4.6, abs=0.1)
        assert one.time[least] - radar.time[0] == pytest.approx(59.9, abs=0.2)
    # the same in every component of the query: output2 has this TTC, too
    assert min(row[3] for row in result.outputs["output2"].rows if row[3] is not None) < 4.7


@needs_the_documented_drive
def test_the_study_tells_which_policy_misses(rows: list[Row]) -> None:
    kept = {policy: slowest_kept(rows, policy) for policy in ("s-edf", "fifo+", "mc+", "pcs")}
    assert kept == {"s-edf": 1.0, "fifo+": 10.0, "mc+": 10.0, "pcs": 10.0}
    for row in where(rows, part="rate", rate=10.0, policy="s-edf"):
        assert number(row, "longest_ms") <= number(row, "bound_ms")
    assert {row["bound_ms"] for row in where(rows, part="rate", rate=1.0)} == {None}
    found = STUDY.analyse(rows)
    assert {claim.verdict for claim in found.claims} == {Verdict.BEYOND}
    told = " ".join(claim.ours for claim in found.claims)
    assert "3 of 3 bounds kept" in told
    assert "output1 21.1 of 26.6 ms" in told
    assert "0 of 18,710 deadlines missed" in told
    assert "S-EDF 1, FIFO+ 10, MC+ 10, PCS 10; promised down to 10" in told
    assert "S-EDF 4,544, FIFO+ 3,185" in told
    assert "more than 5 m at 0.2%" in told
    assert "with both 0.2%, without either 5.8% (without either a track number" in told
    assert "held 2.36 m, last two fixes carried on 1.46 m, type 1 fusion 1.58 m, told" in told
    assert "without the constant offset of the GNSS 0.99, 0.29, 0.32, 0.23 m" in told
    assert "50% by the fixes' scatter alone, 100% with the error that all fixes share" in told


@needs_the_documented_drive
def test_a_policy_that_misses_is_told_as_such(rows: list[Row]) -> None:
    """The same rows, with one missed deadline of S-EDF and a latency over its bound."""
    worse = [
        {**row, "misses": 1, "longest_ms": 1e3}
        if (row.get("policy"), row.get("rate"), row.get("output")) == ("s-edf", 10.0, "output1")
        else row
        for row in rows
    ]
    told = " ".join(claim.ours for claim in STUDY.analyse(worse).claims)
    assert "2 of 3 bounds kept" in told
    assert "1 of 18,710 deadlines missed" in told
    assert "S-EDF none" in told


def test_there_is_no_time_to_collision_where_nothing_closes() -> None:
    one = CarAhead(np.arange(3.0), np.array([10.0, 10.0, 10.0]), np.array([-2.0, -0.4, 3.0]))
    np.testing.assert_array_equal(one.ttc, [5.0, np.nan, np.nan])
    later = one.at(np.array([0.04, 1.3]))
    np.testing.assert_array_equal(later.distance, [10.0, np.nan])
