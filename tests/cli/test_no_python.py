"""``--no-python``: a query that names code is refused, and nothing of it is imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.running import EXAMPLES, HELLO, headway, steady, write_speeds

HEAD = """
query: q
sources:
  s: {schema: {v: double}, rate: 1 per 10 ms}
"""
TAIL = "outputs:\n  o: {from: m, deadline: 1 s}\n"
FUNCTION = "{python: trap:f, arguments: [v], returns: double}"
CODE = {
    "an expression": (
        HEAD + f"operators:\n  m: {{map: {{v: {FUNCTION}}}, from: s, cost: 1 us}}\n" + TAIL,
        "operators.m",
    ),
    "an operator": (
        HEAD
        + 'operators:\n  m: {udo: "trap:C", inputs: {x: s}, schema: {v: double}, cost: 1 us}\n'
        + TAIL,
        "operators.m",
    ),
    "a load shedder": (
        HEAD.replace("ms}", f"ms, shed: {{at_most: 1 per 100 ms, value: {FUNCTION}}}}}")
        + "operators:\n  m: {filter: v > 1, from: s, cost: 1 us}\n"
        + TAIL,
        "sources.s",
    ),
    "a component": (
        HEAD
        + "components:\n  c:\n    inputs: {x: {v: double}}\n    operators:\n"
        + f"      k: {{map: {{v: {FUNCTION}}}, from: x, cost: 1 us}}\n    outputs: {{y: k}}\n"
        + "operators:\n  m: {component: c, inputs: {x: s}}\n"
        + TAIL.replace("from: m", "from: m.y"),
        "components.c.operators.k",
    ),
}
TRAP = "from pathlib import Path\nPath(__file__).with_name('sprung').touch()\n"


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module that leaves a file when it is imported."""
    (tmp_path / "trap.py").write_text(TRAP + "def f(v: float) -> float:\n    return v\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "sprung"
    sys.modules.pop("trap", None)


def commands(query: Path, folder: Path) -> list[list[str | Path]]:
    recording = write_speeds(folder / "in", steady(1))
    run: list[str | Path] = ["run", query, "--input", recording, "--output", folder / "out"]
    checked: list[list[str | Path]] = [["check", query], ["compile", query]]
    return [
        *(checked if query.suffix == ".yaml" else []),
        ["build", query, "--out", folder / "nodes"],
        [*run, "--engine", "vehicle"],
        run,
    ]


@pytest.mark.parametrize("case", CODE)
def test_code_is_refused_and_not_imported(case: str, trap: Path, tmp_path: Path) -> None:
    text, at = CODE[case]
    query = tmp_path / "query.yaml"
    query.write_text(text)
    for command in commands(query, tmp_path):
        done = headway(*command, "--no-python")
        assert done.exit_code == 2, done.output
        assert done.stderr.startswith(f"{query}:"), done.stderr
        assert f": {at}: the query names Python code; got trap:" in done.stderr
        assert not (tmp_path / "out").exists()
        assert not trap.exists(), command


def test_code_in_a_plan(trap: Path, tmp_path: Path) -> None:
    query, plan = tmp_path / "query.yaml", tmp_path / "plan" / "plan.json"
    query.write_text(CODE["an expression"][0])
    assert headway("compile", query, "--out", plan.parent).exit_code == 0
    for command in commands(plan, tmp_path):
        done = headway(*command, "--no-python")
        assert done.exit_code == 2, done.output
        told = f"{plan}: operators.m: the query names Python code; got trap:f"
        assert done.stderr.startswith(told), done.stderr
    assert not trap.exists()


def test_the_trap_springs(trap: Path, tmp_path: Path) -> None:
    """Without the option the code runs: the tests above would see it."""
    query = tmp_path / "query.yaml"
    query.write_text(
        CODE["an expression"][0].replace("  s:", "  speed:").replace("from: s", "from: speed")
    )
    recording = write_speeds(tmp_path / "in", steady(1))
    options = ("--engine", "vehicle", "--input", recording, "--output", tmp_path / "out")
    assert headway("run", query, *options).exit_code == 0
    assert trap.exists()


@pytest.mark.parametrize("query", [HELLO, EXAMPLES / "collision_warning" / "query.yaml"])
def test_what_is_no_code_is_not_refused(query: Path) -> None:
    """Headway's own fusion is named by a query, and is not the query's."""
    done = headway("check", query, "--no-python")
    assert done.exit_code == 0, done.output
