"""Short drives through the engine: the papers' orderings, and the same again each time."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.drive.short_drives import SHORT, app, short_drive

from headway.drive.collision_warning import Setting
from headway.drive.trial import run_trial, true_places
from headway.drive.trial_results import Measured, measure, run_trials, summaries
from headway.errors import InputError
from headway.world.drive_recording import OWN_ID

S_EDF, FIFO = Setting(shed=400), Setting(policy="fifo+", shed=400)
SCARCE, SILENT = Setting(policy="fifo+", shed=10), Setting(v2v=False)
TRIALS = (0, 1)


@cache
def measured(trial: int, setting: Setting) -> Measured:
    return measure(run_trial(app(), short_drive(trial), setting), trial)


@pytest.mark.parametrize("trial", TRIALS)
def test_s_edf_keeps_every_deadline_where_fifo_misses(trial: int) -> None:
    s_edf, fifo = measured(trial, S_EDF).trial, measured(trial, FIFO).trial
    assert (s_edf.misses1, s_edf.misses2) == (0, 0)
    assert fifo.misses1 > 0
    assert s_edf.miss_ratio == 0 < fifo.miss_ratio
    assert s_edf.latency1_max < fifo.latency1_max / 2


@pytest.mark.parametrize("trial", TRIALS)
def test_without_a_radio_every_car_is_hit_and_seen_only_then(trial: int) -> None:
    silent = measured(trial, SILENT).trial
    assert silent.crash_rate == 1.0
    assert 0 < silent.worst_ttc < 2.8


@pytest.mark.parametrize("trial", TRIALS)
def test_with_the_radio_none_is(trial: int) -> None:
    assert measured(trial, S_EDF).trial.crashes == 0


@pytest.mark.parametrize("trial", TRIALS)
def test_more_tuples_make_better_positions(trial: int) -> None:
    s_edf, scarce = measured(trial, S_EDF).trial, measured(trial, SCARCE).trial
    assert s_edf.error_mean < scarce.error_mean


def test_the_truth_is_where_the_cars_are() -> None:
    recording = short_drive()
    ids = np.array([OWN_ID, 2, 10_000])
    x, y = true_places(recording, ids, np.array([0, 0, 0]))
    assert (x[0], y[0]) == (SHORT.start, pytest.approx(1.75))
    assert not np.isnan(x[1])
    assert np.isnan(x[2])


def test_trials_are_the_same_again_in_other_processes() -> None:
    settings = (SCARCE, SILENT)
    here = [[measured(trial, one) for one in settings] for trial in TRIALS]
    assert list(run_trials(app(), SHORT, settings, trials=2, workers=2)) == here
    assert here[0][0].meetings != here[1][0].meetings


def test_a_summary_counts_over_trials() -> None:
    settings = (S_EDF, SILENT)
    with_radio, without = summaries(
        settings, [[measured(trial, one) for one in settings] for trial in TRIALS]
    )
    assert (with_radio.trials, with_radio.meetings, with_radio.crashes) == (2, 2, 0)
    assert (without.crashes, without.crash_rate, without.v2v_peak) == (2, 1.0, 0.0)
    assert with_radio.worst_ttc == min(measured(trial, S_EDF).trial.worst_ttc for trial in TRIALS)


def test_a_second_is_counted_once() -> None:
    rows = measured(0, S_EDF).latencies
    assert [row.second for row in rows] == sorted({row.second for row in rows})
    assert max(row.latency for row in rows) == measured(0, S_EDF).trial.latency1_max
    assert sum(row.v2v_tuples for row in rows) <= measured(0, S_EDF).trial.v2v_arrived


def test_no_limit_without_a_radio() -> None:
    with pytest.raises(InputError, match="nothing to shed"):
        Setting(v2v=False, shed=100)
