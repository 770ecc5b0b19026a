"""``examples/plugin``, installed: Headway finds what it adds, and the contract suite tests it
without being told of it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from headway.model.operator_kinds import KINDS
from headway.schedule.online import EVERY
from headway.sources.recordings import FORMATS

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "examples" / "plugin"
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that has the package in it, put there by pip and without a network."""
    target = tmp_path_factory.mktemp("site") / "packages"
    made = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--no-index", "--no-deps", "--no-build-isolation", "--target", target, PLUGIN],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return target


def python(installed: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Python in the project's folder, with the package."""
    paths = [str(installed), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )


def passed(installed: Path, *arguments: str | Path) -> list[str]:
    """The tests that pass; all that are chosen have to."""
    ran = python(installed, "-m", "pytest", "-q", "-rp", "-p", "no:cacheprovider", *arguments)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return re.findall(r"^PASSED (\S.*)$", ran.stdout, re.MULTILINE)


def test_without_it_nothing_knows_of_it() -> None:
    assert "shortest-first" not in EVERY.names
    assert "roslines" not in FORMATS.names
    assert "deadband" not in KINDS


def test_its_own_tests_pass(installed: Path) -> None:
    assert len(passed(installed, PLUGIN / "tests")) >= 9


def test_the_contract_suite_picks_it_up(installed: Path) -> None:
    """Its policy, its format, its operator: the suite runs once for the three."""
    files = ("contract/test_definition.py", "engine/test_determinism.py",
             "contract/test_formats.py", "contract/test_every_kind.py")  # fmt: skip
    names = ("shortest-first", "roslines", "deadband")
    chosen = (*(f"tests/{file}" for file in files), "-k", " or ".join(names))
    found = Counter(
        (name, file)
        for one in passed(installed, *chosen)
        for file in files
        for name in names
        if one.startswith(f"tests/{file}::") and name in one
    )
    assert all(found["shortest-first", file] for file in files[:2])
    assert sum(found["shortest-first", file] for file in files) >= 7
    assert found["roslines", "contract/test_formats.py"] == 3
    assert found["deadband", "contract/test_every_kind.py"] >= 6


def test_its_page_shows_what_happens(installed: Path, tmp_path: Path) -> None:
    """Lines below a command appear in what it prints."""
    (shown,) = CONSOLE.findall((PLUGIN / "README.md").read_text(encoding="utf-8"))
    printed = ""
    for line in shown.splitlines():
        if line.startswith("$ headway "):
            command = line.replace("build/plugin", str(tmp_path / "out"))
            ran = python(installed, "-m", "headway.cli", *shlex.split(command)[2:])
            assert ran.returncode == 0, ran.stderr
            printed = ran.stdout
        else:
            assert line in printed


@pytest.mark.spark
def test_both_engines_read_its_files(installed: Path) -> None:
    """Spark's tasks find the reader by the same entry point."""
    ran = python(
        installed, "-m", "headway.cli", "compare", "examples/hello/query.yaml",
        "--input", PLUGIN / "recording",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "75" in ran.stdout


def test_a_broken_package_is_named_and_harms_nobody(tmp_path: Path) -> None:
    info = tmp_path / "half_done-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: half-done\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[headway.policies]\nhalf = no_such_module:Half\ns-edf = no_such_module:Mine\n"
    )
    listed = python(tmp_path, "-m", "headway.cli", "policies")
    assert listed.returncode == 0
    assert "least-laxity" in listed.stdout
    told = " ".join(listed.stderr.split())
    assert "the policy 's-edf' is Headway's own; the entry of the package half-done" in told
    assert "the policy 'half' of the package half-done cannot be loaded: ModuleNotFound" in told
    run = ("run", "examples/hello/query.yaml", "--engine", "vehicle", "--input",
           "examples/hello/recording", "--output", tmp_path / "out", "--policy")  # fmt: skip
    assert python(tmp_path, "-m", "headway.cli", *run, "s-edf").returncode == 0
    refused = python(tmp_path, "-m", "headway.cli", *run, "half", "--force")
    assert refused.returncode == 2
    assert "correct or uninstall half-done, or choose another policy" in refused.stderr


def test_the_documentation_shows_its_files() -> None:
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```(?:python|toml)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    files = [*(PLUGIN / "src").rglob("*.py"), PLUGIN / "pyproject.toml"]
    written = [path.read_text(encoding="utf-8") for path in files]
    of_the_plugin = [text for text in shown if any(text.strip() in whole for whole in written)]
    assert len(of_the_plugin) == 4, "the entry points, the policy, the format, the operator"
