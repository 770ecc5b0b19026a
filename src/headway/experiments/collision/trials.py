"""Many trials: each drives once through the world and meets every setting with the same drive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.experiments.collision.application import Application
from headway.experiments.collision.measured import Measured, measure
from headway.experiments.collision.parallel import in_parallel
from headway.experiments.collision.setting import Setting
from headway.experiments.collision.trial import run_trial
from headway.world.drive_recording import record
from headway.world.drive_scenario import Scenario
from headway.world.traffic import Traffic

World = Scenario | Traffic
"""What is driven through: the papers' grid, or any traffic."""


@dataclass(frozen=True, kw_only=True)
class Drive:
    """One trial's task: travels to the process that runs it."""

    application: Application
    world: World
    number: int
    """other phases, noise and losses in the same traffic"""
    settings: tuple[Setting, ...]
    folder: Path | None = None
    """where the recording is kept"""


def run_drive(drive: Drive) -> list[Measured]:
    """Records once and runs every setting over it."""
    recording = record(drive.world, trial=drive.number)
    if drive.folder is not None:
        recording.write(drive.folder)
    return [
        measure(run_trial(drive.application, recording, setting), drive.number)
        for setting in drive.settings
    ]


def run_trials(
    application: Application,
    world: World,
    settings: Sequence[Setting],
    *,
    trials: int,
    first: int = 0,
    workers: int = 1,
    keep: Path | None = None,
) -> Iterator[list[Measured]]:
    """A list per trial, in their order, as they are done."""
    drives = [
        Drive(
            application=application,
            world=world,
            number=number,
            settings=tuple(settings),
            folder=None if keep is None else keep / f"trial{number:04d}",
        )
        for number in range(first, first + trials)
    ]
    return in_parallel(run_drive, drives, workers)
