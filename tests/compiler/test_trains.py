"""The pass ``trains``: Algorithm 3 and the published tables."""

from __future__ import annotations

from tests.compiler.build import compiled_until, one_node, query_of
from tests.compiler.golden import EXAMPLE, golden

from headway.compiler.trains import form_tasks, trains, waits
from headway.files import load_query, load_vehicle, parse_query
from headway.model.graph import graph_of
from headway.model.plan import Task
from headway.model.quantities import MILLISECOND
from headway.model.query import Query
from headway.model.vehicle import Node, Vehicle
from headway_studies.aedsms.aedsms_tasks import OPERATORS


def trains_of(query: Query) -> list[list[str]]:
    found = compiled_until(trains, query, one_node(query)).tasks
    return [list(task.operators) for task in found]


def study(vehicle: str) -> tuple[Task, ...]:
    loaded = load_vehicle(EXAMPLE / vehicle).vehicle
    return compiled_until(trains, load_query(EXAMPLE / "query.yaml").query, loaded).tasks


# ---------------------------------------------------------------- the papers


def test_the_eight_tasks_of_the_study_on_three_nodes() -> None:
    expected = [
        (name, task["node"].lower(), tuple(OPERATORS[o] for o in task["operators"]))
        for name, task in golden("aedsms_table1.json")["tasks"].items()
    ]
    for vehicle in ("vehicle.yaml", "vehicle_modern.yaml"):
        assert [(task.name, task.node, task.operators) for task in study(vehicle)] == expected


def test_the_eight_trains_of_the_study_on_one_node() -> None:
    facts = golden("aedsms_table1.json")
    meaning = facts["single_node_operators"]
    expected = {
        tuple(OPERATORS[name] for o in train["operators"] for name in meaning[o])
        for train in facts["single_node_trains"].values()
    }
    query = load_query(EXAMPLE / "query.yaml").query
    found = compiled_until(trains, query, one_node(query)).tasks
    assert len(found) == len(expected) == 8
    assert {task.operators for task in found} == expected


def test_figure_6() -> None:
    facts = golden("sedf_fig6.json")
    query = query_of(
        facts["query"]["streams"],
        facts["query"]["deadlines"],
        costs=facts["query"]["operators"],
        timeouts=facts["query"]["timeouts"],
    )
    assert trains_of(query) == facts["trains"]


def test_figure_8() -> None:
    facts = golden("sedf_fig8.json")
    assert sorted(trains_of(query_of(facts["streams"], facts["deadlines"]))) == facts["trains"]


# ---------------------------------------------------------------- the rules


def test_a_chain_is_one_train() -> None:
    assert trains_of(query_of([("s", "a"), ("a", "b"), ("b", "c"), ("c", "o")], {"o": 9})) == [
        ["a", "b", "c"]
    ]


def test_a_branch_ends_a_train() -> None:
    streams = [("s", "a"), ("a", "b"), ("a", "c"), ("b", "o"), ("c", "p")]
    assert trains_of(query_of(streams, {"o": 9, "p": 9})) == [["a"], ["b"], ["c"]]


def test_an_output_beside_an_operator_is_a_branch() -> None:
    streams = [("s", "a"), ("a", "o"), ("a", "b"), ("b", "p")]
    assert trains_of(query_of(streams, {"o": 9, "p": 9})) == [["a"], ["b"]]


def test_a_union_stands_at_the_end_of_both_trains() -> None:
    streams = [("s", "a"), ("t", "b"), ("a", "u"), ("b", "u"), ("u", "c"), ("c", "o")]
    assert trains_of(query_of(streams, {"o": 9})) == [["a", "u", "c"], ["b", "u", "c"]]


def test_an_edge_counts_by_itself() -> None:
    """The text asks for all predecessors at once; the tables decide edge by edge (see the docs)."""
    streams = [("s", "a"), ("t", "b"), ("a", "u"), ("b", "u"), ("b", "c"), ("u", "o"), ("c", "p")]
    assert trains_of(query_of(streams, {"o": 9, "p": 9})) == [["b"], ["u"], ["a", "u"], ["c"]]


def test_a_union_fed_by_a_source_and_an_operator() -> None:
    found = compiled_until(
        trains,
        query := query_of([("s", "a"), ("a", "u"), ("t", "u"), ("u", "o")], {"o": 9}),
        one_node(query),
    ).tasks
    assert [(task.operators, task.entries) for task in found] == [
        (("u",), ("t",)),
        (("a", "u"), ("s",)),
    ]


def test_an_operator_that_waits_heads_its_train() -> None:
    streams = [("s", "a"), ("t", "b"), ("a", "w"), ("b", "w"), ("w", "c"), ("c", "o")]
    query = query_of(streams, {"o": 9}, timeouts={"w": 5})
    assert trains_of(query) == [["a"], ["b"], ["w", "c"]]


def test_an_aggregate_waits_for_its_window() -> None:
    query = parse_query(
        """
query: windows
sources: {s: {schema: {v: int}, rate: 1 per 1 s}}
operators:
  f: {filter: v > 0, from: s, cost: 1 us}
  sums: {aggregate: {n: count(*)}, from: f, window: 1 s, cost: 1 us}
  g: {filter: n > 0, from: sums, cost: 1 us}
outputs: {o: {from: g, deadline: 9 s}}
"""
    ).query
    assert waits(next(o for o in query.operators if o.name == "sums"))
    assert trains_of(query) == [["f"], ["sums", "g"]]


def test_nodes_cut_trains_and_number_the_tasks() -> None:
    query = query_of([("s", "a"), ("a", "b"), ("b", "c"), ("c", "o")], {"o": 9}, costs=10)
    vehicle = Vehicle(name="v", nodes=(Node(name="n1"), Node(name="n2", rate=0.5)))
    placement = {"s": "n2", "a": "n2", "b": "n2", "c": "n1"}
    found = form_tasks(graph_of(query), placement, vehicle)
    assert [(t.name, t.node, t.operators, t.cost) for t in found] == [
        ("T1", "n1", ("c",), 10),
        ("T2", "n2", ("a", "b"), 40),
    ]


def test_without_fusing_every_operator_is_its_own_task() -> None:
    query = query_of([("s", "a"), ("a", "b"), ("b", "o")], {"o": 9 * MILLISECOND})
    placement = {"s": "ecu", "a": "ecu", "b": "ecu"}
    found = form_tasks(graph_of(query), placement, one_node(query), fuse=False)
    assert [(task.operators, task.entries) for task in found] == [
        (("a",), ("s",)),
        (("b",), ("a",)),
    ]
