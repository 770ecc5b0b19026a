"""Wrong files are refused with exit code 2 and the exact place; nothing else is printed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES, STUDY, Outcome, headway


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A copy of the study to spoil."""
    for path in STUDY.glob("*.yaml"):
        shutil.copy(path, tmp_path)
    return tmp_path


def spoil(path: Path, old: str, new: str) -> tuple[int, int]:
    """Replaces a text that occurs once; the line and column where it stood."""
    text = path.read_text()
    assert text.count(old) == 1, old
    index = text.index(old)
    path.write_text(text.replace(old, new))
    return text.count("\n", 0, index) + 1, index - (text.rfind("\n", 0, index) + 1) + 1


def compiled(folder: Path) -> Outcome:
    outcome = headway("compile", folder / "query.yaml", "--vehicle", folder / "vehicle.yaml")
    assert (outcome.code, outcome.out) == (2, "")
    return outcome


EXPRESSIONS = [
    # file, text, replacement, what stands at the place told, the message
    (
        "query.yaml",
        "filter: NOT own",
        "filter: NOT owned",
        "owned",
        "operators.filter2.filter: unknown column 'owned'; did you mean 'own'?",
    ),
    (
        "query.yaml",
        "filter: NOT own",
        "filter: x > sensor",
        "sensor",
        "operators.filter2.filter: '>' mixes float and string; make the types agree with CAST",
    ),
    (
        "query.yaml",
        "filter: NOT own",
        "filter: own AND max(x) > 1",
        "max",
        "operators.filter2.filter: the aggregate max is not allowed here; aggregates belong in the "
        "columns of an aggregate operator",
    ),
    (
        "query.yaml",
        "filter: NOT own",
        "filter: x + y",
        "x + y",
        "operators.filter2.filter: the expression must be boolean; got float",
    ),
    (
        "query.yaml",
        'value: "-distance"',
        'value: "-range"',
        "range",
        None,
    ),
    (
        "components.yaml",
        "x: x + dx",
        "x: x + ddx",
        "ddx",
        None,
    ),
    (
        "components.yaml",
        "THEN (dx * dx + dy * dy) / -(dx * dvx + dy * dvy)",
        "THEN (dx * dx + dy * dy) / -(dx * dvx + dy * speed)",
        "speed",
        None,
    ),
    (
        "components.yaml",
        "id: radar.id",
        "id: rader.id",
        "rader.id",
        None,
    ),
]


@pytest.mark.parametrize(("file", "old", "new", "there", "message"), EXPRESSIONS)
def test_a_wrong_expression_is_refused_at_its_place(
    study: Path, file: str, old: str, new: str, there: str, message: str | None
) -> None:
    spoil(study / file, old, new)
    outcome = compiled(study)
    (problem,) = outcome.problems
    assert problem["file"] == str(study / file)
    line = (study / file).read_text().split("\n")[int(problem["line"]) - 1]
    assert line[int(problem["column"]) - 1 :].startswith(there), outcome.err
    if message is not None:
        assert problem["rest"] == message
    alone = headway("check", study / "query.yaml")
    assert (alone.code, alone.err) == (2, outcome.err)


PLACES = [
    # file, text, replacement, the text at the place told, the rest of the line
    (
        "query.yaml",
        "deadline: 30 ms, ",
        "deadline: none, ",
        "output1",
        "outputs.output1: the output has no deadline; add 'deadline: 300 ms', say",
    ),
    (
        "query.yaml",
        "inputs: {board: union1, v2v: v2v}",
        "inputs: {board: union2, v2v: v2v}",
        "union2",
        "operators.sdfo2.inputs.board: unknown stream 'union2'; did you mean 'union1'?",
    ),
    (
        "query.yaml",
        "rate: 8 per 100 ms, ",
        "",
        "radar",
        "sources.radar: the source has no rate; add its worst case, such as 'rate: 10 per 1 s'",
    ),
    (
        "components.yaml",
        "        cost: 1.84 ms       # measured",
        "        # measured",
        "sdfo1",
        "components.spc_a.operators.sdfo1: the operator has no cost; add its computation time: "
        "'cost: 100 us'",
    ),
    (
        "vehicle.yaml",
        "radar: node2",
        "radar: node22",
        "node22",
        "sensors.radar: no node 'node22'; did you mean 'node2'? known: node1, node2, node3",
    ),
    (
        "vehicle.yaml",
        "node3: {rate: 1,",
        "node3: {rate: 0.005,",
        "node3",
        None,
    ),
    (
        "vehicle.yaml",
        "  radar: node2\n",
        "",
        "sensors",
        "sensors: no node is named for source radar; say where it enters, such as 'radar: node1'",
    ),
    (
        "vehicle.yaml",
        "gw: {buses: [bus1, bus2], delay: 500 us}",
        "gw: {buses: [bus1], delay: 500 us}",
        "gw",
        None,
    ),
    (
        "vehicle.yaml",
        "bus2: {kind: can, bit_rate: 1 Mbit/s,",
        "bus2: {kind: can, bit_rate: 1 kbit/s,",
        "bus2",
        None,
    ),
    (
        "vehicle.yaml",
        "gateways:\n  gw: {buses: [bus1, bus2], delay: 500 us}",
        "",
        "map3",
        None,
    ),
]


