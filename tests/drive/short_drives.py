"""A short drive past one crossing: a second of computing instead of ten."""

from __future__ import annotations

from functools import cache

from headway.drive.collision_warning import QueryInVehicle, load_collision_warning
from headway.world.drive_recording import DriveRecording, record
from headway.world.drive_scenario import Scenario

SHORT = Scenario(
    cars=24,
    duration=13.0,
    columns=3,
    rows=3,
    collision_crossings=(1,),
    crowded_crossings=(1,),
    crowd=0.8,
)
"""Our car is at crossing 1 after 12 s, and so is a car that it cannot see."""


@cache
def app() -> QueryInVehicle:
    return load_collision_warning()


@cache
def short_drive(trial: int = 0) -> DriveRecording:
    return record(SHORT, trial=trial)
