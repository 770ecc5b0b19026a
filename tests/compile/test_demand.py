"""Demand bounds against a plain evaluation of their definition, length by length."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.compile.judge import demand as module
from headway.compile.judge.demand import Demand, Section, busy_period, lateness, utilisation
from headway.model.arrival import ArrivalCurve, Rate

LIMIT = 4_000
"""No small case has anything of interest beyond this length."""

# ---------------------------------------------------------------- the definition, written anew


def tuples_in(curve: ArrivalCurve, length: int) -> int:
    """Most tuples in a closed interval: each rate lets ``count`` in at once, and again every period."""
    if length < 0:
        return 0
    amounts = []
    for rate in curve.rates:
        amount = rate.count
        step = rate.period - rate.jitter
        while step <= 0:  # displaced by so much that several bursts meet at the start
            amount += rate.count
            step += rate.period
        while step <= length:
            amount += rate.count
            step += rate.period
        amounts.append(amount)
    return min(amounts)


def work_in(demands: Sequence[Demand], length: int) -> int:
    return sum(
        demand.cost * tuples_in(demand.curve, length + demand.offset)
        for demand in demands
        if length >= demand.least
    )


def blocked(sections: Sequence[Section], length: int) -> int:
    return max((s.length for s in sections if s.deadline > length), default=0)


def true_lateness(demands: Sequence[Demand], sections: Sequence[Section], start: int) -> int:
    return max(
        work_in(demands, length) + blocked(sections, length) - length
        for length in range(start, LIMIT)
    )


def true_busy_period(demands: Sequence[Demand], blocking: int) -> int:
    return next(
        length for length in range(LIMIT) if blocking + work_in(demands, length) <= length
    )


# ---------------------------------------------------------------- random small cases


@st.composite
def curves(draw: st.DrawFn) -> ArrivalCurve:
    rates = draw(
        st.lists(
            st.builds(Rate, st.integers(1, 3), st.integers(2, 30), st.integers(0, 40)),
            min_size=1,
            max_size=2,
        )
    )
    return ArrivalCurve(tuple(rates))


demand_lists = st.lists(
    st.builds(
        Demand, curves(), st.integers(0, 4), st.integers(-40, 40), st.just(0) | st.integers(-20, 40)
    ),
    max_size=4,
)
section_lists = st.lists(
    st.builds(Section, st.integers(0, 60), st.integers(0, 20)), min_size=1, max_size=4
)
small = settings(max_examples=300, deadline=None)


@small
@given(demand_lists, section_lists, st.lists(st.integers(-30, 60), min_size=1, max_size=4))
def test_lateness_is_the_largest_excess(
    demands: list[Demand], sections: list[Section], starts: list[int]
) -> None:
    found = lateness(demands, sections, starts)
    if utilisation(demands) >= 0.95:  # near 1 the definition needs lengths beyond LIMIT
        assert found is None or utilisation(demands) < 1
        return
    assert found is not None
    truth = [true_lateness(demands, sections, start) for start in starts]
    assert all(mine >= exact for mine, exact in zip(found, truth, strict=True))
    # Beyond its horizon the module takes a straight line: it may be above, never by more than this.
    least = min(truth)
    loose = [max(exact, least + 2) for exact in truth]
    assert all(mine <= upper for mine, upper in zip(found, loose, strict=True))


@small
@given(demand_lists, st.integers(0, 30))
def test_busy_period_is_the_least_fixed_point(demands: list[Demand], blocking: int) -> None:
    demands = [Demand(d.curve, d.cost, d.offset) for d in demands]
    found = busy_period(demands, blocking)
    if utilisation(demands) >= 0.95:
        assert found is None or utilisation(demands) < 1
        return
    assert found == true_busy_period(demands, blocking)
