"""Without Spark, so that many more cases fit: the engine against the definition, and a stream
against the engine wherever it is cut."""

from __future__ import annotations

import random

import pytest
from tests.contract.definition import definition
from tests.contract.random_queries import NATIVE, Shape, random_query, random_recording
from tests.contract.recordings import differences, meaning

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.kernel import Kernel
from headway.schedule.online import POLICIES

BLOCKS, CASES = 4, 40


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_engine_follows_the_definition(block: int) -> None:
    for seed in range(block * CASES, (block + 1) * CASES):
        draw = random.Random(seed)
        query = random_query(draw, Shape(kinds=NATIVE, shedders=False))
        plan, recording = compile_query(query), random_recording(draw, query)
        assert differences(definition(plan, recording), meaning(plan, recording)) == [], seed


def test_a_window_that_closes_too_soon_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine as it was: after every operator it looked whether windows can close."""
    plain = Kernel.release

    def release(self: Kernel, *arguments: object) -> None:
        plain(self, *arguments)  # type: ignore[arg-type]
        self.time_moved()

    monkeypatch.setattr(Kernel, "release", release)
    wrong = 0
    for block in range(BLOCKS):
        try:
            test_the_engine_follows_the_definition(block)
        except AssertionError:
            wrong += 1
    assert wrong


@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_changes_the_meaning(policy: str) -> None:
    for seed in range(30):
        draw = random.Random(seed)
        query = random_query(draw, Shape())
        plan, recording = compile_query(query), random_recording(draw, query, vehicles=1)
        rows = []
        for name in ("s-edf", policy):
            engine = Engine(plan=plan, charged=False, policy=name, keep_trace=False)
            outputs = engine.run(recording.arrivals(plan, "car0")).outputs
            rows.append({name: record.rows for name, record in outputs.items()})
        assert repr(rows[0]) == repr(rows[1]), seed
