"""Worst cases worked out by hand, for what stands beside or behind joins, windows and gathering.

Each case is a run that the declared rates allow, with its latency counted by hand and seen in the
engine: a promise below it would be broken. Above it a bound is right as long as it counts no more
work than could be there at all, which is worked out by hand, too. So a sharper analysis passes, and
one that forgets how old tuples can be does not.
"""

from __future__ import annotations

from tests.compiler.build import one_node
from tests.engine.random_runs import COLUMNS
from tests.engine.support import compiled, in_order, run

from headway.engine.jobs import Arrival
from headway.model.expression import Column, Sql
from headway.model.operators import Aggregate, Gather, Input, Join, Map, Operator, UserDefined
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source

MS = MILLISECOND
SELDOM = Rate(1, 400 * MS)


def source(name: str, rate: Rate = SELDOM, *, gap: int | None = None) -> Source:
    return Source(name=name, schema=COLUMNS, rate=rate, gap=gap)


def passing(name: str, stream: str, cost: int) -> Map:
    return Map(
        name=name, inputs=(Input("in", stream),), cost=Cost(cost * MS), columns=(), keep=True
    )


def joining(name: str, left: str, right: str, *, within: int, cost: int) -> Join:
    """Each tuple of ``left`` has one partner at most."""
    return Join(
        name=name,
        inputs=(Input("a", left), Input("b", right)),
        cost=Cost(cost * MS),
        within=within * MS,
        partners=("a", 1),
        columns=(Column("k", Sql("a.k")), Column("v", Sql("b.v"))),
    )


def gathering(
    name: str, left: str, right: str, gather: Gather, *, timeout: int, cost: int
) -> UserDefined:
    return UserDefined(
        name=name,
        inputs=(Input("a", left), Input("b", right)),
        cost=Cost(cost * MS),
        timeout=timeout * MS,
        most_outputs=1,
        implementation="tests.engine.users:Merge",
        schema=COLUMNS,
        gather=gather,
    )


def counting(name: str, stream: str, *, window: int, cost: int) -> Aggregate:
    return Aggregate(
        name=name,
        inputs=(Input("in", stream),),
        cost=Cost(cost * MS),
        window=window * MS,
        every=window * MS,
        by=("k",),
        columns=(Column("v", Sql("sum(v)")),),
    )


def query_of(
    sources: tuple[Source, ...], steps: tuple[Operator, ...], deadlines: dict[str, int]
) -> Query:
    outputs = tuple(
        Output(name=f"out_{name}", stream=name, deadline=deadline * MS)
        for name, deadline in deadlines.items()
    )
    return Query(name="case", sources=sources, steps=steps, outputs=outputs)


def on_one_node(sources: tuple[Source, ...], steps: tuple[Operator, ...], **deadlines: int) -> Plan:
    query = query_of(sources, steps, deadlines)
    return compiled(query, one_node(query))


def at(time: int, stream: str) -> Arrival:
    return Arrival(time * MS, stream, (time * 1000, 1, 1.0))


def check(plan: Plan, arrivals: list[Arrival], name: str, latency: int, safe: int) -> None:
    """``latency`` is what comes of the arrivals; ``safe`` is no less than what could come."""
    result = run(plan, in_order(arrivals))
    assert result.summary().beyond == 0
    assert max(one.latency for one in result.outputs[f"out_{name}"]) == latency * MS
    assert plan.verdict is not None
    (promise,) = [one for one in plan.verdict.promises if one.output == f"out_{name}"]
    assert promise.bound is not None
    assert latency * MS <= promise.bound <= safe * MS


PAIRED = (source("left"), source("right"), source("quick"))


def after_a_join(*steps: Operator) -> Plan:
    """``quick`` is due after 50 ms. What follows the join has 60 ms, but from the older half of
    its pair, which can be 40 ms older: then it goes first."""
    return on_one_node(
        PAIRED,
        (*steps, passing("x", "join", 1), passing("victim", "quick", 10)),
        t2=60,
        x=900,
        victim=50,
    )


T = (passing("t1", "join", 8), passing("t2", "t1", 8))
WORK = 16
"""of these two, for each result before them"""


