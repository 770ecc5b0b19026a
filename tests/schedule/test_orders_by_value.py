"""What each policy puts first, counted by hand, and what the papers print of each.

A key turned round, or a policy made preemptive, gives the same tuples later or earlier: only the
order tells.
"""

from __future__ import annotations

import pytest
from tests.compiler.build import one_node, query_of
from tests.engine.support import compiled, run, slots_of

from headway.engine.jobs import Arrival
from headway.model.quantities import MILLISECOND
from headway.schedule.online import EVERY
from headway.schedule.online.policy import JobFacts, Policy, RerankingPolicy, UnitFacts
from headway.schedule.online.reservation import ReservationPolicy

MS = MILLISECOND


def unit(
    *,
    deadline: int = 10,
    period: int = 10,
    rank: int = 0,
    position: int = 0,
    level: int = 0,
    capacity: float = 1.0,
    chain: int = 0,
    query_deadline: int = 10,
) -> UnitFacts:
    return UnitFacts(
        deadline=deadline,
        cost=1,
        period=period,
        rank=rank,
        position=position,
        level=level,
        capacity=capacity,
        chain=chain,
        query_deadline=query_deadline,
    )


FIRST = unit()
BEFORE: dict[str, list[tuple[tuple[UnitFacts, int, int], tuple[UnitFacts, int, int]]]] = {
    # the faster path; then the earlier tuple; then the lower level; then the static order
    "pcs": [
        ((unit(capacity=2.0, level=9, rank=9), 99, 9), (unit(capacity=1.0), 0, 0)),
        ((unit(level=9, rank=9), 99, 1), (unit(), 0, 2)),
        ((unit(level=1, rank=9), 99, 1), (unit(level=2), 0, 1)),
        ((unit(rank=1), 99, 1), (unit(rank=2), 0, 1)),
    ],
    # the steeper chain, whatever the deadline; then the earlier tuple; then the static order
    "chain": [
        ((unit(chain=1, deadline=99, rank=9), 99, 9), (unit(chain=2, deadline=1), 0, 0)),
        ((unit(chain=1, rank=9), 99, 1), (unit(chain=1), 0, 2)),
        ((unit(chain=1, rank=1), 99, 1), (unit(chain=1, rank=2), 0, 1)),
    ],
    # the earlier deadline of the whole query, not that of the unit; then the static order
    "rtstream": [
        ((unit(query_deadline=5, deadline=99), 10, 9), (unit(query_deadline=10, deadline=1), 6, 1)),
        ((unit(rank=1, deadline=99), 10, 9), (unit(rank=2, deadline=1), 10, 1)),
    ],
    # the earlier tuple; then the place in the schedule, whatever the topological order
    "static": [
        ((unit(position=9), 99, 1), (unit(), 0, 2)),
        ((unit(position=1, rank=2), 99, 1), (unit(position=2, rank=1), 0, 1)),
    ],
    "fifo+": [
        ((unit(rank=9), 99, 1), (unit(), 0, 2)),
        ((unit(rank=1, position=2), 99, 1), (unit(rank=2, position=1), 0, 1)),
    ],
    # the front-most operator; then the earlier tuple
    "mc+": [
        ((unit(rank=1), 99, 9), (unit(rank=2), 0, 1)),
        ((unit(rank=1), 99, 1), (unit(rank=1), 0, 2)),
    ],
    # the earlier absolute deadline, whatever came first
    "s-edf": [((unit(deadline=5), 10, 9), (unit(deadline=10), 6, 1))],
    "s-edf-primitive": [((unit(deadline=5), 10, 9), (unit(deadline=10), 6, 1))],
    "op-edf": [((unit(deadline=5), 10, 9), (unit(deadline=10), 6, 1))],
    # the shorter period; then the shorter deadline; then the static order; no tuple matters
    "rate-monotonic": [
        ((unit(period=5, deadline=99, rank=9), 99, 9), (unit(period=6, deadline=1), 0, 0)),
        ((unit(deadline=5, rank=9), 99, 9), (unit(deadline=6), 0, 0)),
        ((unit(rank=1), 99, 9), (unit(rank=2), 0, 0)),
    ],
}


@pytest.mark.parametrize("name", BEFORE)
def test_what_goes_first(name: str) -> None:
    policy: Policy = EVERY[name]()
    for (one, *early), (other, *late) in BEFORE[name]:
        assert policy.key(one)(*early) < policy.key(other)(*late)


