"""A scenario that cannot be is refused with every reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.errors import InputError
from headway.world.drive_scenario import Scenario
from headway.world.grid_traffic import GridTraffic


def test_the_papers_scenario_is_the_default() -> None:
    scenario = Scenario()
    scenario.validate()
    assert scenario.block == 100
    assert scenario.speed == pytest.approx(16.6667, abs=1e-4)
    assert len(scenario.collision_crossings) == 6
    assert len(scenario.crowded_crossings) == 2


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"cars": 11}, "scenario.cars: fewer cars than are on collision course"),
        ({"speed": 0.0}, "scenario.speed: must be a positive number; got 0.0"),
        ({"duration": float("nan")}, "scenario.duration: must be a positive number"),
        ({"rows": 4}, "scenario.rows: must be odd"),
        ({"lanes": 4}, "the lanes do not fit between the buildings"),
        ({"street_width": 100.0}, "streets as wide as a block leave no buildings"),
        ({"crowd": 1.5}, "scenario.crowd: must be from 0 to 1; got 1.5"),
        ({"collision_crossings": (8,)}, "there is no such crossing; got 8; they are 0 to 7"),
        ({"collision_crossings": (1, 1)}, "a crossing is named twice"),
        ({"duration": 30.0}, "our car is at crossing 4 after 30 s, outside the drive"),
        ({"crowded_crossings": ()}, "a crowd needs a crowded crossing"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, object], text: str) -> None:
    with pytest.raises(InputError) as caught:
        replace(Scenario(), **change).validate()  # type: ignore[arg-type]
    assert text in str(caught.value)


def test_too_many_cars_say_how_many_places_there_are() -> None:
    with pytest.raises(InputError, match="there is no room for so many cars near crossing 2"):
        GridTraffic(Scenario(cars=2000))
