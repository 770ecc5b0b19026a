"""Where ``headway drive`` drives: the papers' grid, or a SUMO scenario."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from headway.drive.trial_results import World
from headway.errors import InputError, Problem
from headway.world.scenario import Scenario

SUMO_GRID = "grid"
SUMO_CARS = 100
SUMO_DURATION = 60.0
"""seconds"""


def world_of(
    cars: int | None, seed: int, sumo: str | None, routes: Path | None, duration: float | None
) -> World:
    """InputError for what does not go together."""
    if sumo is None:
        given = {"--routes": routes, "--duration": duration}
        for option, value in given.items():
            if value is not None:
                raise InputError(Problem(f"{option} is for SUMO scenarios", want="add --sumo"))
        return grid_of(cars, seed)
    from headway.world.sumo import sumo_grid, sumo_traffic

    seconds = SUMO_DURATION if duration is None else duration
    if sumo == SUMO_GRID:
        if routes is not None:
            raise InputError(
                Problem(
                    "SUMO's own grid has random trips", want="leave out --routes, or name a net"
                )
            )
        return sumo_grid(cars=cars or SUMO_CARS, duration=seconds, seed=seed)
    if cars is not None:
        raise InputError(Problem("the cars are those of the route file", want="leave out --cars"))
    if routes is None:
        raise InputError(
            Problem("a SUMO network needs its cars", want="name a route file with --routes")
        )
    return sumo_traffic(Path(sumo), routes, duration=seconds, seed=seed)


def grid_of(cars: int | None, seed: int) -> Scenario:
    """The papers' grid, checked."""
    scenario = replace(Scenario(), seed=seed)
    scenario = scenario if cars is None else replace(scenario, cars=cars)
    scenario.validate()
    return scenario
