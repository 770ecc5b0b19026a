"""The contract on native code: compiled C++ gives the vehicle engine's tuples, in its order, with
its side outputs and counts, for every operator that it runs, all examples and random queries."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.contract.cases import SOURCES, random_queries
from tests.contract.examples import EXAMPLES, example_query, recording_of
from tests.contract.native import (
    MODE,
    NATIVE_CASES,
    REFUSED_CASES,
    both,
    cases_query,
    differences,
    without_refused,
)
from tests.contract.native_users import with_twins
from tests.contract.random_queries import ALL, NATIVE, random_recording
from tests.contract.recordings import Recording
from tests.native.needed import needs_compiler

from headway.compiler import compile_query
from headway.engine.operators.operator_base import Dropped
from headway.engine.stepwise import StepResult, Stepwise
from headway.model.expression_tree import Literal, Node
from headway.model.quantities import MILLISECOND
from headway.model.query import Query
from headway.model.schema import DataType
from headway.native import cpp_operators, cpp_windows
from headway.native.cpp_row_functions import CppFunctionText, filter_function
from headway.native.cpp_types import RowStruct
from headway.native.native_stepwise import NativeStepwise

pytestmark = needs_compiler


def recorded(query: Query, seed: int) -> Recording:
    """Some tuples have no timestamp."""
    draw = random.Random(seed)
    found = random_recording(draw, query, vehicles=3, most=40).tuples
    return Recording(
        tuple(
            one._replace(row=(None, *one.row[1:])) if draw.random() < 0.05 else one for one in found
        )
    )


def check(query: Query, recording: Recording) -> None:
    plan = compile_query(query)
    results = both(plan, recording)
    assert any(any(expected.outputs.values()) for _, expected, _ in results), "nothing is shown"
    assert [differences(expected, got) for _, expected, got in results] == [[]] * len(results)


@pytest.mark.parametrize("sources", SOURCES)
def test_every_operator(sources: str) -> None:
    query = cases_query(NATIVE_CASES, SOURCES[sources])
    check(query, recorded(query, 24))


@pytest.mark.parametrize("case", REFUSED_CASES)
def test_what_is_refused_says_why(case: str) -> None:
    pytest.skip(REFUSED_CASES[case])


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_an_example(folder: Path) -> None:
    query = example_query(folder)
    check(query, recording_of(query, random.Random(3), steps=40))


def test_a_run_can_be_cut_anywhere() -> None:
    """State taken out as bytes and put into another copy of the program changes nothing."""
    query = cases_query(NATIVE_CASES, SOURCES["shed"])
    plan, recording = compile_query(query), recorded(query, 24)
    arrivals = max((recording.arrivals(plan, one) for one in recording.vehicles), key=len)
    whole = Stepwise(plan)
    got: list[StepResult] = []
    dropped: list[tuple[int, Dropped]] = []
    with (
        with_twins(plan) as compiled,
        NativeStepwise(compiled, mode=MODE) as first,
        NativeStepwise(compiled, mode=MODE) as second,
    ):
        for number, arrival in enumerate(arrivals):
            whole.take(arrival.time, arrival.source, arrival.row)
            first.take(arrival.time, arrival.source, arrival.row)
            if number % 3 == 0:
                got += first.take_results()
                dropped += first.take_dropped()
                second.restore(first.snapshot())
                first, second = second, first
        whole.finish()
        first.finish()
        got += first.take_results()
        dropped += first.take_dropped()
    assert len(got) > 100
    assert repr(got) == repr(whole.take_results())
    assert repr(dropped) == repr(whole.take_dropped())


@pytest.mark.parametrize(
    ("seed", "kinds"), [(11, NATIVE), *((seed, ALL) for seed in (12, 13, 21, 22, 41, 42))]
)
def test_random_queries(seed: int, kinds: tuple[str, ...]) -> None:
    query = without_refused(random_queries(seed, 8, kinds))
    check(query, recorded(query, seed))


# ---------------------------------------------------------------- a wrong generator is caught


def wrong(monkeypatch: pytest.MonkeyPatch, case: str, module: object, name: str, by: Any) -> bool:
    """Whether a case shows that part of the generator is replaced."""
    monkeypatch.setattr(module, name, by)
    query = cases_query([case], SOURCES["plain"])
    plan = compile_query(query)
    return any(differences(expected, got) for _, expected, got in both(plan, recorded(query, 24)))


def test_a_wrong_window_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = cpp_windows._length

    def longer(name: str, nanoseconds: int) -> str:
        return right(name, nanoseconds + MILLISECOND)

    assert wrong(monkeypatch, "join without keys", cpp_windows, "_length", longer)


def test_a_wrong_condition_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def always(name: str, where: Node, struct: RowStruct) -> CppFunctionText:
        return filter_function(name, Literal(True, DataType.BOOLEAN), struct)

    assert wrong(monkeypatch, "filter", cpp_operators, "filter_function", always)
