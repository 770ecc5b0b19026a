"""The S-EDF paper's theorems 1 and 2, as far as they hold, and how they fail beyond that.

**Theorem 1** (section 5.2) is about a set of pairs (tuple, operator) *that are all available*: if
primitive scheduling misses a deadline, so does every other order (Jackson's rule). Deadlines by
EDF* carry it over to whole queries: for tuples that arrive together no order of all their operators
keeps every output's deadline unless primitive S-EDF does, and none has a smaller maximum lateness
(selectivity 1, no timeouts, no scheduling costs). With operators of one length and arrivals at
whole multiples of it, it also holds for tuples that arrive later. With longer operators it does
not, even among orders that never idle: an operator under way cannot be stopped, and only an order
that foresees the arrival runs another first.

**Theorem 2** (section 5.4): trains make no output later than primitive scheduling does, under the
same conditions and when no two trains share a deadline (the paper leaves ties open; here they are
broken by order of release, which the two schedules may see differently).

The brute force has its own code path: it knows the graph, the costs and the releases, and neither
the kernel nor deadlines by EDF*.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest
from tests.compiler.build import one_node, query_of
from tests.engine.support import compiled, completions, run

from headway.engine.jobs import Arrival
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.schedule.online.policy import KeyFunction, Policy, UnitFacts
from headway.schedule.online.s_edf import PrimitiveStreamEdf, StreamEdf

UNIT = MILLISECOND


@dataclass(frozen=True)
class Case:
    """A query of up to four operators. ``sensed`` are (timestamp, source) of its tuples, in units;
    they arrive when they are sensed, but not before ``held``."""

    streams: tuple[tuple[str, str], ...]
    costs: tuple[tuple[str, int], ...]
    deadlines: tuple[tuple[str, int], ...]
    sensed: tuple[tuple[int, str], ...]
    held: int = 0

    def arrivals(self) -> list[Arrival]:
        return [
            Arrival(
                max(time, self.held) * UNIT, source, (time * UNIT // MICROSECOND, float(number))
            )
            for number, (time, source) in enumerate(self.sensed)
        ]

    def followers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for producer, consumer in self.streams:
            found.setdefault(producer, []).append(consumer)
        return found


@cache
def plan_of(case: Case) -> Plan:
    query = query_of(
        case.streams,
        {output: deadline * UNIT for output, deadline in case.deadlines},
        costs={name: cost * UNIT for name, cost in case.costs},
    )
    return compiled(query, one_node(query))


def random_case(seed: int, *, together: bool, unit_costs: bool) -> Case:
    """Branches and unions of one or two sources, up to four tuples."""
    draw = random.Random(seed)
    sources = ["s1", "s2"][: draw.randint(1, 2)]
    streams: list[tuple[str, str]] = []
    known = list(sources)
    unread = dict.fromkeys(sources)
    operators = [f"o{i}" for i in range(1, draw.randint(2, 4) + 1)]
    for name in operators:
        first = draw.choice(list(unread)) if draw.random() < 0.6 and unread else draw.choice(known)
        inputs = [first]
        others = [stream for stream in known if stream != first]
        if others and draw.random() < 0.25:
            inputs.append(draw.choice(others))
        streams += [(stream, name) for stream in inputs]
        for stream in inputs:
            unread.pop(stream, None)
        known.append(name)
        unread[name] = None
    for source in [stream for stream in unread if stream in sources]:
        streams.append((source, operators[0]))
        del unread[source]
    outputs = [(name, f"out_{name}") for name in unread]
    streams += outputs
    tuples = draw.randint(2, 4) if len(operators) < 4 else draw.randint(2, 3)
    times = sorted(draw.randint(0, 4) for _ in range(tuples))
    return Case(
        streams=tuple(dict.fromkeys(streams)),
        costs=tuple((name, 1 if unit_costs else draw.randint(1, 3)) for name in operators),
        deadlines=tuple((output, draw.randint(2, 14)) for _, output in outputs),
        sensed=tuple((time, draw.choice(sources)) for time in times),
        held=4 if together else 0,
    )


Pair = tuple[int, str]
"""(number of the tuple's release, operator); a union reached on two ways runs for each"""


@cache
def best_lateness(case: Case) -> int:
    """The least maximum lateness of the outputs over all orders that never idle, by brute force."""
    after = case.followers()
    cost = dict(case.costs)
    deadline = dict(case.deadlines)
    sensed = [time for time, _ in case.sensed]
    arrives = [max(time, case.held) for time in sensed]

    def entered(number: int, stream: str) -> list[Pair]:
        return [(number, o) for o in after.get(stream, []) if o in cost]

    def lateness(number: int, stream: str, now: int) -> int:
        late = [now - sensed[number] - deadline[o] for o in after.get(stream, []) if o in deadline]
        return max(late, default=-(10**9))

    @cache
    def best(now: int, arrived: int, ready: tuple[Pair, ...]) -> int:
        pending = list(ready)
        while arrived < len(sensed) and arrives[arrived] <= now:
            pending += entered(arrived, case.sensed[arrived][1])
            arrived += 1
        if not pending:
            if arrived == len(sensed):
                return -(10**9)
            return best(arrives[arrived], arrived, ())
        found = 10**9
        for pair in set(pending):
            number, operator = pair
            rest = list(pending)
            rest.remove(pair)
            end = now + cost[operator]
            late = lateness(number, operator, end)
            if late < found:
                follow = tuple(sorted(rest + entered(number, operator)))
                found = min(found, max(late, best(end, arrived, follow)))
        return found

    return best(0, 0, ())


def lateness_of(case: Case, policy: Policy) -> int:
    result = run(plan_of(case), case.arrivals(), policy)
    late = [one.completed - one.deadline for record in result.outputs.values() for one in record]
    return max(late) // UNIT


class LatestDeadlineFirst(PrimitiveStreamEdf):
    """The mutant: the wrong way round."""

    def key(self, unit: UnitFacts) -> KeyFunction:
        right = super().key(unit)
        return lambda timestamp, root: -right(timestamp, root)


class ForgetsSuccessors(PrimitiveStreamEdf):
    """A subtler mutant: tuples in order of sensing, whatever they are needed for."""

    def key(self, unit: UnitFacts) -> KeyFunction:
        return lambda timestamp, root: timestamp


def counterexample(policy: Callable[[], Policy], cases: list[Case]) -> Case | None:
    """The first case in which another order is better."""
    return next((c for c in cases if lateness_of(c, policy()) > best_lateness(c)), None)


TOGETHER = [random_case(seed, together=True, unit_costs=False) for seed in range(100)]
UNIT_LENGTH = [random_case(seed, together=False, unit_costs=True) for seed in range(1000, 1100)]


@pytest.mark.parametrize("cases", [TOGETHER, UNIT_LENGTH], ids=["together", "unit length"])
def test_theorem_1(cases: list[Case]) -> None:
    for case in cases:
        assert lateness_of(case, PrimitiveStreamEdf()) == best_lateness(case), case


@pytest.mark.parametrize("cases", [TOGETHER, UNIT_LENGTH], ids=["together", "unit length"])
@pytest.mark.parametrize("mutant", [LatestDeadlineFirst, ForgetsSuccessors])
def test_theorem_1_catches_mutants(mutant: Callable[[], Policy], cases: list[Case]) -> None:
    assert counterexample(mutant, cases) is not None


def test_the_cases_of_theorem_1_are_of_every_kind() -> None:
    for cases in (TOGETHER, UNIT_LENGTH):
        best = [best_lateness(case) for case in cases]
        assert sum(late > 0 for late in best) >= 10
        assert sum(late <= 0 for late in best) >= 10
        assert sum(any(len(f) > 1 for f in case.followers().values()) for case in cases) >= 20
        readers = [[consumer for _, consumer in case.streams] for case in cases]
        assert sum(len(set(names)) < len(names) for names in readers) >= 10


def test_theorem_1_does_not_hold_for_later_arrivals_and_long_operators() -> None:
    """At 0 S-EDF takes the long operator with the earlier deadline; the tuple of time 1 then waits
    too long. Running the short one first keeps all deadlines, without idling."""
    case = Case(
        streams=(
            ("s1", "long"),
            ("s1", "short"),
            ("s2", "quick"),
            *_outputs("long", "short", "quick"),
        ),
        costs=(("long", 3), ("short", 1), ("quick", 2)),
        deadlines=(("out_long", 10), ("out_short", 11), ("out_quick", 2)),
        sensed=((0, "s1"), (1, "s2")),
    )
    assert lateness_of(case, PrimitiveStreamEdf()) == 2
    assert best_lateness(case) == 0


def _outputs(*operators: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, f"out_{name}") for name in operators)


