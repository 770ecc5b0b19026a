"""How often the truth is in the 95 % interval that is told, in simulation and on a real drive."""

from __future__ import annotations

import pytest
from tests.recorded_drive import SEGMENT, needs_the_documented_drive

from headway_studies.beyond.comma2k19 import load_segment
from headway_studies.beyond.recorded_positions import (
    SHARED_VARIANCE,
    arrivals,
    fused,
    inside,
    operator,
)
from headway_studies.beyond.simulated_confidence import shares


def test_reports_taken_for_independent_make_it_far_too_sure() -> None:
    told, ours = shares(correlated=False)
    assert told == pytest.approx(0.95, abs=0.02)
    assert ours < 0.6


@pytest.mark.parametrize("shared", [0.0, 2.0], ids=["scatter alone", "and a shared error"])
def test_what_depends_on_each_other_is_told_with_an_honest_confidence(shared: float) -> None:
    told, ours = shares(correlated=True, shared=shared)
    assert told == pytest.approx(0.95, abs=0.02)
    assert ours == pytest.approx(0.95, abs=0.02)


@needs_the_documented_drive
def test_on_a_real_drive_the_error_that_all_fixes_share_must_be_declared() -> None:
    """1.4 m of it are constant; by the scatter alone the filter is far too sure."""
    segment = load_segment(SEGMENT)
    states = fused(segment, arrivals(segment, 0, 1), operator())
    assert inside(segment, states, 0.0) < 0.8
    assert inside(segment, states, SHARED_VARIANCE) >= 0.95
