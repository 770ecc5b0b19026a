"""The largest limit, by bisection."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drive.short_drives import app, short_drive

from headway.drive.collision_warning import Setting, plan_for
from headway.drive.trial import run_trial
from headway.drive.trial_results import measure
from headway.model.quantities import MICROSECOND
from headway_studies.aedsms.collision_drives import ONE_NODE, application_on
from headway_studies.aedsms.v2v_rates import (
    STEP,
    busiest_window,
    first_miss,
    largest,
    largest_limit,
)


@given(st.integers(0, 200), st.integers(0, 200))
def test_bisection_finds_the_border(border: int, most: int) -> None:
    asked = []

    def holds(n: int) -> bool:
        asked.append(n)
        return n <= border

    assert largest(holds, most) == min(border, most)
    assert len(asked) <= most.bit_length() + 1
    assert all(1 <= n <= most for n in asked)


@pytest.mark.parametrize("policy", ["s-edf", "fifo+"])
@pytest.mark.parametrize("shed", [10, 900])
def test_a_run_that_stops_early_says_what_the_whole_run_says(policy: str, shed: int) -> None:
    setting = Setting(policy=policy, shed=shed)
    whole = measure(run_trial(app(), short_drive(), setting), 0).trial
    late = first_miss(app(), short_drive(), setting)
    assert bool(late) == bool(whole.misses1 or whole.misses2)
    assert not late or getattr(whole, f"misses{late[-1]}") > 0


def test_the_limit_is_kept_and_one_step_more_is_not() -> None:
    setting = Setting(item_cost=2000 * MICROSECOND)
    found = largest_limit(app(), short_drive(), setting, most=600)
    assert 0 < found.rate < 600
    assert found.late
    assert not first_miss(app(), short_drive(), replace(setting, shed=found.rate))
    assert first_miss(app(), short_drive(), replace(setting, shed=found.rate + 10)) == found.late


def test_nothing_is_shed_from_the_busiest_window_on() -> None:
    """Larger limits need not be run."""
    most = busiest_window(short_drive())
    shed = [
        run_trial(app(), short_drive(), Setting(shed=steps * STEP)).result.summary().shed
        for steps in (most - 1, most)
    ]
    assert shed[0] > 0 == shed[1]


def test_one_node_has_no_network() -> None:
    plan = plan_for(application_on(ONE_NODE))
    assert len(plan.vehicle.nodes) == 1
    assert {node for _, node in plan.placement} == {"ecu"}
