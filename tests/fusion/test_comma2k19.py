"""Type 1 fusion on a real drive: what is asserted of the table in docs/measured-fusion.md."""

from __future__ import annotations

import pytest
from tests.recorded_drive import SEGMENT, needs_the_documented_drive

from headway.model.quantities import MILLISECOND
from headway_studies.beyond.comma2k19 import Segment, load_segment
from headway_studies.beyond.recorded_positions import (
    DISORDER,
    PATIENCE,
    arrivals,
    fused,
    operator,
    with_fusion,
    without_fusion,
)


@pytest.fixture(scope="module")
def segment() -> Segment:
    return load_segment(SEGMENT)


@needs_the_documented_drive
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_disorder_within_the_windows_hardly_matters(segment: Segment, seed: int) -> None:
    ordered, late = operator(), operator()
    in_order = with_fusion(segment, "", fused(segment, arrivals(segment, 0, seed), ordered))
    disorder = with_fusion(segment, "", fused(segment, arrivals(segment, DISORDER, seed), late))
    assert disorder.mean == pytest.approx(in_order.mean, rel=0.05)
    assert (ordered.too_late, late.too_late) == (0, 0)


def test_once_all_has_come_disorder_does_not_matter_at_all(segment: Segment) -> None:
    in_order = fused(segment, arrivals(segment, 0, 1), operator(), PATIENCE)
    disorder = fused(segment, arrivals(segment, DISORDER, 1), operator(), PATIENCE)
    assert disorder == in_order


def test_without_windows_tuples_are_lost_but_counted(segment: Segment) -> None:
    short = operator(front=1 * MILLISECOND)
    tuples = arrivals(segment, DISORDER, 1)
    fused(segment, tuples, short)
    assert short.too_late > len(tuples) / 10
    assert len(short.take_late()) == short.too_late + short.unstarted


@needs_the_documented_drive
def test_fusion_beats_holding_the_last_fix(segment: Segment) -> None:
    held = without_fusion(segment)[1]
    in_order = with_fusion(segment, "", fused(segment, arrivals(segment, 0, 1), operator()))
    assert in_order.mean < 0.75 * held.mean


@needs_the_documented_drive
def test_a_constant_error_of_the_speed_sensor_is_found(segment: Segment) -> None:
    """The wheels show 0.8 % less than the reference trajectory."""
    last = fused(segment, arrivals(segment, 0, 1), operator())[-1]
    assert last is not None
    assert last.scale is not None
    assert last.scale.value == pytest.approx(-0.008, abs=0.004)
