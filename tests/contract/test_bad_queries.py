"""A query that cannot run is refused with the same words, whichever way it is to go.

What an operator needs of its inputs is looked at by the compiler; what a user's code lacks by the
engine in the car, which Spark asks before it starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from tests.cli.running import headway

from headway.errors import QueryError
from headway.model.user_operator import OperatorContext, Row, UserOperator

BEGIN = 1_767_225_600_000_000
SURROUNDINGS = """
query: bad
sources:
  radar:
    schema: {{id: int, x: double, y: double, var_x: double, var_y: {var_y}}}
    rate: 10 per 1 s
operators:
  fused:
    fusion: "headway.fusion.{named}"
    inputs: {{{port}: radar}}
    {object}
    front: 1 s
    rear: 1 s
    schema: {{{schema}}}
    parameters: {{{parameters}}}
    most_outputs: 2
    cost: 100 us
outputs:
  out: {{from: fused, deadline: 600 ms}}
"""
GOOD = {
    "named": "surroundings:SurroundingsFusion",
    "port": "radar",
    "object": "object: id",
    "schema": "id: int, x: double, y: double",
    "parameters": "own_id: 1",
    "var_y": "double",
}
COMPILED: dict[str, tuple[dict[str, str], str]] = {
    "nothing says which vehicle is our own": (
        {"parameters": ""},
        "operators.fused.inputs: no input tells which vehicle is our own; add a boolean column",
    ),
    "no object": ({"object": ""}, "operators.fused.object: this operator needs to know which"),
    "an unknown parameter": (
        {"parameters": "own_id: 1, speling: 2"},
        "operators.fused.parameters.speling: unknown parameter",
    ),
    "a column of the wrong type": (
        {"var_y": "string"},
        "operators.fused.inputs.radar: column 'var_y' of input 'radar' has the wrong type",
    ),
    "an output that it cannot give": (
        {"schema": "id: int, colour: string"},
        "operators.fused.schema: a fusion operator has nothing to put into column 'colour'",
    ),
    "other inputs": (
        {"named": "own_vehicle:OwnVehicleFusion", "object": "", "parameters": ""},
        "operators.fused.inputs: this operator needs the inputs gps and speed",
    ),
    "no such class": (
        {"named": "surroundings:Surroundings"},
        "operators.fused.fusion: module 'headway.fusion.surroundings' has no",
    ),
}
BY_CODE: dict[str, tuple[str, str]] = {
    "no such module": (
        '{udo: "nowhere:Nothing", inputs: {speed: speed}, schema: {v: double}}',
        "operators.one.udo: module 'nowhere' cannot be imported",
    ),
    "a class that refuses": (
        '{udo: "tests.contract.test_bad_queries:Refusing", inputs: {speed: speed}, '
        "schema: {v: double}}",
        "operators.one.parameters: it wants more",
    ),
    "an optional part that the class does not have": (
        '{udo: "tests.contract.test_bad_queries:Plain", inputs: {speed: speed}, '
        "schema: {v: double}, cost: 1 ms, optional: {time: 3 ms, piece: 1 ms}}",
        "operators.one.optional: tests.contract.test_bad_queries:Plain has no optional part",
    ),
    "no such function": (
        '{map: {v: {python: "tests.contract.test_bad_queries:nothing", arguments: [v], '
        "returns: double}}, from: speed}",
        "'tests.contract.test_bad_queries:nothing': tests.contract.test_bad_queries has no",
    ),
}
UDO = """
query: bad
sources:
  speed: {{schema: {{v: double}}, rate: 10 per 1 s}}
operators:
  one: {operator}
outputs:
  out: {{from: one, deadline: 600 ms}}
"""
WAYS: dict[str, tuple[str, ...]] = {
    "vehicle": ("--engine", "vehicle"),
    "native": ("--engine", "native"),
    "spark batch": ("--engine", "spark", "--master", "local[1]"),
    "spark stream": ("--mode", "stream", "--available-now", "--master", "local[1]"),
}


def said_by(way: str, query: Path, folder: Path) -> str:
    recording = folder / "recording"
    recording.mkdir(exist_ok=True)
    (recording / "radar.csv").write_text(
        f"timestamp,id,x,y,var_x,var_y\n{BEGIN},1,1.0,2.0,1.0,1.0\n"
    )
    (recording / "speed.csv").write_text(f"timestamp,v\n{BEGIN},1.0\n")
    output = folder / "out"
    done = headway("run", query, "--input", recording, "--output", output, *WAYS[way])
    assert done.exit_code == 2, done.output
    assert not output.exists()
    return done.output


def refuse_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*given: object, **more: object) -> None:
        raise AssertionError("Spark was started for a query that cannot run")

    monkeypatch.setattr("headway.spark.session.spark_session.owned_session", started)


@pytest.mark.parametrize("case", COMPILED)
def test_the_compiler_says_it_for_all(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_spark(monkeypatch)
    given, wanted = COMPILED[case]
    query = tmp_path / "query.yaml"
    query.write_text(SURROUNDINGS.format(**{**GOOD, **given}))
    checked = headway("check", query)
    assert checked.exit_code == 2, checked.output
    assert wanted in checked.output
    assert str(query) in checked.output, "with its line"
    assert {said_by(way, query, tmp_path) for way in WAYS} == {checked.output}


def test_the_query_is_good_without_the_fault(tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    query.write_text(SURROUNDINGS.format(**GOOD))
    assert headway("check", query).exit_code == 0


@pytest.mark.parametrize("case", BY_CODE)
def test_the_engine_in_the_car_says_it_for_spark(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_spark(monkeypatch)
    operator, wanted = BY_CODE[case]
    query = tmp_path / "query.yaml"
    query.write_text(UDO.format(operator=operator))
    assert headway("check", query).exit_code == 0, "a query's own code is not imported by a check"
    said = {way: said_by(way, query, tmp_path) for way in WAYS if way != "native"}
    assert wanted in said["vehicle"]
    assert len(set(said.values())) == 1, said


class Refusing(UserOperator):
    """Wants parameters that nobody gives it."""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        raise QueryError("it wants more", at="parameters")

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        return ()


class Plain(UserOperator):
    """Has nothing to do besides."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        return ()