def test_beside_a_task_behind_a_join() -> None:
    """A left tuple of -40 (here 60), a right one and a quick one at 0 (100). The join needs 1, due
    by 44; what follows it 8 + 8, due by 60 - 40 = 20; then come the 10 of the victim.

    At most: both inputs of the join, two pairs (each input could make one), and one operator of 8
    under way before all of them."""
    plan = after_a_join(joining("join", "left", "right", within=40, cost=1), *T)
    given = [at(60, "left"), at(100, "right"), at(100, "quick")]
    check(plan, given, "victim", 1 + WORK + 10, 2 + 2 * (WORK + 1) + 8 + 10)


def test_behind_a_join() -> None:
    """The victim has begun at -1 (99) and cannot be interrupted: the pair, of 60, is done 9 + 1 +
    16 after 100. At most the same with two pairs, their other reader, and one operator more."""
    plan = after_a_join(joining("join", "left", "right", within=40, cost=1), *T)
    given = [at(60, "left"), at(100, "right"), at(99, "quick")]
    check(plan, given, "t2", 40 + 9 + 1 + WORK, 40 + 10 + 2 + 2 * (WORK + 1) + 8)


def test_beside_a_task_behind_two_joins() -> None:
    """The pair of 80 (left) and 100 (right) is as old as 80, and meets the tuple of 60: the result
    is 40 older than its last cause, though neither join spans more than 20."""
    plan = on_one_node(
        (*PAIRED, source("third")),
        (
            joining("first", "left", "right", within=20, cost=1),
            joining("join", "first", "third", within=20, cost=1),
            *T,
            passing("x", "join", 1),
            passing("victim", "quick", 10),
        ),
        t2=60,
        x=900,
        victim=50,
    )
    given = [at(60, "third"), at(80, "left"), at(100, "right"), at(100, "quick")]
    check(plan, given, "victim", 2 + WORK + 10, 3 * (2 + WORK + 1) + 3 + 8 + 10)


def test_beside_a_task_behind_a_gathering_operator() -> None:
    """It waits 40 for its other input, which comes as the quick tuple does."""
    plan = after_a_join(gathering("join", "left", "right", Gather.ALL, timeout=40, cost=1), *T)
    given = [at(60, "left"), at(100, "right"), at(100, "quick")]
    check(plan, given, "victim", 1 + WORK + 10, 2 + 2 * (WORK + 1) + 8 + 10)


def test_beside_a_task_behind_a_timeout() -> None:
    """Its other input does not come: it runs when 40 are over, as the quick tuple comes."""
    plan = after_a_join(gathering("join", "left", "right", Gather.TIME, timeout=40, cost=1), *T)
    given = [at(60, "left"), at(100, "quick")]
    check(plan, given, "victim", 1 + WORK + 10, 2 + 2 * (WORK + 1) + 8 + 10)


def test_behind_a_timeout() -> None:
    """40 of waiting, and the victim has just begun when they are over."""
    plan = after_a_join(gathering("join", "left", "right", Gather.TIME, timeout=40, cost=1), *T)
    given = [at(60, "left"), at(99, "quick")]
    check(plan, given, "t2", 40 + 9 + 1 + WORK, 40 + 10 + 2 + 2 * (WORK + 1) + 8)


def test_beside_a_task_behind_a_window() -> None:
    """The window from 80 closes when the tuple of 120 comes. Its result is 40 old and due 60 after
    80, before the quick tuple of 120: it takes 1 + 8 + 8, and the tuple of 120 runs later.

    At most: windows of 80 before the quick tuple (40 long, 40 of silence) and of the 126 of its
    stay, 6 of them, each with a tuple counted and a result; an operator under way; itself."""
    plan = on_one_node(
        (source("often", Rate(1, 40 * MS), gap=40 * MS), source("quick")),
        (
            counting("join", "often", window=40, cost=1),
            *T,
            passing("victim", "quick", 10),
        ),
        t2=60,
        victim=50,
    )
    given = [at(time, "often") for time in (0, 40, 80, 120)] + [at(120, "quick")]
    check(plan, given, "victim", 1 + WORK + 10, 6 * (2 + WORK) + 8 + 10)