# -------------------------------------------------------------------- theorem 2


def later_outputs(case: Case, trains: Policy | None = None) -> list[str]:
    """The outputs that some tuple reaches later with trains than without."""
    fused = run(plan_of(case), case.arrivals(), trains or StreamEdf())
    single = run(plan_of(case), case.arrivals(), PrimitiveStreamEdf())
    return [
        output
        for output, _ in case.deadlines
        if any(
            ours[1] > theirs[1]
            for ours, theirs in zip(
                completions(fused, output), completions(single, output), strict=True
            )
        )
    ]


def has_ties(case: Case) -> bool:
    """Whether two jobs of different tuples or trains have one absolute deadline."""
    deadlines = [
        time * UNIT + task.relative_deadline
        for time, _ in case.sensed
        for task in plan_of(case).tasks
    ]
    return len(set(deadlines)) < len(deadlines)


@cache
def without_ties(*, together: bool, unit_costs: bool, wanted: int) -> list[Case]:
    """Cases with a train in them."""
    found: list[Case] = []
    seed = 5000
    while len(found) < wanted:
        seed += 1
        case = random_case(seed, together=together, unit_costs=unit_costs)
        if not has_ties(case) and any(len(task.operators) > 1 for task in plan_of(case).tasks):
            found.append(case)
    return found


