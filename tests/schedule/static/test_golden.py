"""The paper's worked example (tables 1 to 3, figures 2 to 6), to the last number."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.schedule.static.cases import FACTS, paper_graph, paper_network, paper_options

from headway.model.static_network import Schedule
from headway.schedule.static import (
    ALGORITHMS,
    FixedAlpha,
    GridAlpha,
    Instance,
    Options,
    schedule,
    violations,
)
from headway.schedule.static.ranks import Ranks, priorities_a, priorities_b, processor_speeds

TASKS = tuple(FACTS["computation_times"])
GRIDS = [
    ("hvlb-cc-a", "hvlb_cc_a"),
    ("hvlb-cc-b", "hvlb_cc_b"),
    ("hvlb-cc-c", "hvlb_cc_b"),
    ("hvlb-cc-ic", "hvlb_cc_b"),
]


def instance(options: Options | None = None) -> Instance:
    return Instance(paper_graph(), paper_network(), options or paper_options())


def as_facts(found: Schedule) -> dict[str, Any]:
    """A schedule in the form of the golden file, messages by receiver and sender."""
    return {
        "makespan": found.makespan,
        "tasks": [
            {"task": s.task, "processor": s.processor, "start": s.start, "finish": s.finish}
            for s in sorted(found.tasks, key=lambda slot: TASKS.index(slot.task))
        ],
        "messages": {
            (m.sender, m.receiver): [
                {"link": s.link, "start": s.start, "finish": s.finish} for s in m.links
            ]
            for m in found.messages
        },
    }


def printed(key: str) -> dict[str, Any]:
    facts = FACTS[key]
    messages = {(m["from"], m["to"]): m["links"] for m in facts["messages"]}
    return {"makespan": facts["makespan"], "tasks": facts["tasks"], "messages": messages}


def test_processor_speeds() -> None:
    speeds = dict(zip(("p1", "p2", "p3"), processor_speeds(instance()), strict=True))
    assert speeds == {name: Fraction(speed) for name, speed in FACTS["processor_speed"].items()}


def test_routes_are_found_without_being_listed() -> None:
    """All simple routes of figure 2 are the listed ones, shortest first."""
    given = paper_network()
    found = type(given)(
        processors=given.processors, switches=given.switches, links=given.links
    ).routes
    for pair, routes in given.routes.items():
        assert sorted(found[pair]) == sorted(routes)


def test_ranks_by_equation_2() -> None:
    """Exact ranks are those printed, but for the rounding that adds up in the paper's: a hundredth
    for each message on the way."""
    ranks = Ranks(instance(Options()))
    for number, task in enumerate(TASKS):
        for p, processor in enumerate(("p1", "p2", "p3")):
            assert abs(float(ranks.of(number, p)) - FACTS["table2_rank"][task][processor]) < 0.011


def test_ranks_with_communication_times_of_two_digits() -> None:
    """Rounding each communication time to two digits gives table 2, all but one cell: rank(n4, p3)
    is printed 73.67, while the ranks of n1 and n2 were made with 73.66."""
    ranks = Ranks(instance(Options(rank_digits=2)))
    differ = {
        (task, processor): float(ranks.of(number, p))
        for number, task in enumerate(TASKS)
        for p, processor in enumerate(("p1", "p2", "p3"))
        if float(ranks.of(number, p)) != FACTS["table2_rank"][task][processor]
    }
    assert differ == {("n4", "p3"): 73.66}


def test_depths() -> None:
    depth = Ranks(instance()).depth
    assert dict(zip(TASKS, depth, strict=True)) == FACTS["depth"]


def test_priorities_a() -> None:
    """Printed values are hrank, rounded to a digit, times outd."""
    ranks = Ranks(instance())
    found = [
        round(float(h), 1) * outd for h, outd in zip(ranks.hrank, ranks.out_degree, strict=True)
    ]
    exact = [float(value) for value in priorities_a(ranks)]
    for task, value, unrounded in zip(TASKS, found, exact, strict=True):
        assert value == pytest.approx(FACTS["table2_hprv_a"][task], abs=0.21)
        assert unrounded == pytest.approx(FACTS["table2_hprv_a"][task], abs=0.11)


def test_priorities_b() -> None:
    """For n6, n7 and n8 (outd 1) the paper prints hrank / depth², twice what its equation 9 gives
    with outd / max outd = 1/2. The queue is the same either way."""
    ranks = Ranks(instance())
    found = dict(zip(TASKS, map(float, priorities_b(ranks)), strict=True))
    for task, value in found.items():
        factor = 2 if task in ("n6", "n7", "n8") else 1
        assert value * factor == pytest.approx(FACTS["table2_hprv_b"][task], abs=0.061)


@pytest.mark.parametrize("options", [paper_options(), Options(), Options(rank_digits=2)])
def test_both_queues(options: Options) -> None:
    for name, key in (("hvlb-cc-a", "order_a"), ("hsv-cc", "order_a"), ("hvlb-cc-b", "order_b")):
        found = schedule(paper_graph(), paper_network(), name, options, FixedAlpha(0))
        assert list(found.order) == FACTS[key]


@pytest.mark.parametrize(("name", "key"), GRIDS)
@pytest.mark.parametrize("exactly", [False, True])
def test_makespan_at_every_point_of_the_grid(name: str, key: str, exactly: bool) -> None:
    """Figure 5, by a pass for each point and from the exact intervals."""
    facts = FACTS["makespan_by_alpha"][key]
    graph = paper_graph(period=facts["period"])
    alpha = None if exactly else GridAlpha(3, facts["grid_step"])
    result = schedule(graph, paper_network(), name, paper_options(), alpha)
    points = 0
    for low, high, makespan in facts["ranges"]:
        for number in range(round(low * 100), round(high * 100) + 1):
            interval = result.at(Fraction(number, 100))
            assert interval is not None
            assert interval.makespan == makespan, number
            points += 1
    assert points == 301


@pytest.mark.parametrize(("name", "key"), GRIDS)
def test_the_best_alpha(name: str, key: str) -> None:
    """62 is the least for any α, not only on the grid; beyond 3 there is a fifth schedule, of
    63."""
    facts = FACTS["makespan_by_alpha"][key]
    result = schedule(paper_graph(period=facts["period"]), paper_network(), name, paper_options())
    assert result.best is not None
    assert result.makespan == 62
    low, high, _ = facts["ranges"][2]
    assert low - 0.01 < result.best.low < low
    assert result.best.high is not None
    assert high < result.best.high < high + 0.01
    spans = [int(interval.makespan) for interval in result.intervals]
    assert spans == [makespan for *_, makespan in facts["ranges"]] + [63]


def test_hsv_cc_task_by_task_and_message_by_message() -> None:
    found = schedule(paper_graph(), paper_network(), "hsv-cc", paper_options()).schedule
    assert found is not None
    assert as_facts(found) == printed("schedule_hsv_cc")


@pytest.mark.parametrize(
    ("name", "period", "alpha"), [("hvlb-cc-a", 250, "1.80"), ("hvlb-cc-b", 150, "1.08")]
)
def test_the_schedule_of_62(name: str, period: int, alpha: str) -> None:
    """Figure 6; (A) and (B) give the same one."""
    choice = FixedAlpha(Fraction(alpha))
    result = schedule(paper_graph(period), paper_network(), name, paper_options(), choice)
    assert result.schedule is not None
    assert as_facts(result.schedule) == printed("schedule_hvlb_cc_a_at_1.80")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_all_that_is_found_is_valid(name: str) -> None:
    graph, network = paper_graph(150), paper_network()
    result = schedule(graph, network, name, paper_options())
    assert result.failure is None
    for interval in result.intervals:
        assert not violations(graph, network, interval.schedule, whole_link_times=True)
