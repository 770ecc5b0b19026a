"""Sources in MDF 4 and MCAP files: Spark reads the tuples that the vehicle engine reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.sources import test_mcap, test_mdf

from headway.model.quantities import MILLISECOND, Rate
from headway.model.query import Source
from headway.model.schema import Schema
from headway.sources.recordings import read_recording
from headway.spark.sources.recorded_files import read_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def written(folder: Path, kind: str) -> Schema:
    if kind == "mdf":
        test_mdf.measurement(folder / "drive.mf4")
        (folder / "car.yaml").write_text(test_mdf.POINTER + "vehicle: A1\n", encoding="utf-8")
        return test_mdf.FIELDS
    test_mcap.drive(folder / "drive.mcap")
    (folder / "car.yaml").write_text(test_mcap.RADAR + "vehicle: A1\n", encoding="utf-8")
    return test_mcap.TRACK


@pytest.mark.parametrize("kind", ["mdf", "mcap"])
def test_both_engines_read_the_same(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    schema = written(tmp_path, kind)
    source = Source(name="car", schema=schema, rate=Rate(1, 100 * MILLISECOND), delay=0)
    names = [field.name for field in schema.fields]
    data = read_batch(spark, tmp_path, [source])["car"].orderBy("position")
    found = [
        (row.arrived, row.vehicle, (row.sensed, *(row[name] for name in names)))
        for row in data.selectExpr(
            "unix_micros(arrived_at) arrived", "vehicle", "unix_micros(timestamp) sensed", *names
        ).collect()
    ]
    there = [(one.arrived_at, one.vehicle, one.row) for one in read_recording(tmp_path, [source])]
    assert len(there) > 1
    assert found == there
