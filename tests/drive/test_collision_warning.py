"""Variants of the example: what changes, and what does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.drive.short_drives import app

from headway.drive.collision_warning import (
    RADIO,
    RANDOM_VALUE,
    KeptTuples,
    Setting,
    load_collision_warning,
    plan_for,
    plan_of,
    shed_quota,
)
from headway.errors import InputError
from headway.expressions.check import check
from headway.expressions.rows import compile_value
from headway.expressions.scope import Scope
from headway.model.expression import Sql
from headway.model.operators import Fusion
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.model.query import LoadShedder
from headway.world.drive_recording import BEGIN


def shedder_of(plan: Plan) -> LoadShedder:
    found = next(source.shedder for source in plan.query.sources if source.name == RADIO)
    assert found is not None
    return found


def fusion_of(plan: Plan) -> Fusion:
    return next(
        one for one in plan.query.operators if isinstance(one, Fusion) and one.name == "sdfo2"
    )


def test_a_variant_changes_the_load_shedder_and_nothing_else() -> None:
    plain, more = (
        plan_for(app(), None, KeptTuples.NEAREST),
        plan_for(app(), 500, KeptTuples.NEAREST),
    )
    assert shedder_of(more) == replace(shedder_of(plain), at_most=50)
    assert (more.placement, more.tasks, more.schemas) == (
        plain.placement,
        plain.tasks,
        plain.schemas,
    )


def test_the_papers_shedder_keeps_any() -> None:
    values = {keep: shedder_of(plan_for(app(), 100, keep)).value for keep in KeptTuples}
    texts = {keep: value.text for keep, value in values.items() if isinstance(value, Sql)}
    assert texts[KeptTuples.RANDOM] == RANDOM_VALUE.text
    assert texts[KeptTuples.NEAREST] != RANDOM_VALUE.text


def test_the_choice_is_as_good_as_random() -> None:
    """Of n tuples of one car, sensed each 100 ms, none is among the best p of all values with
    probability (1 − p)ⁿ, over all phases and cars."""
    source = next(one for one in app().query.sources if one.name == RADIO)
    scope = Scope.row(source.schema)
    value = compile_value(check(RANDOM_VALUE, scope), scope).function
    blank = (None,) * (len(source.schema.names) - 1)
    begin, prime, count, share = BEGIN, 65521, 12, 0.15
    none = [
        all(
            value((begin + phase * 1000 + cycle * 100_000, car, *blank)) < prime * (1 - share)
            for cycle in range(count)
        )
        for phase in range(100)
        for car in range(1, 41)
    ]
    assert sum(none) / len(none) == pytest.approx((1 - share) ** count, rel=0.15)


@pytest.mark.parametrize("item", [250, 500, 1000])
def test_one_item_takes_what_the_paper_prints(item: int) -> None:
    cost = fusion_of(plan_for(app(), 100, item_cost=item * MICROSECOND)).cost
    assert cost is not None
    assert cost.of(1) == 11 * MILLISECOND
    assert cost.of(3) - cost.of(2) == item * MICROSECOND


def test_a_fusion_is_left_between_its_items_or_not() -> None:
    """What the query says is ours; S-EDF as printed preempts between operators only."""
    for given, wanted, label in (
        (None, True, "s-edf, 100/s"),
        (False, False, "s-edf, 100/s"),
        (True, True, "s-edf, 100/s, between items"),
    ):
        setting = Setting(shed=100, between_items=given)
        cost = fusion_of(plan_of(app(), setting)).cost
        assert cost is not None
        assert cost.between_items is wanted
        assert cost.of(3) == 13 * MILLISECOND
        assert setting.label == label
    assert Setting(v2v=False, between_items=True).label == "s-edf, no V2V, between items"


def test_the_costs_of_the_example_are_the_printed_ones() -> None:
    """AEDSMS table 2; S-EDF section 6.1 for all plain operators."""
    costs = {one.name: one.cost for one in plan_for(app()).query.operators}
    type_1 = costs.pop("own.sdfo1")
    type_2 = costs.pop("sdfo2")
    assert type_1 is not None
    assert type_2 is not None
    assert type_1.of(1) == 1_840 * MICROSECOND
    assert type_2.of(1) == 11 * MILLISECOND
    assert {cost.of(1) for cost in costs.values() if cost is not None} == {100 * MICROSECOND}


@pytest.mark.parametrize("shed", [0, -10, 5, 105])
def test_limits_are_whole_windows(shed: int) -> None:
    with pytest.raises(InputError, match="give a multiple of 10 above 0"):
        shed_quota(shed)


def test_a_query_without_the_streams_is_refused() -> None:
    hello = Path(__file__).parents[2] / "examples" / "hello" / "query.yaml"
    with pytest.raises(InputError, match="the study needs a source 'gps'"):
        load_collision_warning(hello)
