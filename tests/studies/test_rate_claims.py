"""What is said about V2V rates, from rows by hand: running them is what test_limit.py does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headway_studies.aedsms import v2v_rates
from headway_studies.aedsms.collision_drives import S_EDF_RATE, TRIALS
from headway_studies.aedsms.v2v_rates import (
    CHEAP_ITEMS,
    FEWEST_OBJECTS,
    LIMITS,
    MAIN,
    ONE_CHEAP_NODE,
    POLICIES,
    Variant,
)
from headway_studies.study import NO_REASON, Claim, Row, Verdict

S_EDF, FIFO, ORDER, FACTOR, ELSEWHERE = range(5)
"""places of the claims"""
OTHERS = {FEWEST_OBJECTS: (1500, 40), ONE_CHEAP_NODE: (1500, 80)}


def claims(
    s_edf: Sequence[int],
    fifo: Sequence[int],
    others: dict[Variant, tuple[int, int]] = OTHERS,
    late: str = "output1",
) -> tuple[Claim, ...]:
    """``s_edf`` and ``fifo``: the rates of all trials."""
    rows = [*limit_rows(MAIN, "s-edf", s_edf, "output2"), *limit_rows(MAIN, "fifo+", fifo, late)]
    for variant, (ours, theirs) in others.items():
        rows += limit_rows(variant, "s-edf", [ours], "")
        rows += limit_rows(variant, "fifo+", [theirs], "output1")
    rows += [
        {"part": "curve", "policy": policy, "trial": 0, "limit": limit, "miss_ratio": 0.1,
         "miss_ratio1": 0.2, "miss_ratio2": 0.0}
        for policy in POLICIES
        for limit in LIMITS
    ]  # fmt: skip
    return v2v_rates.analyse(rows).claims


def limit_rows(variant: Variant, policy: str, rates: Sequence[int], late: str) -> list[Row]:
    return [
        {"part": "limit", "policy": policy, "trial": trial, "vehicle": variant.vehicle,
         "item_us": variant.item_us, "radar_objects": variant.radar_objects, "rate": rate,
         "late": late, "kept_without_v2v": rate > 0}
        for trial, rate in enumerate(rates)
    ]  # fmt: skip


def test_rates_are_the_least_of_all_trials() -> None:
    found = claims([700, 640, 690], [90, 80, 100])
    assert "S-EDF 640/s in every one of 3 trials" in found[S_EDF].ours
    assert [one.verdict for one in found[:ELSEWHERE]] == [Verdict.SAME] * 4
    assert found[FACTOR].ours == "8.0 times (640/s against 80/s)"


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


def test_nothing_is_no_eighth() -> None:
    found = claims([640], [0])
    assert "no factor" in found[FACTOR].ours
    assert "takes no V2V tuple" in found[FACTOR].why
    assert claims([640], [0], late="output2")[FACTOR].why == NO_REASON


def test_reasons_are_those_that_the_variants_show() -> None:
    told = claims([640], [0])[FIFO].why
    assert told.startswith(v2v_rates.OUTPUT1_WAITS)
    assert "one object FIFO+ takes 40/s" in told
    assert "80/s, about what is published" in told
    far = claims([640], [0], {**OTHERS, ONE_CHEAP_NODE: (1500, 20)})[FIFO].why
    assert far.startswith(v2v_rates.OUTPUT1_WAITS)
    assert "published" not in far
    for unexplained in (
        claims([640], [0], late="output2"),
        claims([640], [0], {**OTHERS, FEWEST_OBJECTS: (1500, 0)}),
        claims([640], [0], {}),
        claims([640], [300]),
    ):
        assert unexplained[FIFO].verdict is Verdict.DIFFERS
        assert unexplained[FIFO].why == NO_REASON
    cheaper = claims([100], [0], {**OTHERS, CHEAP_ITEMS: (900, 0)})[S_EDF].why
    assert "with half of it S-EDF takes 900/s" in cheaper
    assert claims([100], [0])[S_EDF].why == NO_REASON


@pytest.mark.parametrize(
    ("least", "trials", "verdict"),
    [
        (S_EDF_RATE, TRIALS, Verdict.BEYOND),
        (S_EDF_RATE - 10, TRIALS, Verdict.DIFFERS),
        (S_EDF_RATE + 10, TRIALS, Verdict.DIFFERS),
        (S_EDF_RATE + 10, 1, Verdict.BEYOND),
        (S_EDF_RATE - 10, 1, Verdict.DIFFERS),
    ],
)
def test_other_studies_run_at_the_rate_found(least: int, trials: int, verdict: Verdict) -> None:
    found = claims([*[900] * (trials - 1), least], [0] * trials)
    assert found[ELSEWHERE].verdict is verdict
    assert (f"{least}/s" in found[ELSEWHERE].why) == (verdict is Verdict.DIFFERS)
