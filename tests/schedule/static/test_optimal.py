"""The optimum: sound, never worse than a heuristic, and right where it can be told otherwise."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from tests.exploring import examples
from tests.schedule.static.random_cases import Case, cases
from tests.waiting import PATIENCE_S

from headway.errors import EnvironmentMissing
from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork, Switch, Switching
from headway.model.taskgraph import Edge, GraphTask, TaskGraph
from headway.schedule.static import ExactAlpha, Instance, Options, violations
from headway.schedule.static import optimal as program
from headway.schedule.static.optimal import Effort, Optimal, best_heuristic, find_optimum
from headway.schedule.static.timing import record
from headway_studies.beyond import optimum_gap
from headway_studies.hvlb_cc.random_graphs import Shape, figure_2, random_graph
from headway_studies.row_reading import number, number_or_none

THOROUGH = Effort(seconds=PATIENCE_S, workers=4)
"""until it is proven, which takes a fraction of a second where nothing else runs"""


def optimum_of(instance: Instance) -> Fraction:
    found = Optimal(THOROUGH).run(instance, ExactAlpha())
    schedule = found.optimum.schedule
    assert violations(instance.graph, instance.network, schedule) == ()
    assert found.optimum.proven
    assert found.optimum.gap == 0
    return found.optimum.makespan


def test_graphs_of_ten_tasks_are_proven_and_no_heuristic_is_better() -> None:
    rows = [optimum_gap.run_trial(trial, THOROUGH) for trial in optimum_gap.grid(12)]
    assert len(rows) == 12
    assert all(row["proven"] and row["sound"] for row in rows)
    for row in rows:
        for name in optimum_gap.HEURISTICS:
            length = number_or_none(row, name)
            assert length is None or length >= number(row, "optimum") - 1e-9
        assert row["hvlb-cc-c"] is not None


@pytest.mark.parametrize("seed", range(6))
def test_no_list_schedule_is_shorter(seed: int) -> None:
    """Every queue on every placement of five tasks, by the timing core."""
    random = np.random.default_rng(seed)
    shape = Shape(tasks=5, least_exits=1)
    instance = Instance(random_graph(shape, ccr=[0.5, 2][seed % 2], random=random), figure_2())
    before = [{sender for sender, _ in into} for into in instance.predecessors]
    queues = [
        order
        for order in permutations(range(5))
        if all(before[task] <= set(order[:place]) for place, task in enumerate(order))
    ]
    shortest = min(
        record(instance, order, where).makespan
        for order in queues
        for where in product(range(3), repeat=5)
    )
    assert optimum_of(instance) <= shortest


def test_two_messages_share_a_link_and_the_longer_chain_goes_first() -> None:
    """Worked by hand: a (1) feeds b (1) and c (6), which are pinned elsewhere; each message takes
    2. c must be served first: 1 + 2 + 6 = 9; the other way round it would be 11."""
    graph = TaskGraph(
        tasks=(
            GraphTask(name="a", work=1, processors=("p",)),
            GraphTask(name="b", work=1, processors=("q",)),
            GraphTask(name="c", work=6, processors=("r",)),
        ),
        edges=(
            Edge(sender="a", receiver="b", volume=2),
            Edge(sender="a", receiver="c", volume=2),
        ),
    )
    network = ProcessorNetwork(
        processors=tuple(Processor(name=name) for name in "pqr"),
        links=(NetworkLink(name="bus", ends=("p", "q", "r")),),
    )
    assert optimum_of(Instance(graph, network)) == 9
    assert optimum_of(Instance(graph, network, Options(contention=False))) == 9
    longer = TaskGraph(
        tasks=(*graph.tasks[:2], GraphTask(name="c", work=1, processors=("r",))), edges=graph.edges
    )
    assert optimum_of(Instance(longer, network)) == 6
    assert optimum_of(Instance(longer, network, Options(contention=False))) == 4


def test_store_and_forward_and_gateway_delays() -> None:
    graph = TaskGraph(
        tasks=(
            GraphTask(name="a", work=1, processors=("p",)),
            GraphTask(name="b", work=1, processors=("q",), release=3),
        ),
        edges=(Edge(sender="a", receiver="b", volume=2),),
    )
    network = ProcessorNetwork(
        processors=(Processor(name="p"), Processor(name="q")),
        switches=(Switch(name="s", delay=Fraction(1, 2)),),
        links=(NetworkLink(name="one", ends=("p", "s")), NetworkLink(name="two", ends=("s", "q"))),
        switching=Switching.STORE_AND_FORWARD,
    )
    assert optimum_of(Instance(graph, network)) == Fraction(13, 2)  # 1 + 2 + 1/2 + 2 + 1


def test_numbers_too_fine_for_the_solver_are_rounded_and_the_bound_stays_true(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = random_graph(Shape(tasks=8), ccr=1, random=np.random.default_rng(2))
    instance = Instance(graph, figure_2())
    exact = find_optimum(instance, best_heuristic(instance), THOROUGH)
    monkeypatch.setattr(program, "LARGEST_HORIZON", 2000)
    coarse = find_optimum(instance, best_heuristic(instance), THOROUGH)
    assert violations(graph, instance.network, coarse.schedule) == ()
    assert coarse.bound <= exact.makespan <= coarse.makespan
    assert float(coarse.makespan / exact.makespan) < 1.05


@examples(25)
@given(cases(most=5))
def test_any_graph_on_any_network(case: Case) -> None:
    """Releases, limited processors, buses, delays, both ways of switching, rounding."""
    instance = case.instance
    start = best_heuristic(instance)
    result = Optimal(Effort(seconds=5, workers=1)).run(instance, ExactAlpha())
    case.check(result)
    assert result.optimum.bound <= result.optimum.makespan <= start.makespan


def test_without_ortools_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    instance = Instance(TaskGraph(tasks=(GraphTask(name="a", work=1),)), figure_2())
    with pytest.raises(EnvironmentMissing, match=r"pip install 'headway\[optimal\]'"):
        Optimal(THOROUGH).run(instance, ExactAlpha())
