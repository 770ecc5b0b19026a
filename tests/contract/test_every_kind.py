"""The contract as far as it needs no Spark, for every kind that the table of kinds has: a case, the
traits it claims, the same result wherever a stream is cut, an executable that can run it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.contract.cases import CASES, SOURCES, query_of
from tests.contract.random_queries import COLUMNS, random_recording
from tests.contract.recordings import Recording, meaning

from headway.compiler import compile_query
from headway.engine.nodes.executables import build_executables, write_build
from headway.engine.nodes.launcher import Launcher
from headway.engine.nodes.node_command import HARD_MISSED
from headway.engine.operators.implementations import build_stateful
from headway.engine.operators.operator_base import DropKind, StatefulOperator
from headway.engine.stepwise import Stepwise
from headway.model.graph import graph_of
from headway.model.operator_kinds import FUSED, KINDS, VEHICLE, kind_of
from headway.model.operators import Aggregate, Distinct, Operator, Traits
from headway.model.quantities import MICROSECOND
from headway.model.user_operator import Row
from headway.sources.parquet_file import StreamWriter

OWN = [name for name, case in CASES.items() if len(case) == 1]
"""cases of one operator alone"""


def test_every_kind_has_a_case() -> None:
    shown = {operator.kind for operators in CASES.values() for operator in operators}
    missing = sorted(KINDS.keys() - shown)
    assert not missing, (
        f"no case for {', '.join(missing)}: add one to CASES in tests/contract/cases.py, "
        "or name them in OperatorKind.cases if the kind is of another package"
    )


@pytest.mark.parametrize("sources", SOURCES)
def test_every_case_gives_tuples(sources: str) -> None:
    query = query_of(CASES, sources)
    plan, recording = compile_query(query), random_recording(random.Random(24), query, most=40)
    given = {output for _, output, _ in meaning(plan, recording)}
    assert given == {output.name for output in query.outputs}, "such a case shows nothing"


def built(case: str) -> tuple[Operator, StatefulOperator] | None:
    """The operator of a case and what runs it; None where it is fused with its neighbours."""
    plan = compile_query(query_of([case], "plain"))
    (operator,) = graph_of(plan.query).operators.values()
    if kind_of(operator).on(VEHICLE) == FUSED:
        assert not operator.traits.keeps_state
        return None
    return operator, build_stateful(operator, dict(plan.schemas))


def rows(seed: int) -> list[Row]:
    draw = random.Random(seed)
    return [(time * 700, draw.choice((1, 2, None)), float(time)) for time in range(60)]


@pytest.mark.parametrize("case", OWN)
def test_a_late_tuple_is_dropped_if_the_traits_say_so(case: str) -> None:
    found = built(case)
    if found is None:
        return
    operator, behaviour = found
    for row in rows(1):
        assert not (behaviour.accept(operator.inputs[0].port, row, 0, True) and
                    operator.traits.drops_late)  # fmt: skip
    late = sum(one.kind is DropKind.LATE for one in behaviour.take_side())
    assert late == (60 if operator.traits.drops_late else 0)


@pytest.mark.parametrize("case", OWN)
def test_time_alone_gives_results_if_the_traits_say_so(case: str) -> None:
    found = built(case)
    if found is None:
        return
    operator, behaviour = found
    given: list[Row] = []
    for row in rows(2):
        for port in operator.inputs:
            behaviour.accept(port.port, row, row[0] * MICROSECOND)
        given += behaviour.advance(row[0])
    assert bool(given) == operator.traits.emits_on_time
    assert bool(behaviour.finish()) == operator.traits.emits_on_time


def test_traits_that_are_wrong_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Distinct, "traits", Traits(keeps_state=True, order_matters=True))
    with pytest.raises(AssertionError):
        test_a_late_tuple_is_dropped_if_the_traits_say_so("distinct")
    monkeypatch.setattr(Aggregate, "traits", Traits(keeps_state=True, drops_late=True))
    with pytest.raises(AssertionError):
        test_time_alone_gives_results_if_the_traits_say_so("tumbling windows")


@pytest.mark.parametrize("case", CASES)
def test_a_run_can_be_cut_anywhere(case: str) -> None:
    """State taken out as JSON and put into another engine changes no result."""
    query = query_of([case], "plain")
    plan, recording = compile_query(query), random_recording(random.Random(7), query, vehicles=1)
    arrivals = recording.arrivals(plan, "car0")
    whole, first, second = (Stepwise(plan) for _ in range(3))
    got: list[Any] = []
    for number, arrival in enumerate(arrivals):
        whole.take(arrival.time, arrival.source, arrival.row)
        first.take(arrival.time, arrival.source, arrival.row)
        got += first.take_results()
        if number % 3 == 0:
            second.restore(json.loads(json.dumps(first.snapshot())))
            first, second = second, first
    whole.finish()
    first.finish()
    assert repr(got + first.take_results()) == repr(whole.take_results())


def test_a_nodes_executable_runs_every_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It carries what each kind needs: nothing of Headway is found outside the archive."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    query = query_of(CASES, "plain")
    plan, recording = compile_query(query), random_recording(random.Random(24), query, vehicles=1)
    executables = build_executables(plan)
    write_build(plan, executables, tmp_path / "build")
    _write(recording, tmp_path / "recording")
    out = tmp_path / "out"
    with Launcher(
        build=tmp_path / "build", outputs=out, inputs=tmp_path / "recording", speed=1.0
    ) as launcher:
        launcher.start()
        (ended,) = launcher.wait(120.0).values()
    assert ended.code in (0, HARD_MISSED), ended.errors
    given = {path.stem for path in out.rglob("*.jsonl") if path.read_text(encoding="utf-8")}
    assert given >= {output for _, output, _ in meaning(plan, recording)}


def _write(recording: Recording, folder: Path) -> None:
    folder.mkdir()
    for name in ("s0", "s1", "s2"):
        with StreamWriter(folder / f"{name}.parquet", COLUMNS) as writer:
            for one in recording.of_source(name):
                writer.write(one.row, arrived_at=one.arrived_at)
