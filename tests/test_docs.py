"""What the documentation shows works: Python is executed, queries are compiled, commands are run.

In README.md and docs/*.md, a fenced block of kind

- ``python`` is executed from the root of the project; without an import it is a fragment, and only
  has to be Python;
- ``yaml`` belongs to a query; a block without ``query:`` goes on with the one before, and is a
  fragment where there is none: then it only has to be YAML;
- ``console`` holds commands after ``$``; each line below one must appear in what it prints.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from headway.compiler.passes import compile_query
from headway.files import parse_query
from headway.model.vehicle import Node, Vehicle
from headway.yaml_tree import parse_yaml
from tests.cli.invoke import headway

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path, kind: str) -> list[str]:
    return [
        text for found, text in FENCE.findall(page.read_text(encoding="utf-8")) if found == kind
    ]


def cases(kind: str) -> list[tuple[Path, str]]:
    return [(page, text) for page in PAGES for text in blocks(page, kind)]


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


@pytest.mark.parametrize(("page", "text"), cases("python"), ids=name)
def test_python_runs(page: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    program = compile(text, str(page), "exec", dont_inherit=True)
    if re.search(r"^(import|from) ", text, re.MULTILINE):
        exec(program, {"__name__": "docs"})


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
