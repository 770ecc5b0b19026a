"""``headway fleet --scenario``: vehicles that drive through a simulated city."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from headway.cli.drive_world import grid_of
from headway.drive.collision_warning import check_streams
from headway.drive.driven_fleet import DrivenFleet, driven_fleet
from headway.errors import InputError, Problem
from headway.model.plan import Plan


class FleetScenario(StrEnum):
    """Where a fleet may drive."""

    GRID = "grid"


def scenario_fleet(
    scenario: FleetScenario | None,
    plan: Plan,
    cars: int | None,
    vehicles: int | None,
    seed: int,
    recording: Path | None,
) -> DrivenFleet | None:
    """None where no scenario is asked for; InputError for what does not go together."""
    if scenario is None:
        if cars is not None:
            raise InputError(Problem("--cars is for scenarios", want="add --scenario grid"))
        return None
    if recording is not None:
        raise InputError(
            Problem("a fleet drives a scenario or a recording", want="leave out one of them")
        )
    check_streams(plan.query)
    return driven_fleet(plan, grid_of(cars, seed), vehicles)
