"""How often jobs come, how old they are and what they cost, worked out by hand for small graphs."""

from __future__ import annotations

import pytest
from tests.compiler.build import source

from headway.compiler.latency.job_flows import (
    MOST_TUPLES,
    DerivedPartners,
    Flow,
    Work,
    back_after,
    boundless,
    flows_of,
    work_of,
)
from headway.model.expression import Column, Sql
from headway.model.graph import Graph, graph_of
from headway.model.operators import (
    Aggregate,
    Gather,
    Input,
    Join,
    Map,
    Operator,
    Union,
    UserDefined,
)
from headway.model.plan import Task
from headway.model.quantities import ArrivalCurve, Cost, Rate
from headway.model.query import Output, Query
from headway.model.schema import Schema
from headway.model.vehicle import Node

CHEAP = Cost(1)


def passing(name: str, stream: str, cost: Cost = CHEAP) -> Map:
    return Map(name=name, inputs=(Input("in", stream),), cost=cost, columns=(), keep=True)


def user(
    name: str,
    *streams: str,
    cost: Cost = CHEAP,
    most: int | None = 1,
    timeout: int | None = None,
    gather: Gather = Gather.ALL,
) -> UserDefined:
    return UserDefined(
        name=name,
        inputs=tuple(Input(f"in{n}", stream) for n, stream in enumerate(streams)),
        cost=cost,
        timeout=timeout,
        most_outputs=most,
        implementation="m:C",
        schema=Schema(()),
        gather=gather,
    )


def joining(
    left: str, right: str, *, within: int = 20, partners: tuple[str, int] | None = None
) -> Join:
    return Join(
        name="join",
        inputs=(Input("a", left), Input("b", right)),
        cost=Cost(1),
        within=within,
        partners=partners,
        columns=(Column("v", Sql("a.v")),),
    )


def graph(*steps: Operator, sources: tuple[str, ...] = ("s",), delay: int = 0) -> Graph:
    return graph_of(
        Query(
            name="q",
            sources=tuple(source(name, delay=delay) for name in sources),
            steps=steps,
            outputs=(Output(name="out", stream=steps[-1].name, deadline=1),),
        )
    )


# ---------------------------------------------------------------- what a job costs


def work(
    *steps: Operator, entry: str = "s", sources: tuple[str, ...] = ("s",), rate: float = 1.0
) -> Work:
    made = graph(*steps, sources=sources)
    task = Task(
        name="t",
        node="n",
        operators=tuple(step.name for step in steps),
        entries=(entry,),
        cost=0,
        relative_deadline=1,
        formula="",
    )
    return work_of(
        task, entry, made, Node(name="n", rate=rate, decision_cost=10, preemption_cost=100)
    )


def test_a_train() -> None:
    """A preemption and two decisions besides its head; a decision after each other operator."""
    found = work(
        passing("a", "s", Cost(1000)),
        passing("b", "a", Cost(500, per_item=50, most_items=3)),
        passing("c", "b", Cost(200)),
    )
    head, rest = 100 + 10 + 1000 + 10, (650 + 10) + (200 + 10)
    assert found == Work(
        per_tuple=head + rest,
        per_execution=0,
        section=1000 + 10 + 100,
        head=head,
        result=head + rest,
    )
    assert found.rest == rest


def test_the_longest_stretch_of_a_train() -> None:
    pieces = Cost(300, per_item=400, most_items=3, between_items=True)
    assert work(passing("a", "s", Cost(100)), passing("b", "a", Cost(900))).section == 1010
    assert work(passing("a", "s", Cost(100)), passing("b", "a", pieces)).section == 510
    assert work(passing("a", "s", pieces), passing("b", "a", Cost(100))).section == 510


def test_every_result_goes_on() -> None:
    """Three results of the head, each with two of the next: six times the last."""
    found = work(
        user("a", "s", cost=Cost(1000), most=3),
        user("b", "a", cost=Cost(100), most=2),
        passing("c", "b", Cost(20)),
    )
    rest = (100 + 10) + 2 * (20 + 10)
    assert (found.per_tuple, found.result, found.rest) == (1120 + 3 * rest, 1120 + rest, rest)


def test_a_head_that_gathers_pays_its_base_once() -> None:
    found = work(
        user("a", "s", "t", cost=Cost(1000, per_item=100), timeout=5),
        passing("b", "a", Cost(30)),
        sources=("s", "t"),
    )
    assert found.per_execution == 1000 + 110 + 10
    assert (found.head, found.per_tuple) == (110 + 100 + 10, 220 + 40)


def test_a_faster_node() -> None:
    """Twice as fast, rounded up; what the scheduler takes stays."""
    found = work(passing("a", "s", Cost(1001)), passing("b", "a", Cost(500)), rate=2.0)
    assert (found.head, found.result, found.section) == (120 + 501, 621 + 260, 501 + 110)


