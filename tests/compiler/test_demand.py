"""Demand bounds against a plain evaluation of their definition, length by length."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples

from headway.compiler.latency import demand as module
from headway.compiler.latency.demand import Demand, Section, busy_period, lateness, utilisation
from headway.model.quantities import ArrivalCurve, Rate

LIMIT = 3_000
"""No small case has anything of interest beyond this length."""

# ---------------------------------------------------------------- the definition, written anew


@functools.lru_cache(maxsize=64)
def tuples_by_length(curve: ArrivalCurve) -> list[int]:
    """Most tuples in a closed interval of length 0, 1, 2, …: each rate lets ``count`` in at once,
    and again every period, a first time ``jitter`` early."""
    by_rate = []
    for rate in curve.rates:
        amounts = []
        next_burst, amount = -rate.jitter, 0
        for length in range(LIMIT + 100):
            while next_burst <= length:
                amount += rate.count
                next_burst += rate.period
            amounts.append(amount)
        by_rate.append(amounts)
    return [min(amounts) for amounts in zip(*by_rate, strict=True)]


def work_in(demands: Sequence[Demand], length: int) -> int:
    return sum(
        demand.cost * tuples_by_length(demand.curve)[length + demand.offset]
        for demand in demands
        if length >= demand.least and length + demand.offset >= 0
    )


def blocked(sections: Sequence[Section], length: int) -> int:
    return max((s.length for s in sections if s.deadline > length), default=0)


def true_lateness(demands: Sequence[Demand], sections: Sequence[Section], start: int) -> int:
    return max(
        work_in(demands, length) + blocked(sections, length) - length
        for length in range(start, LIMIT)
    )


def true_busy_period(demands: Sequence[Demand], blocking: int) -> int:
    return next(length for length in range(LIMIT) if blocking + work_in(demands, length) <= length)


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
small = examples(200)


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
    assert found == truth


@small
@given(demand_lists, st.integers(0, 30))
def test_busy_period_is_the_least_fixed_point(demands: list[Demand], blocking: int) -> None:
    demands = [Demand(d.curve, d.cost, d.offset) for d in demands]
    found = busy_period(demands, blocking)
    if utilisation(demands) >= 0.95:
        assert found is None or utilisation(demands) < 1
        return
    assert found == true_busy_period(demands, blocking)


@pytest.mark.parametrize("most_steps", [1, 3, 10, 40])
@examples(60)
@given(demand_lists, section_lists, st.lists(st.integers(-30, 60), min_size=1, max_size=4))
def test_with_few_steps_it_stays_above(
    most_steps: int, demands: list[Demand], sections: list[Section], starts: list[int]
) -> None:
    """The module looks at a limited number of steps; what it leaves out it must not lose."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_STEPS", most_steps)
        patch.setattr(module, "MOST_OFFSETS", 2)
        found = lateness(demands, sections, starts)
    if utilisation(demands) < 0.95:
        assert found is not None
        truth = [true_lateness(demands, sections, start) for start in starts]
        assert all(mine >= exact for mine, exact in zip(found, truth, strict=True))


HUGE = 10**20


@pytest.mark.parametrize(
    "demand",
    [
        Demand(ArrivalCurve((Rate(1, HUGE),)), HUGE // 2, 0),
        Demand(ArrivalCurve((Rate(1, HUGE),)), 1, HUGE),
        Demand(ArrivalCurve((Rate(1, 100),)), 1, -HUGE),
        Demand(ArrivalCurve((Rate(1, 100, HUGE),)), 1, 0),
    ],
)
def test_numbers_beyond_machine_words_have_no_bound(demand: Demand) -> None:
    assert busy_period([demand]) is None
    assert lateness([demand], [Section(5, 5)], [0]) is None


def test_a_section_beyond_machine_words_has_no_bound() -> None:
    assert lateness([], [Section(5, HUGE)], [0]) is None
    assert busy_period([], HUGE) is None


def test_a_long_deadline_at_a_high_rate_takes_bounded_memory() -> None:
    """A microsecond's period against an hour's deadline: billions of steps, grouped."""
    fast = Demand(ArrivalCurve((Rate(1, 1_000),)), 500, -3_600_000_000_000)
    found = lateness([fast], [Section(3_600_000_000_000, 500)], [3_600_000_000_000])
    assert found is not None
    assert 0 <= found[0] + 3_600_000_000_000 < 60_000_000


def test_an_overloaded_processor_has_no_bound() -> None:
    full = Demand(ArrivalCurve((Rate(1, 10),)), 10, 0)
    assert busy_period([full]) is None
    assert lateness([full], [], [0]) is None


def test_by_hand() -> None:
    """Two jobs of 2 every 10, deadline 5, behind a section of 3: they are done 2 after it."""
    pair = Demand(ArrivalCurve((Rate(2, 10),)), 2, -5)
    assert lateness([pair], [Section(9, 3)], [5, 6, 9]) == [2 * 2 + 3 - 5, 2 * 2 + 3 - 6, 4 - 9]
    assert busy_period([Demand(ArrivalCurve((Rate(2, 10),)), 2, 0)], 3) == 7
