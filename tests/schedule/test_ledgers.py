"""The books of the policies that reserve, entry by entry, worked out by hand.

One hard task with a peak of 40 %, soft ones that take 20 % and 10 % on average. Times are such that
a whole deadline stands for a million."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headway.errors import InputError
from headway.model.taskset import FULL
from headway.schedule.online import EVERY, OVERLOAD_POLICIES
from headway.schedule.online.cbs import LEAST, Servers
from headway.schedule.online.er_edf import SharedByTuples, SharedCapacity
from headway.schedule.online.policy import KeyBase, KeyRule, UnitFacts
from headway.schedule.online.rate_monotonic import PeriodOrder
from headway.schedule.online.reservation import (
    UNLIMITED,
    WAITING,
    JobState,
    Ledger,
    ReservationPolicy,
    ReservedJob,
    TaskFacts,
    Used,
)
from headway.schedule.online.rop_edf import Shares, SharesOfTuples, WholeJobs, WholeTuples


def facts(name: str, hard: bool, average: int, peak: int, period: int = 2000) -> TaskFacts:
    return TaskFacts(
        name=name, hard=hard, period=period, deadline=period, average=average, peak=peak
    )


TASKS = (
    facts("h", True, 300_000, 400_000),
    facts("a", False, 200_000, 500_000),
    facts("b", False, 100_000, 600_000, period=4000),
)
H, A, B = range(3)


def job(task: int, utilisation: int = 100_000, release: int = 0, window: int = 1000) -> ReservedJob:
    left = window * utilisation // FULL
    return ReservedJob(task, release, release + window, left, utilisation, 7)


def admitted(books: Ledger, one: ReservedJob) -> ReservedJob:
    assert books.admit(one)
    return one


def test_a_job_before_anybody_has_looked_at_it() -> None:
    found = job(A, 300_000, release=50)
    assert (found.release, found.deadline, found.window, found.left) == (50, 1050, 1000, 300)
    assert (found.due, found.budget, found.held) == (1050, UNLIMITED, 0)
    assert (found.state, found.number, found.utilisation) == (JobState.DORMANT, 7, 300_000)
    assert len(JobState) == 3
    assert len(Used) == 2
    assert WAITING < 0 < UNLIMITED


def test_books_that_reserve_nothing() -> None:
    books = Ledger(TASKS)
    assert (books.overloaded, books.fair, books.counts, books.moves) == (False,) * 4
    assert (books.overhead, Ledger(TASKS, 5).overhead) == (0, 5)
    one = admitted(books, job(A))
    assert books.budget(one) == UNLIMITED
    assert books.used(one) is Used.OVERRUN
    assert books.on_complete(one, 0) is None
    assert books.turn(one) == 0.0
    assert Ledger(TASKS, 100_000).alone(job(A, 899_999))
    assert not Ledger(TASKS, 100_000).alone(job(A, 900_000))


# ---------------------------------------------------------------- CBS


def test_a_server_by_its_budgets_and_deadlines() -> None:
    """1 − α − peak leaves 150,000 for averages of 300,000: half of each. So a has 200 in 2000."""
    books = Servers(TASKS, 450_000)
    assert (books.counts, books.overloaded, books.moves) == (True, True, True)
    first, second = admitted(books, job(A)), admitted(books, job(A, release=100))
    assert (first.due, first.budget) == (2000, 200)
    assert second.due == WAITING
    other = admitted(books, job(B, release=10))
    assert (other.due, other.budget) == (4010, 200)
    first.budget = -30  # its operator took longer than was left
    assert books.used(first) is Used.LATER
    assert (first.due, first.budget) == (4000, 170)
    first.budget = 150
    assert books.on_complete(first, 900) is second
    assert (second.due, second.budget) == (4000, 150)
    assert books.on_complete(second, 950) is None
    # it would take 150 at its 10 % until 4000: up to 2500 the budget is what is left of it
    third = admitted(books, job(A, release=2499))
    assert (third.due, third.budget) == (4000, 150)
    assert books.on_complete(third, 2499) is None
    fourth = admitted(books, job(A, release=2500))
    assert (fourth.due, fourth.budget) == (4500, 200)
    assert not books.alone(fourth)


def test_a_server_takes_no_more_than_its_average() -> None:
    books = Servers(TASKS, 100_000)  # 500,000 for 300,000
    assert admitted(books, job(A)).budget == 400
    assert admitted(books, job(B)).budget == 400


@pytest.mark.parametrize(("average", "served"), [(LEAST, True), (LEAST - 1, False)])
def test_a_server_with_next_to_nothing(average: int, served: bool) -> None:
    books = Servers([facts("a", False, average, FULL)])
    found = admitted(books, job(0))
    assert (found.due, found.budget) == ((2000, 20) if served else (UNLIMITED, UNLIMITED))


def test_hard_jobs_have_no_server() -> None:
    books = Servers(TASKS)
    one, another = admitted(books, job(H)), admitted(books, job(H))
    assert (one.due, another.due, one.budget) == (1000, 1000, UNLIMITED)
    assert books.on_complete(one, 5) is None
    assert Servers(TASKS[:1]).admit(job(H))  # where there is nothing soft


# ---------------------------------------------------------------- ER-EDF


def test_one_capacity_for_all() -> None:
    books = SharedCapacity(TASKS)
    assert (books.counts, books.fair, books.moves, books.overloaded) == (True, False, False, True)
    hard = admitted(books, job(H))
    assert (hard.held, hard.budget, books.capacity) == (400_000, 400, 600_000)
    soft = admitted(books, job(A, 900_000, window=500))  # its average, whatever it takes
    assert (soft.held, soft.budget, books.capacity) == (200_000, 100, 400_000)
    assert admitted(books, job(H)).held == 400_000  # exactly what is left
    assert not books.admit(job(B))
    assert books.capacity == 0
    assert books.on_complete(soft, 3) is None
    assert (soft.held, books.capacity) == (0, 200_000)


@pytest.mark.parametrize(("peak", "overhead", "overloaded"), [(FULL, 0, False), (FULL, 1, True)])
def test_budgets_hold_when_more_than_everything_could_be_asked_for(
    peak: int, overhead: int, overloaded: bool
) -> None:
    tasks = [facts("h", True, 1, 300_000), facts("a", False, 1, peak - 300_000)]
    for books in (SharedCapacity, WholeJobs, Shares):
        assert books(tasks, overhead).overloaded is overloaded
    assert SharedByTuples(tasks).overloaded


def test_tuples_ask_for_their_own_share() -> None:
    books = SharedByTuples(TASKS)
    assert admitted(books, job(H, 700_000)).held == 700_000
    assert not books.admit(job(A, 300_001))
    assert admitted(books, job(A, 300_000)).budget == 300


# ---------------------------------------------------------------- ROP-EDF


@pytest.mark.parametrize("books", [WholeJobs, Shares])
def test_what_is_for_hard_tasks_alone(books: type[WholeJobs] | type[Shares]) -> None:
    made = books(TASKS)
    assert (made.hard_left, made.soft_left, made.soft_capacity) == (400_000, 600_000, 600_000)
    first = admitted(made, job(H))
    assert (first.held, first.budget, made.hard_left, made.soft_left) == (400_000, 400, 0, 600_000)
    assert not made.admit(job(H))
    made.on_complete(first, 10)  # long before its deadline
    assert (first.held, made.hard_left) == (0, 400_000)
    assert made.admit(job(H))


def test_a_soft_job_reserves_what_it_takes_until_its_deadline() -> None:
    books = WholeJobs(TASKS, 100_000)
    assert (books.counts, books.fair, books.overloaded) == (True, True, True)
    assert not books.admit(job(A, 500_001))
    one = admitted(books, job(A, 500_000))
    assert (one.held, one.budget, books.soft_left) == (500_000, 500, 100_000)
    assert not books.admit(job(B, 1))
    books.on_complete(one, 999)
    assert (one.held, books.soft_left) == (0, 100_000)
    books.returns_until(999)
    assert books.soft_left == 100_000
    books.returns_until(1000)
    assert books.soft_left == 600_000
    late = admitted(books, job(A, 200_000, release=1000))
    books.on_complete(late, 2000)  # at its deadline: at once
    assert books.soft_left == 600_000


@pytest.mark.parametrize("books", [WholeJobs, Shares, WholeTuples, SharesOfTuples])
def test_budgets_hold_whoever_is_present(books: type[WholeJobs] | type[Shares]) -> None:
    """The peaks of all tasks count, not of those that have a job."""
    made = books(TASKS)
    assert made.overloaded
    for task in (H, A, B, H):
        made.on_complete(admitted(made, job(task, 1)), 2000)
        assert made.overloaded


def test_several_reservations_end_in_order() -> None:
    books = WholeJobs(TASKS)
    for window in (3000, 1000, 2000):
        books.on_complete(admitted(books, job(A, 100_000, window=window)), 0)
    left = []
    for now in (999, 1000, 2500, 3000):
        books.returns_until(now)
        left.append(books.soft_left)
    assert left == [300_000, 400_000, 500_000, 600_000]


def enforced(books: Ledger) -> bool:
    """Whether budgets hold now."""
    return books.overloaded


def test_as_printed_reservations_end_with_their_job() -> None:
    """And budgets hold while the peaks of those present exceed 1 − α."""
    books = WholeJobs(TASKS, early=True)
    assert not enforced(books)
    one = admitted(books, job(A, 200_000))
    hard = admitted(books, job(H))
    assert not enforced(books)  # 50 % and 40 %
    another = admitted(books, job(B, 100_000))
    assert enforced(books)
    books.on_complete(another, 1)
    assert (enforced(books), books.soft_left) == (False, 400_000)
    books.on_complete(hard, 2)
    books.on_complete(one, 3)
    assert (books.hard_left, books.soft_left) == (400_000, 600_000)
    exact = WholeJobs(TASKS, 100_000, early=True)
    exact.admit(job(H))
    exact.admit(job(A))
    assert not enforced(exact)  # exactly 1 − α
    more = WholeJobs(TASKS, 100_001, early=True)
    more.admit(job(H))
    more.admit(job(A))
    assert enforced(more)


def test_who_has_missed_more_goes_first() -> None:
    books = WholeJobs(TASKS)
    assert books.turn(job(H)) == -2.0
    assert books.turn(job(A)) == 0.0
    for late in (True, False, False, True):
        books.missed(job(A), late)
    books.missed(job(B), True)
    assert (books.turn(job(A)), books.turn(job(B))) == (-0.5, -1.0)


def test_shares_for_one_job_of_a_task_at_a_time() -> None:
    """600,000 are divided as 2 to 1."""
    books = Shares(TASKS)
    assert (books.counts, books.fair) == (True, False)
    one = admitted(books, job(A, 900_000))
    assert (one.held, one.budget, books.soft_left) == (400_000, 400, 200_000)
    assert not books.admit(job(A, 1))
    other = admitted(books, job(B, 1))
    assert (other.held, books.soft_left) == (200_000, 0)
    books.on_complete(one, 10)
    assert not books.admit(job(A, release=10))  # it holds its share until its deadline
    books.returns_until(1000)
    assert books.admit(job(A, release=1000))
    books.on_complete(other, 1000)
    assert Shares(TASKS, 200_000).admit(job(A))
    assert not Shares(TASKS, 200_001).admit(job(A))
    assert Shares(TASKS[:1]).admit(job(H))  # where there is nothing soft


@pytest.mark.parametrize("books", [WholeTuples, SharesOfTuples])
def test_hard_tuples_are_admitted_as_they_are(
    books: type[WholeTuples] | type[SharesOfTuples],
) -> None:
    made = books([TASKS[0]])
    assert made.overloaded
    for _ in range(3):
        one = admitted(made, job(H, 300_000))
        assert (one.budget, one.held) == (300, 0)
    assert made.on_complete(one, 5) is None
    assert made.hard_left == 400_000


def test_soft_tuples_reserve_what_they_take() -> None:
    books = WholeTuples(TASKS, 100_000)
    one = admitted(books, job(A, 500_000))
    assert (one.held, books.soft_left) == (500_000, 100_000)
    assert not books.admit(job(A, 1))
    books.on_complete(one, 1000)
    assert books.soft_left == 600_000


def test_a_share_is_divided_among_the_tuples_of_its_task() -> None:
    """α is taken off in proportion: 400,000 and 200,000 of 600,000 become 5/6 of it."""
    books = SharesOfTuples(TASKS, 100_000)
    assert books.unused[A:] == [333_333, 166_666]
    first = admitted(books, job(A, 300_000))
    assert (first.held, first.budget, books.unused[A]) == (300_000, 300, 33_333)
    second = admitted(books, job(A, 300_000))
    assert (second.held, second.budget, books.unused[A]) == (33_333, 33, 0)
    assert not books.admit(job(A, 1))
    assert admitted(books, job(B, 100)).held == 100
    books.on_complete(first, 10)
    assert books.unused[A] == 0
    books.returns_until(1000)
    assert (books.unused[A:], books.soft_left) == ([300_000, 166_566], 566_567)
    assert SharesOfTuples(TASKS, 600_001).unused == [0, 0, 0]
    full = [facts("h", True, FULL, FULL), facts("a", False, 1, 1)]
    assert SharesOfTuples(full).unused == [0, 0]


# ---------------------------------------------------------------- the others


def test_the_shorter_period_first_then_the_one_that_stands_first() -> None:
    periods = (20, 10, 20, 5)
    books = PeriodOrder([facts("t", False, 1, 1, period=period) for period in periods])
    assert [admitted(books, job(task)).due for task in range(4)] == [2, 1, 3, 0]
    assert books.admit(job(0))


BOOKS: dict[str, tuple[type[Ledger], type[Ledger]]] = {
    "op-edf": (Ledger, Ledger),
    "er-edf": (SharedCapacity, SharedByTuples),
    "rop-edf-1": (WholeJobs, WholeTuples),
    "rop-edf-2": (Shares, SharesOfTuples),
    "cbs": (Servers, Servers),
    "rate-monotonic": (PeriodOrder, PeriodOrder),
    "rop-edf-1-paper": (WholeJobs, WholeTuples),
    "rop-edf-2-paper": (Shares, SharesOfTuples),
}


def opened(policy: ReservationPolicy, tasks: Sequence[TaskFacts]) -> tuple[Ledger, Ledger]:
    return policy.open(tasks, 3), policy.open_for_tuples(tasks, 3)


def test_which_books_a_policy_opens() -> None:
    assert set(OVERLOAD_POLICIES) >= set(BOOKS)
    for name, classes in BOOKS.items():
        found = opened(OVERLOAD_POLICIES[name](), TASKS)
        assert tuple(type(books) for books in found) == classes, name
        assert [books.overhead for books in found] == [3, 3], name
        assert OVERLOAD_POLICIES[name]().open(TASKS).overhead == 0, name
        assert OVERLOAD_POLICIES[name]().open_for_tuples(TASKS).overhead == 0, name
        assert {one(TASKS).overhead for one in classes} == {0}, name
        early = name.endswith("-paper")
        assert OVERLOAD_POLICIES[name].in_engine is not early, name
        if isinstance(found[0], WholeJobs | Shares):
            assert found[0].overloaded is not early, name


UNIT = UnitFacts(deadline=7, cost=1, period=20, rank=3, position=5, level=2, capacity=4.0)
RULES = {
    "s-edf": (KeyBase.TIMESTAMP, 7, 0),
    "s-edf-primitive": (KeyBase.TIMESTAMP, 7, 0),
    "fifo+": (KeyBase.ROOT, 0, 3),
    "mc+": (KeyBase.ROOT, 3 << 40, 0),
    "static": (KeyBase.ROOT, 0, 5),
    "rate-monotonic": (KeyBase.CONSTANT, 20, 7 << 12 | 3),
    "op-edf": (KeyBase.TIMESTAMP, 7, 0),
    "cbs": (KeyBase.TIMESTAMP, 7, 0),
}


def test_keys_as_numbers() -> None:
    for name, (base, add, second) in RULES.items():
        rule = EVERY[name]().key_rule(UNIT)
        assert rule is not None
        assert (rule.base, rule.add, rule.second) == (base, add, second), name
    assert KeyRule(KeyBase.ROOT).key(1, 9) == (9, 0)
    assert KeyRule(KeyBase.TIMESTAMP, 5, 2).key(1, 9) == (6, 2)
    assert KeyRule(KeyBase.CONSTANT, 5, 2).key(1, 9) == (5, 2)


def test_a_period_is_needed_where_it_orders() -> None:
    unit = UnitFacts(deadline=1, cost=1, period=None, rank=0, position=0, level=0, capacity=1.0)
    with pytest.raises(InputError, match="rate-monotonic needs the rate of every source"):
        EVERY["rate-monotonic"]().key(unit)