@pytest.mark.parametrize(("file", "old", "new", "there", "message"), PLACES)
def test_other_problems_tell_their_place(
    study: Path, file: str, old: str, new: str, there: str, message: str | None
) -> None:
    spoil(study / file, old, new)
    outcome = compiled(study)
    lines = {
        Path(problem["file"])
        .read_text()
        .split("\n")[int(problem["line"]) - 1][int(problem["column"]) - 1 :]
        for problem in outcome.problems
    }
    assert any(line.startswith(there) for line in lines), outcome.err
    if message is not None:
        assert [problem["rest"] for problem in outcome.problems] == [message]


def test_a_missing_file() -> None:
    outcome = headway("compile", "no/such.yaml")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "no/such.yaml:1:1: there is no such file; check its path\n"


def test_examples_of_the_help_that_were_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    query = Path("examples", "hello", "query.yaml")
    missing = headway("check", query)
    assert missing.err == (
        "examples/hello/query.yaml:1:1: there is no such file; "
        "`headway examples examples` copies the examples to there\n"
    )
    assert headway("examples", "examples", "hello").code == 0
    assert headway("check", query).code == 0


def test_a_missing_vehicle() -> None:
    outcome = headway("compile", EXAMPLES / "hello/query.yaml", "--vehicle", "no/such.yaml")
    assert (outcome.code, outcome.err) == (
        2,
        "no/such.yaml:1:1: there is no such file; check its path\n",
    )


def test_a_missing_library(study: Path) -> None:
    (study / "components.yaml").unlink()
    (problem,) = compiled(study).problems
    assert problem["rest"].startswith("use: the library cannot be used: there is no such file")


def test_a_query_given_as_a_vehicle() -> None:
    query = EXAMPLES / "hello" / "query.yaml"
    outcome = headway("compile", query, "--vehicle", query)
    assert outcome.code == 2
    assert {problem["file"] for problem in outcome.problems} == {str(query)}


def test_what_a_file_says_cannot_steer_the_terminal(tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    text = (EXAMPLES / "hello" / "query.yaml").read_text()
    query.write_text(text.replace("from: kmh", 'from: "a\\e[31m\\nb"'))
    outcome = headway("check", query)
    assert outcome.code == 2
    assert "\x1b" not in outcome.err
    assert len(outcome.problems) == 1


@pytest.mark.parametrize("selectivity", [0.5, 1.0])
def test_a_query_with_more_ways_than_numbers_count(tmp_path: Path, selectivity: float) -> None:
    """Each stage doubles the tuples one arrival can cause: 2 to the power of 1,100 in the end."""
    lines = ["query: deep", "sources: {s: {schema: {v: int}, rate: 1 per 1 s}}", "operators:"]
    before = "s"
    for number in range(1_100):
        lines += [
            f"  {name}{number}: {{filter: v > 0, from: {before}, cost: 1 ns}}" for name in "ab"
        ]
        before = f"u{number}"
        union = f"[a{number}, b{number}]"
        lines.append(f"  {before}: {{union: {union}, cost: 1 ns, selectivity: {selectivity}}}")
    lines.append(f"outputs: {{o: {{from: {before}, deadline: 1 s}}}}")
    query = tmp_path / "query.yaml"
    query.write_text("\n".join(lines))
    outcome = headway("compile", query, "--vehicle", EXAMPLES / "hello" / "vehicle.yaml")
    assert outcome.code == (1 if selectivity == 0.5 else 2)
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--nope"], "No such option: --nope"),
        ([], "Missing option '--input'"),
        (["--input", "x", "--output", "y", "--most-waiting", "0"], "Invalid value"),
    ],
)
def test_a_wrong_command_line_is_json_where_that_is_asked_for(
    options: list[str], what: str
) -> None:
    told = headway("run", "query.yaml", *options, "--json")
    assert told.code == 2
    (problem,) = json.loads(told.out)["problems"]
    assert what in problem["what"]
    assert what in told.err
    assert headway("run", "query.yaml", *options).out == ""
