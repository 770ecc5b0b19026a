"""Tuples beyond the declared rate: hard trains do not get them, soft ones may."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.reserving.small import CROSSING, crossing, misses, plan_of, run

from headway.engine.operators.operator_base import DropKind
from headway.engine.reserved_paths import Policer
from headway.model.quantities import ArrivalCurve, Rate


def keeps_to(curve: ArrivalCurve, times: list[int]) -> bool:
    """By the definition: in every closed interval no more than the curve allows."""
    return all(
        last - first + 1 <= curve.in_interval(times[last] - times[first])
        for first in range(len(times))
        for last in range(first, len(times))
    )


rates = st.builds(
    Rate, count=st.integers(1, 3), period=st.integers(1, 12), jitter=st.integers(0, 15)
)


@given(
    curve=st.builds(ArrivalCurve, st.lists(rates, min_size=1, max_size=2).map(tuple)),
    gaps=st.lists(st.integers(0, 9), min_size=1, max_size=14),
)
def test_what_is_let_in_keeps_to_the_curve_and_nothing_else_is_turned_away(
    curve: ArrivalCurve, gaps: list[int]
) -> None:
    policer, kept, now = Policer(curve), list[int](), 0
    for gap in gaps:
        now += gap
        let_in = policer.lets_in(now)
        assert let_in == keeps_to(curve, [*kept, now])
        kept += [now] * let_in


@pytest.mark.parametrize("policy", ["rop-edf-1", "rop-edf-2", "cbs", "er-edf"])
def test_a_hard_source_at_twice_its_rate(policy: str) -> None:
    result = run(plan_of(CROSSING), policy, crossing(2, radar_every=10))
    turned = [one for _, one in result.side.dropped if one.kind is DropKind.REJECTED]
    assert {(one.where, one.reason) for one in turned} == {
        ("radar", "beyond the declared rate (1 per 20 ms) of a hard path")
    }
    assert len(turned) == 50
    assert result.summary().rejected == 50
    outputs = {one.output: one.tuples for one in result.summary().outputs}
    assert (outputs["brake"], misses(result)["brake"]) == (50, 0)


def test_without_policing_the_same_input_breaks_other_promises() -> None:
    """Ten times the radar's rate is 250 %: everything is late under S-EDF."""
    arrivals = crossing(2, radar_every=2)
    assert misses(run(plan_of(CROSSING), "s-edf", arrivals))["brake"] > 400
    assert misses(run(plan_of(CROSSING), "rop-edf", arrivals)) == {"brake": 0, "show": 0}


SHARED = CROSSING.replace(
    "outputs:",
    "  seen: {map: {v: v}, from: radar, cost: 100 us}\noutputs:\n"
    "  look: {from: seen, deadline: 100 ms, criticality: soft}",
)


def test_soft_trains_may_take_what_hard_ones_do_not_get() -> None:
    result = run(plan_of(SHARED), "rop-edf", crossing(2, radar_every=10))
    outputs = {one.output: one.tuples for one in result.summary().outputs}
    assert (outputs["brake"], outputs["look"]) == (50, 100)
    assert misses(result) == {"brake": 0, "show": 0, "look": 0}


def test_soft_sources_are_not_policed() -> None:
    result = run(plan_of(CROSSING), "rop-edf", crossing(0.5))
    assert result.summary().rejected == 0
    assert result.summary().shed > 0
