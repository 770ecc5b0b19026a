"""Bounds on nodes with several cores: by hand, and held against attacks.

``HEADWAY_CORE_PLANS=300`` attacks that many plans instead of a few.
"""

from __future__ import annotations

import os

import pytest
from tests.engine.bounds import random_plan
from tests.engine.random_runs import Shape

from headway.compiler.latency.demand import Demand
from headway.compiler.latency.several_cores import longest_stay
from headway.engine.adversary.search import attack
from headway.model.quantities import ArrivalCurve, Rate

PLANS = int(os.environ.get("HEADWAY_CORE_PLANS", "8"))


def every(period: int, cost: int, entry: int = 0) -> Demand:
    return Demand(ArrivalCurve((Rate(1, period),)), cost, entry)


def test_by_hand() -> None:
    """Two cores, jobs of 4 and 6: 6 under way, 4 and 6 released, and the job itself once more."""
    assert longest_stay([every(100, 4), every(100, 6)], [4, 6], 2) == [10, 11]
    assert longest_stay([every(100, 4), every(100, 6)], [4, 6], 4) == [10, 12]


def test_what_was_held_up_before_counts() -> None:
    """With an entry of a period a second job may be released together with the first."""
    assert longest_stay([every(10, 4)], [4], 2) == [6]
    assert longest_stay([every(10, 4, 10)], [4], 2) == [8]


def test_more_work_than_cores_has_no_end() -> None:
    assert longest_stay([every(10, 19)], [19], 2) is not None
    assert longest_stay([every(10, 20)], [20], 2) is None


@pytest.mark.timeout(0)  # as long as so many plans take
@pytest.mark.parametrize("cores", [2, 3])
def test_no_attack_exceeds_a_bound(cores: int) -> None:
    bounded, nearest = 0, 0.0
    for seed in range(PLANS):
        made = random_plan(
            40_000 * cores + seed, Shape(most_operators=6, cores=cores), patterns=("aligned",)
        )
        if made is None:
            continue
        result = attack(made[0], tries=12, seed=seed)
        assert result.exceeded == [], f"seed {40_000 * cores + seed}"
        shares = [share for name in result.found if (share := result.share(name)) is not None]
        bounded += len(shares)
        nearest = max([nearest, *shares])
    assert bounded > 4
    assert nearest > 0.6, "the attacks are too tame to test anything"
