"""What our car would know without any fusion, on a short drive."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tests.drive.short_drives import app, short_drive

from headway.drive.collision_warning import Setting
from headway.drive.trial import Moment, errors, run_trial, true_places
from headway.drive.trial_results import measure
from headway.world.car_sensors import SensorModel
from headway.world.drive_recording import OWN_ID
from headway_studies.aedsms.position_error import unfused

SCARCE = Setting(policy="fifo+", shed=10)


@pytest.mark.parametrize("trial", [0, 1])
def test_even_few_tuples_are_better_than_no_fusion(trial: int) -> None:
    recording = short_drive(trial)
    raw = errors(unfused(recording, trial), partial(true_places, recording), Moment.ABOUT).mean()
    scarce = measure(run_trial(app(), recording, SCARCE), trial).trial
    assert scarce.error_mean < raw / 3


def test_a_fix_without_fusion_is_as_far_off_as_the_receiver_says() -> None:
    """The mean distance of a two-dimensional normal law is σ √(π/2)."""
    recording = short_drive()
    estimates = unfused(recording, 0)
    own = estimates.where(estimates.id == OWN_ID)
    others = estimates.where(estimates.id != OWN_ID)
    law = SensorModel().gps * np.sqrt(np.pi / 2)
    places = partial(true_places, recording)
    assert errors(own, places, Moment.ABOUT).mean() == pytest.approx(law, rel=0.15)
    assert errors(others, places, Moment.ABOUT).mean() == pytest.approx(law, rel=0.15)
