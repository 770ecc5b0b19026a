"""Several periods and deadlines in one graph: unrolling, state, windows, and who is in time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from headway.files.load_graphs import load_graph, load_network
from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork
from headway.model.taskgraph import Edge, GraphTask, Memory, TaskGraph
from headway.schedule.static import StaticResult, schedule, violations
from headway.schedule.static.periodic import (
    PeriodError,
    answers_once,
    has_periods,
    periods_of,
    schedule_periodic,
    unroll,
)

EXAMPLE = Path(__file__).parents[3] / "examples" / "static_distribution"
ONE = ProcessorNetwork(processors=(Processor(name="p"),))
TWO = ProcessorNetwork(
    processors=(Processor(name="p"), Processor(name="q")),
    links=(NetworkLink(name="l", ends=("p", "q")),),
)
GRAPH = TaskGraph(
    tasks=(
        GraphTask(name="fast", work=1, period=2),
        GraphTask(name="slow", work=1, period=Fraction(6)),
        GraphTask(name="both", work=1, deadline=5),
    ),
    edges=(
        Edge(sender="fast", receiver="both", volume=1),
        Edge(sender="slow", receiver="both", volume=1),
    ),
)


def pairs(graph: TaskGraph) -> list[tuple[str, str]]:
    return [(edge.sender, edge.receiver) for edge in graph.edges]


def test_a_task_without_a_period_has_the_longest_of_its_predecessors() -> None:
    assert periods_of(GRAPH) == {"fast": 2, "slow": 6, "both": 6}
    assert has_periods(GRAPH)
    assert not has_periods(TaskGraph(tasks=(GraphTask(name="a", work=1),), period=3))


def test_every_execution_in_a_hyperperiod_is_a_task() -> None:
    found = unroll(GRAPH)
    assert found.hyperperiod == 6
    assert [(t.name, t.release, t.deadline) for t in found.graph.tasks] == [
        ("fast#0", 0, None),
        ("fast#1", 2, None),
        ("fast#2", 4, None),
        ("slow", 0, None),
        ("both", 0, 5),
    ]
    assert pairs(found.graph) == [("fast#0", "both"), ("slow", "both")]


def test_periods_may_be_fractions() -> None:
    tasks = (GraphTask(name="a", work=0, period=0.5), GraphTask(name="b", work=0, period=0.75))
    assert unroll(TaskGraph(tasks=tasks)).hyperperiod == Fraction(3, 2)


def test_a_faster_reader_takes_the_latest_and_a_window_all() -> None:
    graph = replace(
        GRAPH,
        tasks=(*GRAPH.tasks[:2], replace(GRAPH.tasks[2], period=3)),
    )
    assert pairs(unroll(graph).graph) == [
        ("fast#0", "both#0"),
        ("slow", "both#0"),
        ("fast#1", "both#1"),
        ("slow", "both#1"),
    ]
    windowed = unroll(graph, {"both": Memory(window=3)}).graph
    assert pairs(windowed) == [
        ("fast#0", "both#0"),
        ("slow", "both#0"),
        ("fast#1", "both#1"),
        ("slow", "both#1"),
    ]
    longer = unroll(graph, {"both": Memory(window=4)}).graph
    assert ("fast#0", "both#1") in pairs(longer)


def test_state_moves_as_a_message_or_stays() -> None:
    graph = TaskGraph(
        tasks=(GraphTask(name="a", work=3, period=4), GraphTask(name="b", work=1, period=8))
    )
    moving = unroll(graph, {"a": Memory(state=5)}).graph
    assert [(e.sender, e.receiver, e.volume) for e in moving.edges] == [("a#0", "a#1", 5)]

    def run(unrolled: TaskGraph) -> StaticResult:
        return schedule(unrolled, TWO)

    kept = schedule_periodic(graph, run, {"a": Memory(pinned=True)})
    assert kept.result.schedule is not None
    homes = {kept.result.schedule.placement[name] for name in ("a#0", "a#1")}
    assert len(homes) == 1
    assert violations(kept.unrolled.graph, TWO, kept.result.schedule) == ()


def test_the_answer_says_which_exits_are_late() -> None:
    """One processor: x runs 0-3 and 4-7, y (deadline 4) waits for it and ends at 5 > 4."""
    graph = TaskGraph(
        tasks=(
            GraphTask(name="x", work=3, period=4),
            GraphTask(name="y", work=1, period=8, deadline=4),
            GraphTask(name="z", work=1, period=8, deadline=8),
        ),
        edges=(Edge(sender="x", receiver="z", volume=0),),
    )
    found = schedule_periodic(graph, lambda unrolled: schedule(unrolled, ONE))
    answers = {answer.task: answer for answer in found.exits}
    assert set(answers) == {"y", "z"}
    assert found.result.schedule is not None
    for name, answer in answers.items():
        assert answer.response == found.result.schedule.of_task[name].finish
        assert answer.met == (answer.response <= answer.deadline)
    assert found.met == (found.repeats and all(answer.met for answer in found.exits))


def test_a_schedule_longer_than_its_hyperperiod_may_still_repeat() -> None:
    """Two stages on two processors overlap with the next round; on one they cannot."""
    graph = TaskGraph(
        tasks=(
            GraphTask(name="a", work=3, period=4, processors=("p",)),
            GraphTask(name="b", work=3, processors=("q",), deadline=8),
        ),
        edges=(Edge(sender="a", receiver="b", volume=0),),
    )
    piped = schedule_periodic(graph, lambda unrolled: schedule(unrolled, TWO))
    assert (piped.result.makespan, piped.repeats, piped.met) == (Fraction(6), True, True)
    tasks = tuple(replace(task, processors=()) for task in graph.tasks)
    alone = schedule_periodic(replace(graph, tasks=tasks), lambda unrolled: schedule(unrolled, ONE))
    assert (alone.result.makespan, alone.repeats, alone.met) == (Fraction(6), False, False)


def test_deadlines_of_a_graph_that_runs_once() -> None:
    graph = TaskGraph(tasks=(GraphTask(name="a", work=3, deadline=2), GraphTask(name="b", work=1)))
    result = schedule(graph, ONE)
    assert result.schedule is not None
    (answer,) = answers_once(graph, result.schedule)
    assert (answer.task, answer.met, answer.missed) == ("a", False, 1)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (TaskGraph(tasks=(GraphTask(name="a", work=1),)), "tasks.a: no period above 0; got none"),
        (
            TaskGraph(
                tasks=(
                    GraphTask(name="a", work=1, period=12007),
                    GraphTask(name="b", work=1, period=12011),
                )
            ),
            "tasks: 24018 executions",
        ),
    ],
)
def test_no_period_and_periods_that_never_meet(graph: TaskGraph, message: str) -> None:
    with pytest.raises(PeriodError) as caught:
        unroll(graph)
    assert str(caught.value).startswith(message)


def test_the_example() -> None:
    loaded = load_graph(EXAMPLE / "periods.yaml")
    network = load_network(EXAMPLE / "network.yaml").network
    found = schedule_periodic(
        loaded.graph, lambda unrolled: schedule(unrolled, network), loaded.memories
    )
    assert found.unrolled.hyperperiod == 80
    assert found.met
    assert found.result.schedule is not None
    assert violations(found.unrolled.graph, network, found.result.schedule) == ()
