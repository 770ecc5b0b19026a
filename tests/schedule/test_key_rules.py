"""A policy that says its key in numbers orders jobs as its key function does."""

from __future__ import annotations

from itertools import product

import pytest

from headway.model.quantities import MILLISECOND
from headway.schedule.online import EVERY
from headway.schedule.online.policy import Policy, RerankingPolicy, UnitFacts

UNITS = [
    UnitFacts(
        deadline=deadline * MILLISECOND,
        cost=cost,
        period=period * MILLISECOND,
        rank=rank,
        position=5 - rank,
        level=rank,
        capacity=1e9 / cost,
        chain=rank % 3,
        query_deadline=3 * MILLISECOND,
    )
    for rank, (deadline, cost, period) in enumerate(product((3, 8), (1_000, 2_000), (10, 20)))
]
JOBS = [(time * MILLISECOND, root) for time in (-7, 0, 5, 1_700_000_000_000) for root in (0, 1, 9)]
WITH_A_RULE = {
    "s-edf", "s-edf-primitive", "fifo+", "mc+", "static", "op-edf", "er-edf", "rop-edf-1",
    "rop-edf-2", "cbs", "rate-monotonic", "rop-edf-1-paper", "rop-edf-2-paper", "chain", "rtstream",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(WITH_A_RULE))
def test_the_rule_orders_jobs_as_the_key_does(name: str) -> None:
    policy: Policy = EVERY[name]()
    found = []
    for unit in UNITS:
        rule = policy.key_rule(unit)
        assert rule is not None
        key = policy.key(unit)
        found += [(key(*job), rule.key(*job)) for job in JOBS]
    for (left, left_rule), (right, right_rule) in product(found, found):
        assert (left < right) == (left_rule < right_rule)
    assert all(abs(number) < 1 << 63 for _, rule in found for number in rule)


def test_what_cannot_be_said_in_numbers_has_no_rule() -> None:
    without = [name for name in EVERY if EVERY[name]().key_rule(UNITS[0]) is None]
    assert not WITH_A_RULE & set(without)
    assert "pcs" in without
    assert "least-laxity" in without
    assert all(name in without for name in EVERY if isinstance(EVERY[name](), RerankingPolicy))
