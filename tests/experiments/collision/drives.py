"""A short drive past one crossing: a second of computing instead of ten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from headway.experiments.collision import cells
from headway.experiments.collision.application import Application, application
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
def app() -> Application:
    return application()


@cache
def short_drive(trial: int = 0) -> DriveRecording:
    return record(SHORT, trial=trial)


@contextmanager
def studies_on_short_drives() -> Iterator[None]:
    """Cells of the collision studies drive the short way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "SCENARIO", SHORT)
        forget_drives()
        yield
    forget_drives()


def forget_drives() -> None:
    """What cells computed so far is not used again."""
    cells.drive.cache_clear()
    cells.driven.cache_clear()