class NeverYields(StreamEdf):
    """The mutant: a train that has begun is run to its end."""

    preemptive = False


class FirstDeadline(StreamEdf):
    """Another: a train as urgent as the earliest tuple, whatever it leads to."""

    def key(self, unit: UnitFacts) -> KeyFunction:
        return lambda timestamp, root: timestamp


@pytest.mark.parametrize("together", [True, False], ids=["together", "unit length"])
def test_theorem_2(together: bool) -> None:
    for case in without_ties(together=together, unit_costs=not together, wanted=40):
        assert later_outputs(case) == [], case


@pytest.mark.parametrize("mutant", [NeverYields, FirstDeadline])
def test_theorem_2_catches_mutants(mutant: Callable[[], Policy]) -> None:
    cases = without_ties(together=False, unit_costs=True, wanted=40)
    assert any(later_outputs(case, mutant()) for case in cases)


def test_theorem_2_does_not_hold_for_later_arrivals_and_long_operators() -> None:
    """Alone, ``a1`` is as urgent as 4 - 2 = 2 and runs before ``long`` (3); the tuple of time 1 is
    then served at once. As a train (a1, a2) it is as urgent as 4: ``long`` goes first and holds it
    up."""
    case = Case(
        streams=(
            *(("s1", "a1"), ("a1", "a2"), ("s1", "long"), ("s2", "quick")),
            *_outputs("a2", "long", "quick"),
        ),
        costs=(("a1", 1), ("a2", 2), ("long", 5), ("quick", 1)),
        deadlines=(("out_a2", 4), ("out_long", 3), ("out_quick", 1)),
        sensed=((0, "s1"), (1, "s2")),
    )
    assert later_outputs(case) == ["out_quick"]
