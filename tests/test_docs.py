"""What the documentation shows works: Python is executed, queries are compiled, commands are run.

In README.md and docs/*.md, a fenced block of kind

- ``python`` is executed from the root of the project, those of a page one after the other with the
  same names;
- ``yaml`` belongs to a query; a block without ``query:`` goes on with the one before, and is a
  fragment where there is none: then it only has to be YAML. After ``<!-- vehicle -->`` it is a
  vehicle;
- ``sh`` is run by a shell, those of a page one after the other, in a folder of its own that has the
  examples; ``pip install`` is left out. After ``<!-- slow -->`` only with HEADWAY_SLOW;
- ``console`` holds commands after ``$``; each line below one must appear in what it prints;
- ``text`` is shown and not run: forms of commands, output, what needs a cluster; so are ``cpp``,
  ``toml`` and ``json``.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headway.compiler.passes import compile_query
from headway.files import parse_query, parse_vehicle
from headway.model.vehicle import Node, Vehicle
from headway.yaml_tree import parse_yaml
from tests.cli.invoke import headway

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"(?:^<!-- (\w+) -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SLOW = bool(os.environ.get("HEADWAY_SLOW"))


def blocks(page: Path, kind: str, mark: str = "") -> list[str]:
    """Those of a kind that bear the mark; slow ones are like others where slow tests run."""
    taken = {mark, "slow"} if SLOW and not mark else {mark}
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [text for marked, what, text in found if what == kind and marked in taken]


def cases(kind: str) -> list[tuple[Path, str]]:
    return [(page, text) for page in PAGES for text in blocks(page, kind)]


def pages_with(kind: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, kind)]


def queries() -> list[tuple[Path, str]]:
    found = []
    for page in PAGES:
        parts: list[str] = []
        for text in blocks(page, "yaml"):
            if re.search(r"^query:", text, re.MULTILINE):
                parts.append(text)
            elif parts:
                parts[-1] += text
            else:
                parse_yaml(text, str(page))
        found += [(page, text) for text in parts]
    return found


def name(value: object) -> str:
    return value.name if isinstance(value, Path) else ""


@pytest.mark.parametrize("page", pages_with("python"), ids=name)
def test_python_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "docs"}
    for text in blocks(page, "python"):
        exec(compile(text, str(page), "exec", dont_inherit=True), names)


@pytest.mark.parametrize("page", pages_with("sh"), ids=name)
def test_commands_of_a_shell_run(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    lines = "\n".join(blocks(page, "sh")).splitlines()
    program = "\n".join(line for line in lines if not line.startswith("pip install"))
    command = f'headway() {{ "{sys.executable}" -m headway "$@"; }}\nset -e\n{program}'
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{page.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


@pytest.mark.parametrize(
    "text", [text for page in PAGES for text in blocks(page, "yaml", "vehicle")]
)
def test_vehicles_are_read(text: str) -> None:
    assert parse_vehicle(text, "docs").vehicle.nodes


@pytest.mark.parametrize(("page", "text"), queries(), ids=name)
def test_queries_compile(page: Path, text: str) -> None:
    query = parse_query(text, str(page)).query
    plan = compile_query(query, Vehicle(name="one", nodes=(Node(name="ecu"),)))
    assert plan.verdict is not None


@pytest.mark.parametrize(("page", "text"), cases("console"), ids=name)
def test_commands_print_what_is_shown(
    page: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    printed = ""
    for line in text.splitlines():
        if line.startswith("$ headway "):
            outcome = headway(*shlex.split(line)[2:])
            assert outcome.code in (0, 1), outcome.err
            printed = outcome.out + outcome.err
        elif line.strip():
            assert line in printed, f"{page.name}: {line}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_says_of_which_kind_it_is(page: Path) -> None:
    """So that none escapes the tests above unseen."""
    kinds = {what for _, what, _ in FENCE.findall(page.read_text(encoding="utf-8"))}
    assert kinds <= {"python", "yaml", "sh", "console", "text", "cpp", "toml", "json"}


def test_pictures_of_concepts_are_what_their_program_draws() -> None:
    spec = importlib.util.spec_from_file_location(
        "draw_concepts", ROOT / "docs" / "site" / "draw_concepts.py"
    )
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    for picture, draw in program.PICTURES.items():
        drawn = ROOT / "docs" / "img" / f"concept-{picture}.svg"
        assert draw().svg() == drawn.read_text(encoding="utf-8"), f"run {program.__file__}"


def test_the_readme_shows_the_example_file() -> None:
    (shown,) = [text for page, text in cases("yaml") if page.name == "README.md"]
    written = (ROOT / "examples" / "hello" / "query.yaml").read_text(encoding="utf-8")
    assert shown in written


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name)
def test_links_and_named_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    named = re.findall(r"`((?:docs|examples|benchmarks|tests|src)/[\w./-]*\w)`", text)
    for target in links:
        assert (page.parent / target).exists(), target
    for target in named:
        assert (ROOT / target).exists(), target
