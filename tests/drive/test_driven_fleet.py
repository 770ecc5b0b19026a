"""Fleets that drive."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from tests.drive.short_drives import SHORT, app, short_drive

from headway.drive.collision_warning import Setting, plan_for
from headway.drive.driven_fleet import driven_fleet
from headway.drive.encounters import impacts_on
from headway.drive.trial import run_trial
from headway.spark.fleet.fleet_run import run_driven
from headway.spark.storage.locations import Location
from headway.spark.storage.output_folder import OutputFolder
from headway.world.grid_traffic import GridTraffic


def test_the_first_variation_is_our_drive() -> None:
    plan = plan_for(app())
    fleet = driven_fleet(plan, SHORT, 3)
    trial = run_trial(app(), short_drive(), Setting())
    found = list(fleet.met(0, trial.result))
    assert [(one.car, one.ttc, one.crash) for one in found] == [
        (one.car, one.ttc, one.crash) for one in trial.meetings()
    ]
    assert [fleet.name(n) for n in range(3)] == ["v0", "v1", "v2"]


def test_every_car_with_a_radio_drives() -> None:
    traffic = GridTraffic(SHORT)
    fleet = driven_fleet(plan_for(app()), SHORT, None)
    assert fleet.cars is not None
    assert fleet.count == len(fleet.cars) == int(traffic.radio.sum())
    assert fleet.cars[0] == traffic.own


def test_who_hits_whom_is_mutual() -> None:
    traffic = GridTraffic(replace(SHORT, cars=60))
    (met,) = impacts_on(traffic, traffic.own)
    assert traffic.own in impacts_on(traffic, met)
    for car in traffic.ids[:20]:
        for other, when in impacts_on(traffic, int(car)).items():
            if traffic.own not in (car, other):
                assert impacts_on(traffic, other)[int(car)] == when


def test_a_fleet_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    plan = plan_for(app())
    fleet = driven_fleet(plan, SHORT, 2)
    with OutputFolder(Location.of(tmp_path / "fleet")) as folder:
        run = run_driven(spark, plan, fleet, folder)
        folder.write_summary(run.data())
    assert (run.vehicles, run.met) == (2, 2)
    met = pq.read_table(tmp_path / "fleet" / "meetings.parquet").to_pylist()
    mine = next(row for row in met if row["vehicle"] == "v0")
    (expected,) = run_trial(app(), short_drive(), Setting()).meetings()
    assert (mine["car"], mine["ttc"], mine["crash"]) == (
        expected.car,
        expected.ttc,
        expected.crash,
    )
