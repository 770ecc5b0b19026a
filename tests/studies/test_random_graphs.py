"""Random task graphs keep what their shape promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples

from headway.errors import InputError
from headway.model.taskgraph import check_task_graph
from headway_studies.hvlb_cc.random_graphs import RATE_ORDERS, Shape, figure_2, grow, random_graph

shapes = st.builds(
    Shape,
    tasks=st.integers(6, 40),
    most_in=st.integers(1, 3),
    most_out=st.integers(2, 4),
    least_entries=st.just(1),
    most_entries=st.integers(1, 3),
    least_exits=st.integers(1, 3),
    falling=st.booleans(),
)


@examples(100)
@given(shapes, st.integers(0, 2**32))
def test_degrees_entries_and_exits(shape: Shape, seed: int) -> None:
    if shape.most_in == 1 and shape.most_entries > 1:
        shape = Shape(tasks=shape.tasks, most_in=1, least_entries=1, most_entries=1)
    graph = random_graph(shape, ccr=1, random=np.random.default_rng(seed))
    check_task_graph(graph)
    assert len(graph.tasks) == shape.tasks
    assert shape.least_entries <= len(graph.entries) <= shape.most_entries
    assert len(graph.exits) >= shape.least_exits
    assert all(len(found) <= shape.most_in for found in graph.predecessors.values())
    assert all(len(found) <= shape.most_out for found in graph.successors.values())
    if shape.falling:
        outs = {name: len(found) for name, found in graph.successors.items()}
        assert all(outs[edge.sender] >= outs[edge.receiver] for edge in graph.edges)


def test_the_same_generator_gives_the_same_graph() -> None:
    one, other = (
        random_graph(Shape(tasks=20), ccr=2, random=np.random.default_rng(7)) for _ in range(2)
    )
    assert one == other
    assert one != random_graph(Shape(tasks=20), ccr=2, random=np.random.default_rng(8))


def test_depth_is_bounded_where_asked() -> None:
    shape = Shape(tasks=20, least_entries=4, most_entries=8, most_depth=4)
    assert max(grow(shape, np.random.default_rng(1)).depth) <= 4


def test_impossible_shapes_are_refused() -> None:
    with pytest.raises(InputError, match="no task graph has this shape"):
        Shape(tasks=2, least_entries=3)
    with pytest.raises(InputError, match="no graph of this shape in 1000 attempts"):
        grow(Shape(tasks=12, most_in=1), np.random.default_rng(1))  # two trees never join


def test_the_network_of_figure_2() -> None:
    network = figure_2()
    assert network.routes["p2", "p3"] == (("l3",), ("l2", "l4"))
    assert len(set(RATE_ORDERS)) == 6
