"""Policies whose keys change: least laxity, and one that ranks by how long a job has waited.

The reference computes every rank anew at every instant at which the processor has a choice, from
the definition and in whole milliseconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import pytest
from tests.compiler.build import identity, one_node, query_of, source
from tests.engine.support import compiled, in_order, run, slots_of
from tests.engine.wall.taking_time import CLOCK
from tests.engine.wall.test_wall import at, two_trains

from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.engine.wall_engine import WallEngine
from headway.model.operators import Operator
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Cost, Rate
from headway.model.query import Output, Query
from headway.schedule.online.least_laxity import LeastLaxity
from headway.schedule.online.policy import (
    JobFacts,
    Policy,
    RankFunction,
    RerankingPolicy,
    UnitFacts,
)
from headway.schedule.online.s_edf import StreamEdf

MS = MILLISECOND


class ResponseRatio(RerankingPolicy):
    """Highest response ratio next (Brinch Hansen): (waited + work) / work, which grows with time,
    and sooner for short jobs."""

    name = "response-ratio"
    summary = paper = ""
    fuse = True
    preemptive = False
    while_waiting = True

    def rank(self, unit: UnitFacts) -> RankFunction:
        return lambda job: -Fraction(job.now - job.timestamp + unit.cost, unit.cost)


class PreemptiveRatio(ResponseRatio):
    """The same of the work that is left."""

    name = "preemptive-ratio"
    preemptive = True

    def rank(self, unit: UnitFacts) -> RankFunction:
        return lambda job: -Fraction(job.now - job.timestamp, job.left)


class RankedOnce(ResponseRatio):
    """What is wrong with a key that is fixed at the release."""

    name = "ranked-once"
    while_waiting = False


# -------------------------------------------------------------------- independent trains


@dataclass(frozen=True)
class Train:
    """A chain of operators with a source and an output of its own, in ms."""

    costs: tuple[int, ...]
    deadline: int
    releases: tuple[int, ...]


def plan_of(trains: list[Train]) -> Plan:
    streams: list[tuple[str, str]] = []
    costs: dict[str, int] = {}
    for number, train in enumerate(trains):
        names = [f"t{number}_{place}" for place in range(len(train.costs))]
        streams += pairwise([f"s{number}", *names, f"out{number}"])
        costs |= {name: cost * MS for name, cost in zip(names, train.costs, strict=True)}
    deadlines = {f"out{number}": train.deadline * MS for number, train in enumerate(trains)}
    rates = {f"s{number}": Rate(1, 10 * SECOND) for number in range(len(trains))}
    query = query_of(streams, deadlines, costs=costs, rates=rates)
    return compiled(query, one_node(query))


def played(trains: list[Train], policy: Policy) -> RunResult:
    arrivals = [
        Arrival(time * MS, f"s{number}", (time * MS // MICROSECOND, 0.0))
        for number, train in enumerate(trains)
        for time in train.releases
    ]
    return run(plan_of(trains), in_order(arrivals), policy)


def timeline(result: RunResult) -> list[tuple[int, int, str]]:
    return [(slot.start // MS, slot.end // MS, slot.operator) for slot in slots_of(result)]


@dataclass
class Job:
    number: int
    train: int
    release: int
    deadline: int
    costs: tuple[int, ...]
    ran: int = 0

    @property
    def left(self) -> int:
        return sum(self.costs[self.ran :])


Rank = Callable[[Job, int], Fraction]


def laxity(job: Job, now: int) -> Fraction:
    return Fraction(job.deadline - now - job.left)


def response_ratio(job: Job, now: int) -> Fraction:
    return -Fraction(now - job.release + sum(job.costs), sum(job.costs))


def preemptive_ratio(job: Job, now: int) -> Fraction:
    return -Fraction(now - job.release, job.left)


def reference(trains: list[Train], rank: Rank, *, preemptive: bool) -> list[tuple[int, int, str]]:
    """By the definition: the least rank; of equal ones the job that runs, then the earlier one."""
    releases = [(time, n) for n, train in enumerate(trains) for time in train.releases]
    jobs = [
        Job(number, n, time, time + trains[n].deadline, trains[n].costs)
        for number, (time, n) in enumerate(sorted(releases))
    ]
    now, running, found = 0, None, []
    while pending := [job for job in jobs if job.left]:
        ready = [job for job in pending if job.release <= now]
        if not ready:
            now = min(job.release for job in pending)
            continue
        goes_on = running is not None and running.left and not preemptive
        if not goes_on:
            turn = sorted(ready, key=lambda job: (rank(job, now), job is not running, job.number))
            running = turn[0]
        assert running is not None
        end = now + running.costs[running.ran]
        found.append((now, end, f"t{running.train}_{running.ran}"))
        running.ran += 1
        now = end
    return found


def random_trains(draw: random.Random) -> list[Train]:
    """Enough work for several jobs to wait at a time, and many ties."""
    found = []
    for _ in range(draw.randint(2, 4)):
        costs = tuple(draw.randint(1, 4) for _ in range(draw.randint(1, 4)))
        releases = sorted(draw.sample(range(40), draw.randint(1, 4)))
        found.append(Train(costs, sum(costs) + draw.randint(0, 15), tuple(releases)))
    return found


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize(
    ("policy", "rank"),
    [
        (LeastLaxity(), laxity),
        (ResponseRatio(), response_ratio),
        (PreemptiveRatio(), preemptive_ratio),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_every_choice_is_by_the_definition(policy: Policy, rank: Rank, seed: int) -> None:
    trains = random_trains(random.Random(seed))
    expected = reference(trains, rank, preemptive=policy.preemptive)
    assert timeline(played(trains, policy)) == expected


def test_the_reference_tells_policies_apart() -> None:
    """A checker that finds nothing wrong is no checker."""
    drawn = [random_trains(random.Random(seed)) for seed in range(60)]
    for wrong, rank in ((StreamEdf(), laxity), (RankedOnce(), response_ratio)):
        differ = [
            timeline(played(trains, wrong)) != reference(trains, rank, preemptive=wrong.preemptive)
            for trains in drawn
        ]
        assert sum(differ) > 10, wrong.name


# -------------------------------------------------------------------- least laxity by hand


LONG = Train(costs=(2, 2, 2), deadline=10, releases=(0,))
SHORT = Train(costs=(1, 1), deadline=8, releases=(0,))


def test_least_laxity_by_hand() -> None:
    """The long train has 4 ms to spare, the short one 6: it goes first though its deadline is
    later. After one operator both have 4 and it goes on; after two it has 4 and the short one 2."""
    result = played([SHORT, LONG], LeastLaxity())
    assert timeline(result) == [
        (0, 2, "t1_0"),
        (2, 4, "t1_1"),
        (4, 5, "t0_0"),
        (5, 6, "t0_1"),
        (6, 8, "t1_2"),
    ]
    assert result.summary().preemptions == 1
    assert timeline(played([SHORT, LONG], StreamEdf()))[0] == (0, 1, "t0_0")


def test_equal_trains_overtake_each_other_once_an_operator_at_most() -> None:
    same = [Train(costs=(1,) * 6, deadline=20, releases=(0,)) for _ in range(3)]
    result = played(same, LeastLaxity())
    assert timeline(result) == reference(same, laxity, preemptive=True)
    assert 0 < result.summary().preemptions < 18


def test_preemptions_of_least_laxity_cost_what_the_node_says() -> None:
    plan = plan_of([SHORT, LONG])
    costly = compiled(plan.query, one_node(plan.query, preemption_cost=MS))
    arrivals = [Arrival(0, "s0", (0, 0.0)), Arrival(0, "s1", (0, 0.0))]
    last = timeline(run(costly, arrivals, LeastLaxity()))[-1]
    assert last == (7, 9, "t1_2")


# -------------------------------------------------------------------- what a policy is told


class Told(RerankingPolicy):
    """Ranks by arrival, and notes what it was asked."""

    name = "told"
    summary = paper = ""
    fuse = True
    preemptive = True
    while_waiting = True

    def __init__(self) -> None:
        self.facts: list[JobFacts] = []

    def rank(self, unit: UnitFacts) -> RankFunction:
        def rank(job: JobFacts) -> int:
            self.facts.append(job)
            return job.root

        return rank


def test_a_policy_is_told_what_is_done_and_left() -> None:
    policy = Told()
    played([LONG, SHORT], policy)
    first = [job for job in policy.facts if job.root == 1]
    assert {(job.now // MS, job.done // MS, job.left // MS) for job in first} == {
        (0, 0, 6),
        (2, 2, 4),
        (4, 4, 2),
    }
    second = {(job.now // MS, job.left // MS) for job in policy.facts if job.root == 2}
    assert second - {(7, 1)} == {(0, 2), (2, 2), (4, 2), (6, 2)}, "while it waits too"


def test_of_a_gathered_batch_the_work_is_known_when_it_is_released() -> None:
    gathering = identity("pair", ["a", "b"], timeout=50 * MS)
    per_item = Cost(MS, per_item=2 * MS, most_items=10, between_items=True)
    steps: tuple[Operator, ...] = (
        replace(gathering, cost=per_item),
        identity("after", ["pair"], 5 * MS),
        identity("other", ["c"], MS),
    )
    query = Query(
        name="batch",
        sources=(source("a"), source("b"), source("c")),
        steps=steps,
        outputs=(
            Output(name="out", stream="after", deadline=90 * MS),
            Output(name="more", stream="other", deadline=90 * MS),
        ),
    )
    policy = Told()
    run(
        compiled(query, one_node(query)),
        [Arrival(0, name, (0, 1.0)) for name in ("a", "b", "c")],
        policy,
    )
    told = [(job.done // MS, job.left // MS) for job in policy.facts if job.root == 2]
    # one for the batch, two for each of its tuples, then five; the other job waits all the while
    assert [one for n, one in enumerate(told) if n == 0 or one != told[n - 1]] == [
        (0, 10),
        (1, 9),
        (3, 7),
        (5, 5),
    ]


# -------------------------------------------------------------------- ranks that change with time


def test_a_job_is_overtaken_while_it_waits() -> None:
    """When the core is free at 10 ms, X has waited 9 ms for 8 of work (ratio 2.125) and Y 1 ms for
    1 of work (2); at 11 ms Y has 3."""
    for busy, first in ((10, "t1_0"), (11, "t2_0")):
        trains = [
            Train((busy,), 100, (0,)),
            Train((8,), 100, (1,)),
            Train((1,), 100, (9,)),
        ]
        assert timeline(played(trains, ResponseRatio()))[1][2] == first


def test_in_wall_clock_time_too() -> None:
    """The relaxed train has 480 ms to spare and the urgent one 18."""
    result = WallEngine(plan=two_trains(), clock=CLOCK, policy="least-laxity").run(
        [at(0, "a"), at(3, "b")]
    )
    (soon,) = result.outputs["soon"]
    (relaxed,) = result.outputs["relaxed"]
    assert soon.completed == 12 * MS
    assert relaxed.completed == 22 * MS
    assert result.summary().preemptions == 1
    policy = Told()
    WallEngine(plan=two_trains(), clock=CLOCK, policy=policy).run([at(0, "a"), at(3, "b")])
    first = [(job.done // MS, job.left // MS) for job in policy.facts if job.root == 1]
    assert set(first) == {(0, 20), (10, 10)}
    waiting = {job.now // MS for job in policy.facts if job.root == 2}
    assert {10, 20} <= waiting, "asked again whenever there was a choice"
