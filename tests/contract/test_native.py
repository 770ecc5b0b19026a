"""The contract on native code: compiled C++ gives the vehicle engine's tuples, in its order, with
its side outputs and counts, for every operator that it runs, all examples and random queries."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.contract.cases import SOURCES, random_queries
from tests.contract.native import (
    NATIVE_CASES,
    REFUSED_CASES,
    both,
    cases_query,
    differences,
    without_refused,
)
from tests.contract.random_queries import ALL, NATIVE, random_recording
from tests.contract.recordings import Recording
from tests.contract.test_examples import EXAMPLES, recording_of
from tests.native.needed import needs_compiler

from headway.compiler import compile_query
from headway.files import load_query
from headway.model.query import Query

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
    query = load_query(folder / "query.yaml").query
    check(query, recording_of(query, random.Random(3), steps=40))


@pytest.mark.parametrize(("seed", "kinds"), [(11, NATIVE), (12, ALL), (13, ALL), (21, ALL)])
def test_random_queries(seed: int, kinds: tuple[str, ...]) -> None:
    query = without_refused(random_queries(seed, 8, kinds))
    check(query, recorded(query, seed))