# ---------------------------------------------------------------- how old, how many


def test_how_far_back_a_result_lies() -> None:
    assert back_after(passing("m", "s"), 7, 100) == 7
    assert back_after(joining("s", "t"), 7, 100) == 27
    window = Aggregate(
        name="w",
        inputs=(Input("in", "s"),),
        cost=Cost(1),
        window=40,
        every=10,
        by=(),
        columns=(Column("v", Sql("sum(v)")),),
    )
    assert back_after(window, 7, 100) == 47
    assert back_after(user("g", "s", "t", timeout=5), 7, 100) == 105
    assert back_after(user("g", "s", "t"), 7, 100) == 7  # each tuple runs by itself


def test_flows_along_a_graph() -> None:
    """s is doubled and meets itself again; the join of that with t counts to the left side."""
    made = graph(
        user("twice", "s", most=2),
        Union(name="both", inputs=(Input("a", "s"), Input("b", "twice")), cost=Cost(1)),
        joining("both", "t", partners=("a", 3)),
        user("gather", "join", "t", timeout=50),
        sources=("s", "t"),
        delay=4,
    )
    flows, operators = flows_of(made, {"gather": 60}, DerivedPartners({}))
    assert flows["s"] == {"s": Flow(1, 4)}
    assert flows["twice"] == {"s": Flow(2, 4)}
    assert flows["both"] == {"s": Flow(3, 4)}
    assert flows["join"] == {"s": Flow(9, 24), "t": Flow(0, 24)}
    assert flows["gather"] == {"s": Flow(9, 110), "t": Flow(1, 110)}
    assert operators["join"] == made.operators["join"]


def test_counts_stop_somewhere() -> None:
    steps = [user(f"u{n}", f"u{n - 1}" if n else "s", most=2**20) for n in range(4)]
    flows, _ = flows_of(graph(*steps), {}, DerivedPartners({}))
    assert [flows[f"u{n}"]["s"].count for n in range(4)] == [2**20, 2**40, 2**60, MOST_TUPLES]


CURVES = {"s": ArrivalCurve((Rate(1, 100),)), "t": ArrivalCurve((Rate(1, 10),))}


def test_partners_that_nobody_declares() -> None:
    """Within 40 come at most five of t (each 10) and one of s (each 100): with s as the side that
    pairs are counted to they are 5 in 100, with t ten."""
    join = joining("s", "t")
    flows = {"s": {"s": Flow(1, 0)}, "t": {"t": Flow(1, 0)}}
    partners = DerivedPartners(CURVES)
    limited = partners.limited(join, flows)
    assert limited.partner_limit == ("a", 5)
    assert partners.limits == {"join": ("a", 5)}
    # t can be 10 older, and each arrival brings two: the side stays, though it is no longer better
    older = {"s": {"s": Flow(1, 0)}, "t": {"t": Flow(4, 10)}}
    assert partners.limited(join, older).partner_limit == ("a", 4 * 6)
    assert DerivedPartners(CURVES).limited(joining("t", "s"), {
        "s": {"s": Flow(1, 0)}, "t": {"t": Flow(1, 0)},
    }).partner_limit == ("b", 5)  # fmt: skip
    declared = joining("s", "t", partners=("b", 7))
    assert partners.limited(declared, flows) is declared
    nothing: dict[str, dict[str, Flow]] = {"s": {"s": Flow(1, 0)}, "t": {}}
    assert DerivedPartners(CURVES).limited(join, nothing).partner_limit == ("b", 1)


def test_streams_of_which_nobody_knows_how_many() -> None:
    made = graph(
        passing("m", "s"),
        user("any", "m", most=None),
        passing("after", "any"),
        user("more", "after", most=None),
        passing("last", "more"),
    )
    assert boundless(made) == {"any": "any", "after": "any", "more": "more", "last": "more"}


@pytest.mark.parametrize(
    ("length", "most"), [(-1, 0), (0, 2), (9, 2), (10, 4), (19, 4), (20, 4), (99, 4), (100, 8)]
)
def test_the_least_of_the_rates_counts(length: int, most: int) -> None:
    """Two in 10 and four in 100."""
    assert ArrivalCurve((Rate(2, 10), Rate(4, 100))).in_interval(length) == most


def test_jitter_lets_more_meet() -> None:
    assert [Rate(1, 10, jitter=4).in_interval(length) for length in (0, 5, 6, 15, 16)] == [
        1, 1, 2, 2, 3,
    ]  # fmt: skip
    slow = ArrivalCurve((Rate(1, 10), Rate(3, 40), Rate(3, 40, jitter=5)))
    assert slow.sustained == Rate(3, 40)
