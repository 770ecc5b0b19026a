"""The studies of the collision warning on a short drive: a second of computing instead of ten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from tests.drive.short_drives import SHORT

from headway.world.car_sensors import SensorModel
from headway.world.drive_recording import DriveRecording, record
from headway.world.drive_scenario import Scenario
from headway_studies.aedsms import calibration, collision_drives
from headway_studies.beyond import connected_cars


@contextmanager
def studies_on_short_drives() -> Iterator[None]:
    """Cells of the collision studies drive the short way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collision_drives, "SCENARIO", SHORT)
        few = replace(collision_drives.ONE_CROSSING, cars=5)  # each runs the query
        patch.setattr(connected_cars, "ONE_CROSSING", few)
        patch.setattr(calibration, "record", _past_one_crossing)
        forget_drives()
        yield
    forget_drives()


def _past_one_crossing(
    scenario: Scenario, trial: int, sensors: SensorModel | None = None
) -> DriveRecording:
    """The cars that were drawn, as far as the first hidden one."""
    short = replace(scenario, duration=SHORT.duration, collision_crossings=(1,))
    return record(short, trial=trial, sensors=sensors or SensorModel())


def forget_drives() -> None:
    """What cells computed so far is not used again."""
    collision_drives.drive.cache_clear()
    collision_drives.driven.cache_clear()
