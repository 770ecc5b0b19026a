"""The best of several algorithms, and algorithms that look at deadlines."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from hypothesis import given
from tests.exploring import examples
from tests.schedule.static.cases import paper_graph, paper_network
from tests.schedule.static.random_cases import Case, cases
from tests.waiting import PATIENCE_S

from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork
from headway.model.taskgraph import Edge, GraphTask, TaskGraph
from headway.schedule.static import (
    ALGORITHMS,
    ExactAlpha,
    FixedAlpha,
    GridAlpha,
    Instance,
    StaticResult,
    violations,
)
from headway.schedule.static.due_times import Merit, due_times, merit
from headway.schedule.static.optimal import Effort, Optimal
from headway.schedule.static.periodic import schedule_periodic
from headway.schedule.static.portfolio import Best

ONE = ProcessorNetwork(processors=(Processor(name="p"),))
TWO = ProcessorNetwork(
    processors=(Processor(name="p"), Processor(name="q")),
    links=(NetworkLink(name="l", ends=("p", "q"), speed=4),),
)
THOROUGH = Effort(seconds=PATIENCE_S, workers=2)


def merit_of(instance: Instance, result: StaticResult) -> Merit:
    assert result.schedule is not None
    return merit(instance, result.schedule)


# ---------------------------------------------------------------- the best


@examples(60)
@given(cases())
def test_it_is_as_good_as_each_of_its_members(case: Case) -> None:
    best = Best().run(case.instance, ExactAlpha())
    case.check(best)
    found = merit_of(case.instance, best)
    assert best.member in ALGORITHMS
    for name in ("heft", "cpop", "hvlb-cc-c", "hvlb-cc-a"):
        other = ALGORITHMS[name].run(case.instance, ExactAlpha())
        if other.schedule is not None:
            assert found <= merit_of(case.instance, other), name


def test_when_the_time_is_up_it_is_heft() -> None:
    asked: list[str] = []
    instance = Instance(_long_and_short(), TWO)
    found = Best(lambda: False, asked.append).run(instance, ExactAlpha())
    assert asked == ["heft"]
    assert not found.complete
    assert found.member == "heft"
    assert found.schedule == ALGORITHMS["heft"].run(instance, ExactAlpha()).schedule


def test_one_alpha_and_a_grid_are_kept_to() -> None:
    instance = Instance(_long_and_short(), TWO)
    for choice in (FixedAlpha(1), GridAlpha(1, Fraction(1, 2))):
        asked: list[str] = []
        assert Best(tell=asked.append).run(instance, choice).complete
        assert asked.count("hvlb-cc-c") == 1


def test_an_exact_search_that_is_ended_still_has_a_schedule() -> None:
    """It tells the best of what it found and of some α."""
    instance = Instance(paper_graph(), paper_network())
    whole = ALGORITHMS["hvlb-cc-c"].run(instance, ExactAlpha(every=False))
    assert whole.complete
    for every in (False, True):
        asked = iter((True, False))
        ended = ALGORITHMS["hvlb-cc-c"].run(
            instance, ExactAlpha(every=every, going_on=partial(next, asked))
        )
        assert not ended.complete
        assert ended.makespan is not None
        assert whole.makespan is not None
        assert ended.makespan >= whole.makespan


# ---------------------------------------------------------------- deadlines


def _long_and_short() -> TaskGraph:
    """A long task and short ones before the last."""
    return TaskGraph(
        tasks=(
            GraphTask(name="long", work=7),
            *(GraphTask(name=f"short{i}", work=1 + i) for i in range(4)),
            GraphTask(name="end", work=2),
        ),
        edges=(
            Edge(sender="long", receiver="end", volume=3),
            *(Edge(sender=f"short{i}", receiver="end", volume=i) for i in range(4)),
        ),
    )


def test_what_is_due() -> None:
    tasks = (GraphTask(name="a", work=1), GraphTask(name="b", work=1))
    edges = (Edge(sender="a", receiver="b", volume=0),)
    graph = TaskGraph(tasks=tasks, edges=edges)
    assert due_times(Instance(graph, ONE)) == (None, None)
    assert due_times(Instance(replace(graph, period=5), ONE)) == (None, 5)
    own = replace(graph, period=5, tasks=(replace(tasks[0], deadline=2), tasks[1]))
    assert due_times(Instance(own, ONE)) == (2, None)


def test_by_laxity_frequent_tasks_are_in_time_where_heft_lets_them_wait() -> None:
    """Worked by hand. HEFT ranks by what is left to do: the slow chain (3 + 3 + 3 of 40) runs from
    0 to 9 without a gap, so the first executions of 'quick' (1, period 5) end at 10 and 11, due
    at 5 and 10. By laxity the first starts at 0; the chain's tasks fit in between."""
    graph = TaskGraph(
        tasks=(
            GraphTask(name="quick", work=1, period=5),
            GraphTask(name="one", work=3, period=40),
            GraphTask(name="two", work=3),
            GraphTask(name="three", work=3),
        ),
        edges=(
            Edge(sender="one", receiver="two", volume=0),
            Edge(sender="two", receiver="three", volume=0),
        ),
    )

    def late(name: str) -> int:
        found = schedule_periodic(
            graph,
            lambda unrolled: ALGORITHMS[name].run(Instance(unrolled, ONE), ExactAlpha()),
        )
        assert found.result.schedule is not None
        assert violations(found.unrolled.graph, ONE, found.result.schedule) == ()
        return sum(answer.missed for answer in found.exits)

    assert late("heft") == 2
    assert late("laxity") == 0
    assert late("best") == 0


def test_the_exact_search_is_late_with_as_few_as_can_be() -> None:
    """One processor; 'a' (4, due 4) and 'b' (3, due 6) cannot both be in time, 'c' (2, due 9) can.
    The shortest schedule has length 9 in any order: what counts is who is late."""
    graph = TaskGraph(
        tasks=(
            GraphTask(name="a", work=4, deadline=4),
            GraphTask(name="b", work=3, deadline=6),
            GraphTask(name="c", work=2, deadline=9),
        )
    )
    instance = Instance(graph, ONE)
    found = Optimal(THOROUGH).run(instance, ExactAlpha()).optimum
    assert (found.late, found.fewest_late, found.proven) == (1, 1, True)
    assert found.makespan == 9


def test_the_exact_search_takes_longer_to_be_in_time() -> None:
    """'b' is due at 2, but released at 1 and quick on p alone; 'a' fits behind it only: 1 + 1 + 9,
    where 'a' first would end at 10."""
    graph = TaskGraph(
        tasks=(
            GraphTask(name="a", work=9, processors=("p",)),
            GraphTask(name="b", work=1, release=1, deadline=2, processors=("p",)),
        )
    )
    instance = Instance(graph, TWO)
    heft = ALGORITHMS["heft"].run(instance, ExactAlpha())
    assert merit_of(instance, heft).late == 1
    found = Optimal(THOROUGH).run(instance, ExactAlpha()).optimum
    assert (found.late, found.proven) == (0, True)
    assert found.makespan == 11