def test_least_laxity_counts_what_is_left() -> None:
    """Due at 20 with 5 left is before due at 18 with 2 left; done work makes it less urgent."""
    policy = EVERY["least-laxity"]()
    assert isinstance(policy, RerankingPolicy)

    def rank(deadline: int, timestamp: int, done: int, left: int) -> int:
        facts = JobFacts(timestamp=timestamp, root=0, now=0, done=done, left=left)
        found: int = policy.rank(unit(deadline=deadline))(facts)
        return found

    assert rank(10, 10, 0, 5) == 15
    assert rank(10, 10, 0, 5) < rank(8, 10, 0, 2)
    assert rank(10, 10, 4, 1) > rank(8, 10, 0, 2)
    assert not policy.while_waiting


FLAGS = {
    "s-edf": (True, True),
    "s-edf-primitive": (False, False),
    "fifo+": (False, False),
    "mc+": (False, False),
    "pcs": (False, False),
    "static": (False, False),
    "least-laxity": (True, True),
    "chain": (False, False),
}
"""(trains, preempts between operators): S-EDF, sections 5.3, 5.4 and 6.1.2"""
TABLE_6 = {
    "op-edf": (True, False, True, False),
    "cbs": (True, True, False, True),
    "er-edf": (True, True, True, False),
    "rate-monotonic": (False, False, False, False),
    "rtstream": (True, False, False, False),
    "rop-edf-1": (True, True, True, True),
    "rop-edf-2": (True, True, True, True),
}
"""ROP-EDF, table 6: a hard guarantee below overload, in overload, several deadlines, over 100 %"""
UNGUARDED = {"op-edf", "rate-monotonic", "rtstream"}


def test_flags() -> None:
    assert {name: (EVERY[name].fuse, EVERY[name].preemptive) for name in FLAGS} == FLAGS
    assert [name for name in EVERY if EVERY[name].batches] == ["s-edf"]


def test_the_published_table() -> None:
    for name, features in TABLE_6.items():
        policy = EVERY[name]
        assert issubclass(policy, ReservationPolicy)
        assert policy.features == features, name
        assert (policy.fuse, policy.preemptive) == (True, True), name
        assert policy.guarded is (name not in UNGUARDED), name
        assert policy.in_engine


def test_end_to_end_policies() -> None:
    found = [
        name
        for name in EVERY
        if issubclass(policy := EVERY[name], ReservationPolicy) and policy.end_to_end
    ]
    assert found == ["op-edf", "rop-edf-1"]
    rules = {
        name: policy.soft_rule.value
        for name in EVERY
        if issubclass(policy := EVERY[name], ReservationPolicy) and policy.soft_rule
    }
    assert rules == {"rop-edf-1": 1, "rop-edf-2": 2}


def order_under(policy: str) -> str:
    """Two chains of two operators on one ECU. A slow tuple comes at 0, a quick one at 1 ms while
    the first operator of the slow one is under way, and another slow one."""
    query = query_of(
        [("a", "a1"), ("a1", "a2"), ("a2", "slow"), ("b", "b1"), ("b1", "b2"), ("b2", "quick")],
        {"slow": 100 * MS, "quick": 20 * MS},
        costs={"a1": 3 * MS, "a2": 3 * MS, "b1": MS, "b2": MS},
    )
    plan = compiled(query, one_node(query))
    given = [
        Arrival(0, "a", (0, 1.0)),
        Arrival(MS, "b", (1_000, 1.0)),
        Arrival(MS, "a", (1_000, 1.0)),
    ]
    result = run(plan, given, policy)
    slots = sorted(slots_of(result), key=lambda slot: slot.start)
    return " ".join(slot.operator for slot in slots)


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        ("s-edf", "a1 b1 b2 a2 a1 a2"),  # the quick tuple preempts the slow train
        ("fifo+", "a1 a2 b1 b2 a1 a2"),
        ("static", "a1 a2 b1 b2 a1 a2"),
        ("mc+", "a1 b1 b2 a1 a2 a2"),  # the quicker branch stands in front
        ("pcs", "a1 b1 b2 a2 a1 a2"),  # the faster path, without preemption
        ("chain", "a1 b1 b2 a2 a1 a2"),  # all shrink at the end: the shorter path is the steeper
        ("rtstream", "a1 b1 b2 a2 a1 a2"),  # two queries, each with its own deadline
    ],
)
def test_a_run_in_order(policy: str, order: str) -> None:
    assert order_under(policy) == order


def test_which_policies_reserve_processor_time() -> None:
    """The others only order jobs: no set of tasks is refused, no node gets a table of reserves."""
    assert {name for name, policy in EVERY.items() if policy.guarded} == {
        "er-edf", "cbs", "rop-edf-1", "rop-edf-2", "rop-edf-1-paper", "rop-edf-2-paper",
    }  # fmt: skip
