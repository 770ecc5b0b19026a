"""Gaps against a search through all slots, and the whole critical path on CPOP's processor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from tests.exploring import examples
from tests.schedule.static.random_cases import Case, cases

from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork
from headway.model.taskgraph import Edge, GraphTask, TaskGraph
from headway.schedule.static import ALGORITHMS, FixedAlpha, Instance, schedule
from headway.schedule.static.insertion import Inserting, MeanCosts
from headway.schedule.static.selection import _tails
from headway.schedule.static.timing import MessageTiming


def earliest(slots: list[tuple[int, int]], ready: int, comp: int) -> int:
    """The first start at or behind ``ready`` that leaves all slots alone, of those worth trying."""
    tried = sorted({ready, *(end for _, end in slots if end > ready)})
    return next(
        start
        for start in tried
        if all(start >= end or start + comp <= begin for begin, end in slots)
    )


@examples(150)
@given(cases())
def test_each_task_takes_the_first_gap_of_the_processor_it_finishes_first_on(case: Case) -> None:
    instance = case.instance
    made = Inserting(instance)
    slots: list[list[tuple[int, int]]] = [[] for _ in instance.processors]
    timing, links = MessageTiming(instance), MessageTiming(instance).idle
    finish = [0] * len(instance.tasks)
    for task in instance.topological:
        sent = timing.sent(task, finish, made.where)
        starts = {}
        for p in instance.allowed[task]:
            ready = max(timing.arrive(sent, p, links), instance.release[task])
            starts[p] = earliest(slots[p], ready, instance.comp[task][p])
        made.place(task, instance.allowed[task])
        p = min(starts, key=lambda one: (starts[one] + instance.comp[task][one], one))
        assert (made.where[task], made.starts[task]) == (p, starts[p])
        finish[task] = starts[p] + instance.comp[task][p]
        slots[p].append((starts[p], finish[task]))
        links = timing.after(sent, p, links)


def fast_and_slow(edges: Sequence[tuple[str, str]]) -> Instance:
    """a, b and c are the long way; each is quickest elsewhere, on p all of them together are."""
    times = {"a": (4, 3, 9), "c": (4, 3, 9), "b": (4, 9, 3), "d": (1, 1, 1)}
    names = ("p", "q", "r")
    return Instance(
        TaskGraph(
            tasks=tuple(
                GraphTask(name=name, times=dict(zip(names, row, strict=True)))
                for name, row in times.items()
            ),
            edges=tuple(Edge(sender=one, receiver=other, volume=0) for one, other in edges),
        ),
        ProcessorNetwork(
            processors=tuple(Processor(name=name) for name in names),
            links=(NetworkLink(name="bus", ends=names),),
        ),
    )


def test_cpop_keeps_the_whole_critical_path_where_an_edge_passes_over_a_part_of_it() -> None:
    """Between the ends of the critical path an edge leads to a task of the same priority; following
    it, b would be off the path, and go to r, where it finishes first."""
    chain = [("a", "b"), ("b", "c"), ("a", "d")]
    for edges in (chain, [*chain, ("a", "c")]):
        found = ALGORITHMS["cpop"].run(fast_and_slow(edges), FixedAlpha()).schedule
        assert found is not None
        assert {name: found.placement[name] for name in "abc"} == dict.fromkeys("abc", "p")


def test_tasks_without_time_keep_what_spans_them_away() -> None:
    """z takes no time and is alone at 5; w, ready at 2 for 6, must not run across it."""
    graph = TaskGraph(
        tasks=(
            GraphTask(name="z", work=0, release=5),
            GraphTask(name="y", work=9, release=20),
            GraphTask(name="w", work=6, release=2),
        )
    )
    network = ProcessorNetwork(processors=(Processor(name="p"),))
    found = schedule(graph, network, "heft").schedule
    assert found is not None
    assert all(one.finish <= other.start for one, other in pairwise(found.on_processor("p")))
    made = Inserting(Instance(graph, network))
    for task in range(3):
        made.place(task, (0,))
    assert made.starts == [5, 20, 5]


def test_ways_to_and_from_a_task_by_value() -> None:
    """A chain of works 2, 3 and 5 with messages of 1 on processors of rates 1 and 2, and one more
    task of 4 beside it."""
    graph = TaskGraph(
        tasks=tuple(GraphTask(name=f"n{n}", work=work) for n, work in enumerate((2, 3, 5, 4))),
        edges=(
            Edge(sender="n0", receiver="n1", volume=1),
            Edge(sender="n1", receiver="n2", volume=1),
        ),
    )
    network = ProcessorNetwork(
        processors=(Processor(name="a"), Processor(name="b", rate=2)),
        links=(NetworkLink(name="l", ends=("a", "b")),),
    )
    instance = Instance(graph, network)
    assert [tail / instance.scale for tail in _tails(instance)] == [4, 2.5, 0, 0]
    costs = MeanCosts(instance)
    first, second, third, alone = costs.downward()
    assert (first, alone) == (0, 0)
    assert second == costs.comp[0] + costs.comm[0]
    assert third == second + costs.comp[1] + costs.comm[1]
