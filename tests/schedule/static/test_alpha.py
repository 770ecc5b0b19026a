"""Exact α: whole, without gaps, the same as a direct run anywhere, never worse than the grid."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples
from tests.schedule.static.random_cases import Case, cases

from headway.schedule.static import (
    ALGORITHMS,
    AlphaInterval,
    ExactAlpha,
    FixedAlpha,
    GridAlpha,
    StaticResult,
)
from headway.schedule.static.selection import START, Line, envelope

FAMILY = ("hvlb-cc-a", "hvlb-cc-b", "hvlb-cc-c", "hvlb-cc-ic")


def run(case: Case, name: str, alpha: ExactAlpha | GridAlpha | FixedAlpha) -> StaticResult:
    return ALGORITHMS[name].run(case.instance, alpha)


def inside(interval: AlphaInterval, share: Fraction) -> Fraction:
    """A point of an interval: its ends, where closed, for 0 and 1."""
    high = interval.high if interval.high is not None else interval.low + 10
    point = interval.low + (high - interval.low) * share
    return point if point in interval else (interval.low + high) / 2


@examples(150)
@given(cases(), st.sampled_from(FAMILY), st.fractions(0, 1, max_denominator=1000))
def test_each_interval_is_what_a_direct_run_gives(case: Case, name: str, share: Fraction) -> None:
    result = run(case, name, ExactAlpha())
    case.check(result)
    for interval in result.intervals:
        for point in {inside(interval, at) for at in (Fraction(0), share, Fraction(1))}:
            direct = run(case, name, FixedAlpha(point))
            assert direct.schedule == interval.schedule


@examples(150)
@given(cases(), st.sampled_from(FAMILY))
def test_intervals_cover_all_alpha_and_do_not_overlap(case: Case, name: str) -> None:
    result = run(case, name, ExactAlpha())
    if result.failure is not None:
        assert result.intervals == ()
        assert result.schedule is None
        return
    first, last = result.intervals[0], result.intervals[-1]
    assert first.low == 0
    assert first.low_closed
    assert last.high is None
    for one, other in pairwise(result.intervals):
        assert one.high == other.low
        assert one.high_closed != other.low_closed
    schedules = [interval.schedule for interval in result.intervals]
    assert all(one != other for n, one in enumerate(schedules) for other in schedules[:n])


@examples(60)
@given(cases(), st.sampled_from(FAMILY))
def test_the_grid_is_a_special_case(case: Case, name: str) -> None:
    exact = run(case, name, ExactAlpha())
    grid = run(case, name, GridAlpha(3, 0.1))
    assert exact.failure == grid.failure
    assert exact.order == grid.order
    for interval in grid.intervals:
        for point in (interval.low, interval.high):
            assert point is not None
            at = exact.at(point)
            assert at is not None
            assert at.schedule == interval.schedule
    if exact.makespan is not None and grid.makespan is not None:
        assert exact.makespan <= grid.makespan


@examples(100)
@given(cases(), st.sampled_from(FAMILY))
def test_giving_up_early_loses_no_best_schedule(case: Case, name: str) -> None:
    every, best = run(case, name, ExactAlpha()), run(case, name, ExactAlpha(every=False))
    least = [found for found in every.intervals if found.makespan == every.makespan]
    assert [found for found in best.intervals if found.makespan == every.makespan] == least
    assert best.best == every.best


lines = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda pair: (*pair,)),
    min_size=1,
    max_size=5,
)


@given(lines, st.fractions(0, 8, max_denominator=60))
def test_the_envelope_is_the_least_line(pairs: list[tuple[int, int]], alpha: Fraction) -> None:
    """At every point exactly one piece, and its line is the least, of equal ones the first."""
    made = [Line(intercept, slope, n, n) for n, (intercept, slope) in enumerate(pairs)]
    holding = []
    for low, high, line in envelope(made, START, None):
        above = alpha > Fraction(*low[:2]) or (alpha == Fraction(*low[:2]) and low[2] == 0)
        below = high is None or (
            alpha < Fraction(*high[:2]) or (alpha == Fraction(*high[:2]) and high[2] == 1)
        )
        if above and below:
            holding.append(line)
    assert holding == [min(made, key=lambda x: (x.intercept + x.slope * alpha, x.processor))]


def test_a_tie_goes_to_the_lower_number_on_both_sides() -> None:
    """Falling behind, the lower number keeps the point of equality; catching up, it takes it."""
    keeps = envelope([Line(1, 2, 0, 0), Line(2, 1, 1, 0)], START, None)
    assert [(piece.low, piece.line.processor) for piece in keeps] == [(START, 0), ((1, 1, 1), 1)]
    takes = envelope([Line(2, 1, 0, 0), Line(1, 2, 1, 0)], START, None)
    assert [(piece.low, piece.line.processor) for piece in takes] == [(START, 1), ((1, 1, 0), 0)]


def test_three_lines_through_one_point_leave_it_to_the_lowest_number() -> None:
    made = [Line(2, 1, 0, 0), Line(1, 2, 1, 0), Line(3, 0, 2, 0)]
    pieces = [(piece.low, piece.line.processor) for piece in envelope(made, START, None)]
    assert pieces == [(START, 1), ((1, 1, 0), 0), ((1, 1, 1), 2)]
