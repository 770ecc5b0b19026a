"""Mutants of a small project: which are killed, which survive, and that its files stay as they are.

The run is the real one, in a process of its own: it forks, and pytest must not be loaded before.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mutation.mutants import Mutant
from tests.mutation.reach import Reach, WatchedTest, values_in
from tests.mutation.telling import table
from tests.mutation.trying import Tried, Verdict, chosen, stages_of

ROOT = Path(__file__).parents[2]

MODULE = """\
SEVEN = 7
def ratio(misses, jobs):
    return misses / jobs if jobs else 0.0


def countdown(start):
    while start:
        start //= 2
    return SEVEN


def unseen(first, second):
    return first + second
"""
TESTS = """
from headway.small import countdown, ratio


def test_ratio():
    assert ratio(1, 4) == 0.25


def test_weakly():
    assert ratio(0, 0) is not None


def test_countdown():
    assert countdown(1) == 7
"""
PROGRAM = """
import sys
from pathlib import Path

import tests.mutation.__main__ as program
import tests.mutation.forked
import tests.mutation.modules

tests.mutation.forked.PRELOADED = ()
program.ROOT = Path(sys.argv[1])
tests.mutation.modules.SUBJECTS = {"small": ("src/headway/small.py",)}
sys.exit(program.main(sys.argv[2:]))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "src/headway/__init__.py": "",
        "src/headway/small.py": MODULE,
        "studies/src/headway_studies/__init__.py": "",
        "tests/test_small.py": TESTS,
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = ['--import-mode=importlib']\n",
        ".gitignore": "build/\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(project), "--tests", "tests", "--grace", "2", *options],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )


def files_of(project: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(project)): path.read_bytes()
        for path in project.rglob("*")
        if path.is_file() and ".git/" not in str(path) and "build/" not in str(path)
    }


def test_a_small_project(project: Path) -> None:
    before = files_of(project)
    results = project.parent / "results.json"
    told = run(project, "--count", "100", "--results", str(results))
    assert files_of(project) == before
    found = json.loads(results.read_text())
    fates = {(one["line"], one["kind"], one["after"]): one for one in found["tried"]}
    assert fates[3, "arithmetic", " * "]["verdict"] == "killed"
    assert fates[3, "arithmetic", " * "]["by"] == "tests/test_small.py::test_ratio"
    assert fates[3, "condition true", "True"]["by"] == "tests/test_small.py::test_weakly"
    assert fates[8, "statement gone", "pass"]["verdict"] == "killed by its time"
    assert fates[1, "number", "8"]["by"] == "tests/test_small.py::test_countdown"
    assert fates[13, "arithmetic", " - "]["verdict"] == "survived"
    assert found["killed"] + found["survived"] == found["mutants"] == len(fates)
    assert "-    return first + second\n+    return first - second\n" in told.stdout
    assert told.stdout.splitlines()[-1].startswith("all ")


def test_a_test_that_fails_anyway(project: Path) -> None:
    """It kills nothing."""
    (project / "tests/test_small.py").write_text(TESTS.replace("== 0.25", "== 4"))
    told = run(project, "--count", "1", "--json")
    assert "only the tests that passed are taken" in told.stderr
    (one,) = json.loads(told.stdout)["tried"]
    assert one["by"] != "tests/test_small.py::test_ratio"

    # What the tests reach is known by now; a changed file of tests is watched again.
    assert "to be watched" not in run(project, "--count", "0").stderr
    (project / "tests/test_small.py").write_text(TESTS)
    assert "1 of 1 files of tests are to be watched" in run(project, "--count", "0").stderr


def watched(name: str, seconds: float, *functions: str, values: int = 0) -> WatchedTest:
    return WatchedTest(name, seconds, frozenset(functions), values)


def mutant(within: str) -> Mutant:
    return Mutant(path="m.py", within=within, line=1, kind="k", start=0, before="a", after="b")


