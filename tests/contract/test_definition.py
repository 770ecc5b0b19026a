"""Without Spark, so that many more cases fit: the engine against the definition, and a stream
against the engine wherever it is cut."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest
from tests.contract.definition import definition
from tests.contract.random_queries import NATIVE, Shape, random_query, random_recording
from tests.contract.recordings import Answer, Recording, comparable, differences, meaning

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.kernel import Kernel
from headway.engine.stepwise import Stepwise
from headway.model.plan import Plan
from headway.schedule.online import POLICIES
from headway.spark.stream.lower_stream import Held, VehicleStream

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


@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_stream_may_be_cut_anywhere(block: int) -> None:
    for seed in range(block * CASES, (block + 1) * CASES):
        draw = random.Random(seed)
        query = random_query(draw, Shape())
        plan, recording = compile_query(query), random_recording(draw, query)
        assert differences(meaning(plan, recording), cut(plan, recording, draw)) == [], seed


def cut(plan: Plan, recording: Recording, draw: random.Random) -> Answer:
    """All vehicles through one engine, in pieces; sources run ahead of each other."""
    sources = [source.name for source in plan.query.sources]
    outputs = [output.name for output in plan.query.outputs]
    files: list[list[list[tuple[str, Held]]]] = []
    for place, name in enumerate(sources):
        tuples = [
            (one.vehicle, Held(one.arrived_at, place, number, one.row))
            for number, one in enumerate(recording.of_source(name))
        ]
        size = draw.choice((1, 3, 10, 100))
        files.append([tuples[i : i + size] for i in range(0, len(tuples), size)])
    stream, states = VehicleStream(Stepwise(plan), sources), dict[str, str]()
    answer: Answer = Counter()
    while any(files):
        batch: dict[str, list[Held]] = {}
        for pieces in files:
            if pieces and draw.random() < 0.6:
                for vehicle, held in pieces.pop(0):
                    batch.setdefault(vehicle, []).append(held)
        for vehicle, found in batch.items():
            draw.shuffle(found)
            stream.restore(json.loads(states[vehicle]) if vehicle in states else None)
            for result in stream.offer(found):
                answer[vehicle, outputs[result.output], comparable(result.row)] += 1
            states[vehicle] = json.dumps(stream.snapshot())
    for vehicle, state in states.items():
        stream.restore(json.loads(state))
        for result in stream.finish():
            answer[vehicle, outputs[result.output], comparable(result.row)] += 1
    return answer
