"""What is said about V2V rates, from rows by hand: running them is what test_limit.py does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headway_studies.aedsms import v2v_rates
from headway_studies.aedsms.collision_drives import IN_ITEMS_RATE, TRIALS
from headway_studies.aedsms.v2v_rates import (
    DEVIATION,
    FEWEST_OBJECTS,
    LIMITS,
    MAIN,
    ONE_CHEAP_NODE,
    OTHERS,
    WAYS,
    Variant,
)
from headway_studies.provenance import Origin
from headway_studies.study import NO_REASON, Claim, Row, Verdict

S_EDF, IN_ITEMS, FIFO, ORDER, FACTOR, ORDER_IN_ITEMS, FACTOR_IN_ITEMS = range(7)
OUTPUT3, ELSEWHERE, NEAREST = range(7, 10)
"""places of the claims"""
SOME = {FEWEST_OBJECTS: (1500, 40), ONE_CHEAP_NODE: (470, 80)}


def claims(
    s_edf: Sequence[int],
    fifo: Sequence[int],
    others: dict[Variant, tuple[int, int]] = SOME,
    late: str = "output1",
    in_items: Sequence[int] = (640,),
    late3: int = 0,
) -> tuple[Claim, ...]:
    """``s_edf``, ``fifo`` and ``in_items``: the rates of all trials."""
    rows = [*limit_rows(MAIN, "s-edf", s_edf, late), *limit_rows(MAIN, "fifo+", fifo, late)]
    rows += limit_rows(DEVIATION, "s-edf", in_items, "output2")
    for variant, (ours, theirs) in others.items():
        rows += limit_rows(variant, "s-edf", [ours], "")
        rows += limit_rows(variant, "fifo+", [theirs], "output1")
    rows += [
        {"part": "curve", "policy": policy, "between_items": items, "trial": 0, "limit": limit,
         "miss_ratio": 0.1, "miss_ratio1": 0.2, "miss_ratio2": 0.0, "misses3": late3}
        for policy, items in WAYS
        for limit in LIMITS
    ]  # fmt: skip
    return v2v_rates.analyse(rows).claims


def limit_rows(variant: Variant, policy: str, rates: Sequence[int], late: str) -> list[Row]:
    return [
        {"part": "limit", "policy": policy, "trial": trial, "vehicle": variant.vehicle,
         "item_us": variant.item_us, "radar_objects": variant.radar_objects,
         "between_items": variant.between_items, "rate": rate, "late": late,
         "kept_without_v2v": rate > 0}
        for trial, rate in enumerate(rates)
    ]  # fmt: skip


def test_rates_are_the_least_of_all_trials() -> None:
    found = claims([700, 640, 690], [90, 80, 100], in_items=[900, 850, 800])
    assert found[S_EDF].ours == "S-EDF 640/s; in 0 of 3 trials it misses without any V2V"
    assert "S-EDF 800/s in every one of 3 trials" in found[IN_ITEMS].ours
    assert [one.verdict for one in found[:OUTPUT3]] == [Verdict.SAME] * 7
    assert found[FACTOR].ours == "8.0 times (640/s against 80/s)"
    assert found[FACTOR_IN_ITEMS].ours == "10.0 times (800/s against 80/s)"


def test_what_is_ours_is_said_to_be() -> None:
    """Preemption between items is a changed algorithm, the nearest vehicle was chosen for it."""
    kinds = [one.came.origin for one in claims([0], [0])[: NEAREST + 1]]
    own, theirs = Origin.CHANGED, Origin.ASSUMED
    assert kinds == [
        theirs, own, theirs, theirs, theirs, own, own, theirs, own, Origin.FITTED,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("s_edf", "fifo", "order", "factor"),
    [
        (640, 0, Verdict.SAME, Verdict.DIFFERS),
        (640, 20, Verdict.SAME, Verdict.DIFFERS),
        (640, 160, Verdict.SAME, Verdict.SAME),
        (640, 400, Verdict.SAME, Verdict.DIFFERS),
        (80, 80, Verdict.DIFFERS, Verdict.DIFFERS),
        (0, 0, Verdict.DIFFERS, Verdict.DIFFERS),
        (80, 640, Verdict.DIFFERS, Verdict.DIFFERS),
    ],
)
def test_order_and_factor_can_fail(s_edf: int, fifo: int, order: Verdict, factor: Verdict) -> None:
    found = claims([s_edf], [fifo])
    assert (found[ORDER].verdict, found[FACTOR].verdict) == (order, factor)
    found = claims([0], [fifo], in_items=[s_edf])
    assert (found[ORDER_IN_ITEMS].verdict, found[FACTOR_IN_ITEMS].verdict) == (order, factor)


def test_nothing_is_no_eighth() -> None:
    found = claims([640], [0])
    assert "no factor" in found[FACTOR].ours
    assert "takes no V2V tuple" in found[FACTOR].why
    assert claims([640], [0], late="output2")[FACTOR].why == NO_REASON


def test_reasons_are_those_that_the_rows_show() -> None:
    told = claims([0], [0])[FIFO].why
    assert told.startswith(v2v_rates.OUTPUT1_WAITS)
    assert "one object FIFO+ takes 40/s" in told
    for unexplained in (
        claims([640], [0], late="output2"),
        claims([640], [0], {**SOME, FEWEST_OBJECTS: (1500, 0)}),
        claims([640], [0], {}),
        claims([640], [300]),
    ):
        assert unexplained[FIFO].verdict is Verdict.DIFFERS
        assert unexplained[FIFO].why == NO_REASON
    printed = claims([0], [0])[S_EDF]
    assert printed.why.startswith(v2v_rates.LEAVES_NO_FUSION)
    assert printed.why.endswith("S-EDF takes 640/s")
    assert claims([0], [0], late="output2")[S_EDF].why == NO_REASON
    assert claims([0], [0], in_items=[0])[S_EDF].why == NO_REASON


def test_the_nearest_vehicle_must_give_both_rates() -> None:
    for rates, verdict in (
        ((470, 80), Verdict.SAME),
        ((1500, 80), Verdict.SAME),
        ((390, 80), Verdict.DIFFERS),
        ((470, 40), Verdict.DIFFERS),
    ):
        found = claims([0], [0], {**SOME, ONE_CHEAP_NODE: rates})[NEAREST]
        assert found.verdict is verdict
    assert str(len(OTHERS) + 1) in found.came.tried


def test_output3_is_never_late() -> None:
    assert claims([0], [0])[OUTPUT3].verdict is Verdict.SAME
    assert claims([0], [0], late3=1)[OUTPUT3].verdict is Verdict.DIFFERS


@pytest.mark.parametrize(
    ("least", "trials", "verdict"),
    [
        (IN_ITEMS_RATE, TRIALS, Verdict.BEYOND),
        (IN_ITEMS_RATE - 10, TRIALS, Verdict.DIFFERS),
        (IN_ITEMS_RATE + 10, TRIALS, Verdict.DIFFERS),
        (IN_ITEMS_RATE + 10, 1, Verdict.BEYOND),
        (IN_ITEMS_RATE - 10, 1, Verdict.DIFFERS),
    ],
)
def test_other_studies_run_at_the_rate_found(least: int, trials: int, verdict: Verdict) -> None:
    found = claims([0] * trials, [0] * trials, in_items=[*[900] * (trials - 1), least])
    assert found[ELSEWHERE].verdict is verdict
    assert (f"{least}/s" in found[ELSEWHERE].why) == (verdict is Verdict.DIFFERS)
