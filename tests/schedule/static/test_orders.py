"""Queues: when they fail, and the one that cannot.

(B) fails where a task with more successors than its predecessor sits deep enough: at depth d the
factor 1/depth² takes only (d / (d + 1))² from it. A failure needs an edge p -> s with

    hrank(s) / hrank(p) > outd(p) / outd(s) · (depth(s) / depth(p))²

and the left side is below 1. So at depth 1 five successors against one are needed (4 · 1/4 is
not enough), at depth 2 three against one, at depth 3 two against one: 7, 6 and 6 tasks at least.
No graph of fewer than 6 tasks fails."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples
from tests.schedule.static.random_cases import Case, cases

from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork
from headway.model.taskgraph import Edge, GraphTask, TaskGraph
from headway.schedule.static import ALGORITHMS, FixedAlpha, Instance, schedule
from headway.schedule.static.hvlb_cc import HvlbCcB
from headway.schedule.static.ranks import (
    Order,
    Ranks,
    by_priority,
    failure_of,
    priorities_a,
    priorities_b,
    ready_first,
)

PAIR = ProcessorNetwork(
    processors=(Processor(name="p1"), Processor(name="p2")),
    links=(NetworkLink(name="l1", ends=("p1", "p2")),),
)


def graph_of(edges: list[tuple[int, int]], works: dict[int, int]) -> TaskGraph:
    count = max(max(edge) for edge in edges)
    return TaskGraph(
        tasks=tuple(GraphTask(name=f"n{n}", work=works.get(n, 1)) for n in range(1, count + 1)),
        edges=tuple(Edge(sender=f"n{a}", receiver=f"n{b}", volume=1) for a, b in edges),
    )


FORK_OF_3 = [(1, 2), (2, 3), (3, 4), (3, 5), (3, 6)]
FORK_OF_2 = [(1, 2), (2, 3), (3, 4), (4, 5), (4, 6)]
FORK_OF_5 = [(1, 2), *((2, n) for n in range(3, 8))]


@pytest.mark.parametrize(
    ("edges", "heavy", "failed"),
    [
        (FORK_OF_3, 3, ("n3", "n2")),  # 1 against 3 successors at depth 2
        (FORK_OF_2, 4, ("n4", "n3")),  # 1 against 2 at depth 3
        (FORK_OF_5, 2, ("n2", "n1")),  # 1 against 5 at depth 1
    ],
)
def test_smallest_graphs_on_which_b_fails(
    edges: list[tuple[int, int]], heavy: int, failed: tuple[str, str]
) -> None:
    """A chain with little to do, then a heavy task that feeds several."""
    graph = graph_of(edges, {heavy: 100})
    result = schedule(graph, PAIR, "hvlb-cc-b")
    assert result.failure is not None
    assert (result.failure.task, result.failure.predecessor) == failed
    assert result.schedule is None
    assert result.makespan is None
    assert str(result.failure) == (
        f"{failed[0]} came to the head of the queue before its predecessor {failed[1]}"
    )
    other = schedule(graph, PAIR, "hvlb-cc-c")
    assert other.failure is None
    assert other.makespan is not None


def test_b_fails_at_depth_2_from_three_quarters_of_the_hrank_on() -> None:
    """hrank(n3) / hrank(n2) > 1/3 · (3/2)² = 3/4, and not at 3/4 (the tie goes to n2)."""
    for work, fails in ((10, False), (3, True)):
        # n2 takes `work`, its message 1; n3 and what follows 33 on either processor
        graph = graph_of(FORK_OF_3, {2: work, 3: 31})
        ranks = Ranks(Instance(graph, PAIR))
        ratio = ranks.hrank[2] / ranks.hrank[1]
        assert ratio == Fraction(33, 34 + work)
        assert (ratio > Fraction(3, 4)) is fails
        assert (schedule(graph, PAIR, "hvlb-cc-b").failure is not None) is fails


class ByDepth(HvlbCcB):
    """(B) with 1 / depth, the paper's comparison in experiment 4 (section 5.6)."""

    def order(self, instance: Instance, ranks: Ranks) -> Order:
        return by_priority(priorities_b(ranks, depth_power=1))


def test_a_fails_earlier_than_b() -> None:
    """1 against 2 successors at depth 1 are enough for (A), HSV_CC and (B) by depth are not far
    behind."""
    graph = graph_of([(1, 2), (2, 3), (2, 4)], {2: 100})
    for name in ("hvlb-cc-a", "hsv-cc"):
        assert schedule(graph, PAIR, name).failure is not None
    assert schedule(graph, PAIR, "hvlb-cc-b").failure is None
    by_depth = ByDepth().run(Instance(graph_of(FORK_OF_5, {2: 100}), PAIR), FixedAlpha(0))
    assert by_depth.failure is not None


def test_no_graph_of_five_tasks_fails_b() -> None:
    """All graphs of 5 tasks, with the weight put to make each edge fail: all that follows heavy,
    all before light."""
    pairs = list(combinations(range(1, 6), 2))
    for mask in range(1, 1 << len(pairs)):
        edges = [pair for number, pair in enumerate(pairs) if mask >> number & 1]
        if max(max(edge) for edge in edges) < 5:
            continue
        for heavy in {receiver for _, receiver in edges}:
            graph = graph_of(edges, {heavy: 10**6})
            instance = Instance(graph, PAIR)
            order = by_priority(priorities_b(Ranks(instance)))
            assert failure_of(instance, order) is None, (edges, heavy)


@examples(200)
@given(cases(most=12), st.sampled_from(["a", "b"]))
def test_ready_first_never_fails_and_keeps_a_queue_that_works(case: Case, which: str) -> None:
    instance = case.instance
    ranks = Ranks(instance)
    priorities = priorities_a(ranks) if which == "a" else priorities_b(ranks)
    plain, ready = by_priority(priorities), ready_first(instance, priorities)
    assert sorted(ready) == list(range(len(instance.tasks)))
    assert failure_of(instance, ready) is None
    failure = failure_of(instance, plain)
    if failure is None:
        assert ready == plain
    else:
        assert failure.predecessor in case.graph.predecessors[failure.task]
        order = [instance.tasks[task] for task in plain]
        assert order.index(failure.task) < order.index(failure.predecessor)


@examples(60)
@given(cases(most=12))
def test_failures_do_not_depend_on_alpha(case: Case) -> None:
    for name in ("hvlb-cc-a", "hvlb-cc-b"):
        found = {
            ALGORITHMS[name].run(case.instance, FixedAlpha(alpha)).failure for alpha in (0, 1, 20)
        }
        assert len(found) == 1


def test_priorities_of_a_chain_by_value() -> None:
    """Equation 9 where no task feeds more than one: hrank / depth²; the exit feeds none."""
    ranks = Ranks(Instance(graph_of([(1, 2), (2, 3)], {}), PAIR))
    first, second, third = ranks.hrank
    assert third >= 0
    assert ranks.depth == (1, 2, 3)
    assert priorities_b(ranks) == (first, second / 4, Fraction(0))
