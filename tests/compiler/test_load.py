"""Loads of operators: by tuple, by gathered execution, on slow nodes."""

from __future__ import annotations

import pytest

from headway.compiler.utilisation import executions, fits, operator_load
from headway.model.operators import Gather, Input, Union, UserDefined
from headway.model.quantities import MILLISECOND, Cost
from headway.model.schema import Schema
from headway.model.vehicle import Node

INPUTS = (Input("a", "a"), Input("b", "b"))


def gathering(gather: Gather, timeout: int | None = 100 * MILLISECOND) -> UserDefined:
    return UserDefined(
        name="fuse",
        inputs=INPUTS,
        cost=Cost(1_000_000, per_item=100_000),
        timeout=timeout,
        implementation="m:C",
        schema=Schema(()),
        gather=gather,
    )


def test_each_tuple_is_an_execution_and_a_decision() -> None:
    union = Union(name="u", inputs=INPUTS, cost=Cost(1_000_000))
    assert operator_load(union, [100.0, 50.0], Node(name="n")) == pytest.approx(0.15)
    slow = Node(name="n", rate=0.5, decision_cost=10_000)
    assert operator_load(union, [100.0, 50.0], slow) == pytest.approx(0.3 + 0.0015)


def test_gathering_all_runs_as_often_as_the_slowest_and_the_timeout() -> None:
    assert executions(gathering(Gather.ALL), [100.0, 5.0]) == pytest.approx(15.0)
    load = operator_load(gathering(Gather.ALL), [100.0, 5.0], Node(name="n"))
    assert load == pytest.approx(15 * 0.001 + 105 * 0.0001)


def test_gathering_for_a_time_runs_once_in_it() -> None:
    assert executions(gathering(Gather.TIME), [100.0, 5.0]) == pytest.approx(10.0)
    assert executions(gathering(Gather.TIME), [2.0, 1.0]) == pytest.approx(3.0)


def test_without_a_timeout_each_tuple_runs() -> None:
    assert executions(gathering(Gather.ALL, None), [100.0, 5.0]) == pytest.approx(105.0)


def test_rounding_is_no_overload() -> None:
    assert fits(0.3 + 0.3 + 0.3, 0.9)
    assert fits(0.1 + 0.2, 0.3)
    assert not fits(0.901, 0.9)