def test_which_tests_come_first() -> None:
    """Those that enter the function, one of each file in turn, the quickest first; then the others
    of these files. For what runs on import, those of the module."""

    reach = Reach(
        (
            watched("a.py::slow", 3, "m.py::f"),
            watched("a.py::quick", 1, "m.py::f"),
            watched("a.py::other", 1, "m.py::g"),
            watched("b.py::inner", 2, "m.py::f.<locals>.<lambda>"),
            watched("c.py::far", 1, "n.py::f"),
        )
    )
    names = [one.name for one in reach.tests_for(mutant("f"))]
    assert names == ["a.py::quick", "b.py::inner", "a.py::slow", "a.py::other"]
    on_import = {one.name for one in reach.tests_for(mutant(""))}
    assert on_import == {"a.py::quick", "b.py::inner", "a.py::slow", "a.py::other"}
    assert {one.name for one in reach.tests_for(mutant("new"))} == on_import


def test_who_looks_at_values_comes_first() -> None:
    """By the time for each value; a second case of a test comes after the other tests of its file,
    and of each file one comes before the second of any."""
    reach = Reach(
        (
            watched("a.py::cases[1]", 1, "m.py::f", values=9),
            watched("a.py::cases[2]", 2, "m.py::f", values=9),
            watched("a.py::vague", 0.5, "m.py::f"),
            watched("b.py::exact", 2, "m.py::f", values=3),
            watched("b.py::slow", 4, "m.py::f", values=3),
        )
    )
    names = [one.name for one in reach.tests_for(mutant("f"))]
    assert names == ["a.py::cases[1]", "b.py::exact", "a.py::vague", "b.py::slow", "a.py::cases[2]"]


def test_what_counts_as_a_value() -> None:
    source = """
def helper():
    assert 1 == 1

class TestIt:
    def test_two(self):
        assert found == 3
        assert 1 < 2
        with pytest.raises(ValueError, match="no such"):
            pass

def test_none():
    assert found is not None

def test_inner():
    assert all(one == 2 for one in found)
"""
    assert values_in(source) == {"test_two": 2, "test_none": 0, "test_inner": 1}


def test_as_many_as_the_limit_allows() -> None:
    """Those that are quick first; if all are slow, these."""

    def given(*seconds: float) -> tuple[list[float], list[float]]:
        tests = [WatchedTest(f"a.py::{n}", one, frozenset()) for n, one in enumerate(seconds)]
        quick, slow = chosen(tests, 8)
        return [one.seconds for one in quick], [one.seconds for one in slow]

    assert given(4, 1.5, 9, 0.5) == ([1.5, 0.5], [4])
    assert given(4, 5, 3) == ([4, 3], [])
    assert given(9) == ([], [])


def test_what_is_run_one_after_the_other() -> None:
    """All of it in a fork of those that are collected, then the cheapest of it afresh; or, where
    what runs on import has changed, afresh and the quick ones first."""
    tests = [WatchedTest(f"a.py::{n}", one, frozenset()) for n, one in enumerate((4, 1.5, 9, 0.5))]

    def seconds(collected: bool) -> list[tuple[bool, list[float]]]:
        stages = stages_of(tests, 8, collected=collected)
        return [(fresh, [one.seconds for one in given]) for fresh, given in stages]

    assert seconds(True) == [(False, [1.5, 0.5, 4]), (True, [1.5, 0.5])]
    assert seconds(False) == [(True, [1.5, 0.5]), (True, [4])]
    assert stages_of([], 8, collected=True) == []


def test_the_table() -> None:
    tried = [Tried(mutant("f"), Verdict.KILLED, "a.py::t", 1), Tried(mutant("g"), Verdict.SURVIVED)]
    lines = table(tried, {"m.py": "orders"}).splitlines()
    assert lines[1].split() == ["orders", "2", "1", "0", "1", "50.0", "%"]
    assert lines[2].split() == ["all", "2", "1", "0", "1", "50.0", "%"]
