"""Fleets that drive."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from tests.drive.short_drives import SHORT, app, short_drive

from headway.drive.collision_warning import RADIO, Setting, plan_for
from headway.drive.driven_fleet import driven_fleet
from headway.drive.encounters import impacts_on
from headway.drive.trial import run_trial
from headway.engine.engine import Engine
from headway.spark.fleet.fleet_run import run_driven
from headway.spark.fleet.spoken import heard_on_spark
from headway.spark.storage.locations import Location
from headway.spark.storage.output_folder import OutputFolder
from headway.world.broadcasts import Broadcasts
from headway.world.cam import CamReports
from headway.world.drive_recording import OWN_ID
from headway.world.drive_scenario import Scenario
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


TALK = Scenario(
    cars=3, duration=2.0, columns=2, rows=1, collision_crossings=(), crowded_crossings=(), crowd=0
)
"""Two seconds of four cars with a radio."""


def _bytes(said: Broadcasts) -> bytes:
    columns = [said.sender, said.sent_at]
    columns += [getattr(said.reports, field.name) for field in fields(CamReports)]
    return b"".join(column.tobytes() for column in columns)


def test_cars_that_hear_each_other_are_the_same_on_spark_and_without(
    spark: SparkSession, tmp_path: Path
) -> None:
    plan = plan_for(app())
    fleet = driven_fleet(plan, TALK, None, cars_speak=True)
    assert len(fleet.speakers) == fleet.count == 4
    here = fleet.hearing([fleet.told(number) for number in range(len(fleet.speakers))])
    on_spark = heard_on_spark(spark, fleet, 2)
    said = [one.said for one in (here, on_spark)]
    assert all(one is not None for one in said)
    assert len({_bytes(one) for one in said if one is not None}) == 1
    assert on_spark.speakers == ()  # they have been heard

    with OutputFolder(Location.of(tmp_path / "talk")) as folder:
        run = run_driven(spark, plan, fleet, folder)
        folder.write_summary(run.data())
    assert run.vehicles == 4
    rows = pq.read_table(tmp_path / "talk" / "output3.parquet").to_pylist()
    result = Engine(plan=plan, keep_trace=False).run(here.arrivals(1))
    name = here.name(1)
    found = sorted((r["id"], r["x"], r["y"]) for r in rows if r["vehicle"] == name)
    columns = ("timestamp", *dict(plan.schemas)["map5"].names)
    places = [columns.index(one) for one in ("id", "x", "y")]
    assert found == sorted(
        tuple(row[place] for place in places) for row in result.outputs["output3"].rows
    )
    assert {row["id"] for row in rows if row["vehicle"] == name} > {OWN_ID}


def test_a_variation_runs_its_own_cars() -> None:
    plan = plan_for(app())
    fleet = driven_fleet(plan, TALK, 2, cars_speak=True)
    assert fleet.speakers == ()
    heard = [[one for one in fleet.arrivals(n) if one.source == RADIO] for n in (0, 1, 0)]
    assert heard[0] == heard[2] != heard[1]
    assert heard[0]
