"""Malformed graphs and networks get an error that has a name and says what to do."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from headway.errors import GraphError, InputError
from headway.model.static_network import (
    NetworkLink,
    NoRouteError,
    Processor,
    ProcessorNetwork,
    SpeedError,
    Switch,
)
from headway.model.taskgraph import (
    CycleError,
    Edge,
    GraphTask,
    MissingTimeError,
    TaskGraph,
    UnknownTaskError,
)
from headway.schedule.static import Options, algorithm_named, schedule

PAIR = ProcessorNetwork(
    processors=(Processor(name="p1"), Processor(name="p2")),
    links=(NetworkLink(name="l1", ends=("p1", "p2")),),
)


def chain(*names: str) -> TaskGraph:
    return TaskGraph(
        tasks=tuple(GraphTask(name=name, work=1) for name in names),
        edges=tuple(Edge(sender=one, receiver=other, volume=1) for one, other in pairwise(names)),
    )


def with_edge(graph: TaskGraph, edge: Edge) -> TaskGraph:
    return replace(graph, edges=(*graph.edges, edge))


WRONG_GRAPHS: list[tuple[TaskGraph, type[GraphError], str]] = [
    (
        with_edge(chain("a", "b", "c"), Edge(sender="c", receiver="a", volume=1)),
        CycleError,
        "edges: tasks wait for each other in a circle; got a -> b -> c -> a; "
        "take one of these edges away",
    ),
    (
        with_edge(chain("a", "b"), Edge(sender="b", receiver="b", volume=1)),
        CycleError,
        "edges: tasks wait for each other in a circle; got b -> b; take one of these edges away",
    ),
    (
        with_edge(chain("a", "b"), Edge(sender="a", receiver="x", volume=1)),
        UnknownTaskError,
        "edges.a->x: unknown task; got 'x'; one of a, b",
    ),
    (
        TaskGraph(tasks=(GraphTask(name="a", times={"p1": 3}),)),
        MissingTimeError,
        "tasks.a.times.p2: no computation time; give a time, the task's work, or the processors "
        "it may run on",
    ),
    (
        TaskGraph(tasks=(GraphTask(name="a", work=-1),)),
        GraphError,
        "tasks.a.work: not a number of 0 or more; got -1",
    ),
    (
        TaskGraph(tasks=(GraphTask(name="a", work=float("nan")),)),
        GraphError,
        "tasks.a.work: not a number of 0 or more; got nan",
    ),
    (
        with_edge(chain("a", "b"), Edge(sender="a", receiver="b", volume=1)),
        GraphError,
        "edges: two messages between the same tasks; got a->b; add the volumes up",
    ),
    (
        replace(chain("a", "b"), edges=(Edge(sender="a", receiver="b"),)),
        GraphError,
        "edges.a->b: a message needs a volume or a ccr, and not both",
    ),
    (chain("a", "a"), GraphError, "tasks.a: this task is given twice"),
    (TaskGraph(tasks=()), GraphError, "graph: the graph has no tasks; give at least one"),
    (
        replace(chain("a"), period=0),
        GraphError,
        "period: the period must be above 0; got 0",
    ),
    (
        TaskGraph(tasks=(GraphTask(name="a", work=1, processors=("p9",)),)),
        GraphError,
        "tasks.a.processors: unknown processor; got 'p9'; one of p1, p2",
    ),
]


@pytest.mark.parametrize(("graph", "kind", "text"), WRONG_GRAPHS)
def test_wrong_graphs(graph: TaskGraph, kind: type[GraphError], text: str) -> None:
    with pytest.raises(GraphError) as caught:
        schedule(graph, PAIR)
    assert type(caught.value) is kind
    assert str(caught.value) == text


LINK = NetworkLink(name="l1", ends=("p1", "p2"))
WRONG_NETWORKS: list[tuple[ProcessorNetwork, type[GraphError], str]] = [
    (
        replace(PAIR, links=(replace(LINK, speed=0),)),
        SpeedError,
        "links.l1.speed: not a speed above 0; got 0",
    ),
    (
        replace(PAIR, links=(replace(LINK, speed=-2.5),)),
        SpeedError,
        "links.l1.speed: not a speed above 0; got -2.5",
    ),
    (
        replace(PAIR, processors=(Processor(name="p1"), Processor(name="p2", rate=0))),
        SpeedError,
        "processors.p2.rate: not a speed above 0; got 0",
    ),
    (
        replace(PAIR, links=()),
        NoRouteError,
        "network: no route from p1 to p2; got a message a->b; "
        "join them by links, or limit where the tasks may run",
    ),
    (
        replace(PAIR, switches=(Switch(name="s"),), links=(replace(LINK, ends=("p1", "s")),)),
        NoRouteError,
        "network: no route from p1 to p2; got a message a->b; "
        "join them by links, or limit where the tasks may run",
    ),
    (
        replace(PAIR, links=(replace(LINK, ends=("p1", "x")),)),
        GraphError,
        "links.l1.ends: unknown end; got 'x'; one of p1, p2",
    ),
    (
        replace(PAIR, links=(replace(LINK, ends=("p1", "p1")),)),
        GraphError,
        "links.l1.ends: a link joins two or more; got ['p1', 'p1']",
    ),
    (replace(PAIR, processors=()), GraphError, "network: the network has no processors"),
    (replace(PAIR, links=(LINK, LINK)), GraphError, "l1: this name is given twice"),
    (
        replace(PAIR, given_routes={("p1", "p2"): (("l9",),)}),
        GraphError,
        "routes.p1-p2: unknown link; got l9",
    ),
    (
        replace(
            PAIR,
            switches=(Switch(name="s"),),
            links=(LINK, NetworkLink(name="l2", ends=("p1", "s"))),
            given_routes={("p1", "p2"): (("l2",),)},
        ),
        GraphError,
        "routes.p1-p2: these links do not lead there; got l2",
    ),
]


@pytest.mark.parametrize(("network", "kind", "text"), WRONG_NETWORKS)
def test_wrong_networks(network: ProcessorNetwork, kind: type[GraphError], text: str) -> None:
    with pytest.raises(GraphError) as caught:
        schedule(chain("a", "b"), network)
    assert type(caught.value) is kind
    assert str(caught.value) == text


def test_processors_need_no_route_when_no_message_can_take_it() -> None:
    apart = replace(PAIR, links=())
    graph = TaskGraph(
        tasks=(
            GraphTask(name="a", work=1, processors=("p1",)),
            GraphTask(name="b", work=1, processors=("p1",)),
            GraphTask(name="c", work=5),
        ),
        edges=(Edge(sender="a", receiver="b", volume=1),),
    )
    assert schedule(graph, apart).makespan == 5


def test_ranks_must_be_complete_and_possible() -> None:
    with pytest.raises(GraphError, match=r"ranks\.a\.p2: no rank given"):
        schedule(chain("a"), PAIR, options=Options(ranks={"a": {"p1": 1}}))
    with pytest.raises(GraphError, match=r"ranks\.a: a rank below the computation time; got 0\.5"):
        schedule(chain("a"), PAIR, options=Options(ranks={"a": {"p1": 1, "p2": 0.5}}))


def test_unknown_algorithm() -> None:
    with pytest.raises(InputError, match="unknown algorithm 'x'; one of hvlb-cc-b, hvlb-cc-c"):
        algorithm_named("x")
