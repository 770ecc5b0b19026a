"""Starting: what is not imported, where commands come from, help that can be read.

No test here measures time. What makes a start slow is what it imports, and that can be asserted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES, ROOT, headway

from headway.cli import registry
from headway.cli.app import app
from headway.cli.registry import COMMANDS, FUNCTIONS, Command, first_sentence, plugin_commands
from headway.extensions import ExtensionFunctions

HEAVY = {"numpy", "scipy", "pyarrow", "pandas", "pyspark", "pydantic", "sqlglot", "rich", "yaml"}
HELLO = str(EXAMPLES / "hello" / "query.yaml")
WATCHED = """
import json, sys
sys.argv = {arguments!r}
try:
    {statement}
except SystemExit:
    pass
with open({found!r}, "w") as file:
    json.dump(sorted(sys.modules), file)
"""


def modules_after(statement: str, tmp_path: Path, *arguments: str) -> set[str]:
    """All that a fresh interpreter has imported."""
    found = tmp_path / "modules.json"
    program = WATCHED.format(
        statement=statement, arguments=["headway", *arguments], found=str(found)
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
    return set(json.loads(found.read_text(encoding="utf-8")))


MAIN = "from headway.cli import main; main()"


@pytest.mark.parametrize(
    ("statement", "arguments"),
    [
        ("import headway", ()),
        ("import headway; dir(headway)", ()),
        (MAIN, ("--version",)),
        (MAIN, ("--help",)),
        (MAIN, ()),
    ],
)
def test_a_start_imports_no_command_and_nothing_heavy(
    statement: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    found = modules_after(statement, tmp_path, *arguments)
    assert "headway" in found
    assert not found & HEAVY
    assert not [name for name in found if name.startswith("headway.cli.commands.")]


def test_checking_a_query_imports_no_numerics(tmp_path: Path) -> None:
    found = modules_after(MAIN, tmp_path, "check", HELLO)
    assert {"sqlglot", "pydantic", "headway.cli.commands.check"} <= found
    assert not found & {"numpy", "scipy", "pyarrow", "pandas", "pyspark"}
    other = {f"headway.cli.commands.{one.name}" for one in COMMANDS} - {
        "headway.cli.commands.check"
    }
    assert not found & other


def test_names_of_the_package_are_fetched_when_used(tmp_path: Path) -> None:
    found = modules_after("import headway; headway.InputError", tmp_path)
    assert "headway.errors" in found
    assert "headway.files.load_queries" not in found


def test_every_name_of_the_package_is_there() -> None:
    import headway as package

    for name in package.__all__:
        assert getattr(package, name) is not None, name
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="module 'headway' has no attribute 'nope'"):
        package.nope  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("module", ["headway", "headway.cli"])
def test_python_m(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("headway ")


# -------------------------------------------------------------------- help


@pytest.mark.parametrize("described", COMMANDS, ids=lambda one: one.name)
def test_a_command_has_its_summary_and_an_example(described: Command) -> None:
    assert first_sentence(FUNCTIONS[described.name].__doc__ or "") == described.summary
    long, short = headway(described.name, "--help"), headway(described.name, "-h")
    assert (long.code, long.out) == (0, short.out)
    assert "Example" in long.out
    assert f"headway {described.name}" in long.out


def test_summaries_are_whole_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = headway("-h")
    assert shown.out == headway("--help").out
    assert all(len(line) <= 80 for line in shown.out.partition("Options:")[2].splitlines())
    words = " ".join(shown.out.split())
    for described in COMMANDS:
        assert f"{described.name} {described.summary}" in words


def complete(typed: str) -> list[str]:
    """What bash is offered after these words."""
    environment = {
        **os.environ,
        "_HEADWAY_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split(" ")) - 1),
    }
    program = "from headway.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    return done.stdout.split()


def test_shells_complete_commands_and_options() -> None:
    assert complete("headway com") == ["compile", "compare"]
    assert complete("headway check --js") == ["--json"]
    assert "--show-completion" in headway("--help").out


# -------------------------------------------------------------------- commands of other packages

PLUGIN = '''
"""A package with commands for Headway."""

import typer

from headway.errors import InputError, Problem


def tyres(count: int = 4, wrong: bool = typer.Option(False, "--wrong")) -> None:
    """Count tyres. The rest of the help comes here.

    Example:
      headway tyres
    """
    if wrong:
        raise InputError(Problem("no tyres", at="tyres", got="0"))
    print(f"{count} tyres")


class Many:
    pass


value = 3
'''
ENTRIES = """[headway.commands]
tyres = tyre_plugin.commands:tyres
check = tyre_plugin.commands:tyres
broken = tyre_plugin.broken:broken
absent = tyre_plugin.commands:absent
value = tyre_plugin.commands:value
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed distribution, as pip would leave it."""
    package = tmp_path / "tyre_plugin"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "commands.py").write_text(PLUGIN, encoding="utf-8")
    (package / "broken.py").write_text(
        'import not_installed_anywhere\n\ndef broken() -> None:\n    """Never seen to work."""\n',
        encoding="utf-8",
    )
    info = tmp_path / "tyre_plugin-1.0.dist-info"
    info.mkdir()
    about = "Metadata-Version: 2.1\nName: tyre-plugin\nVersion: 1.0\nSummary: Tyres for Headway\n"
    (info / "METADATA").write_text(about, encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRIES, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "FUNCTIONS", functions({}))  # those of before are read once
    return tmp_path


def functions(own: dict[str, str]) -> ExtensionFunctions:
    return ExtensionFunctions(
        FUNCTIONS.group, own={**{one.name: one.place for one in COMMANDS}, **own}, what="command"
    )


def in_a_process(plugin: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(plugin), str(ROOT / "src")])
    return subprocess.run(
        [sys.executable, "-m", "headway", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "100"},
        check=False,
    )


def test_help_lists_commands_of_other_packages_without_importing_them(plugin: Path) -> None:
    found = {one.name: one.summary for one in plugin_commands() if one.package == "tyre-plugin"}
    assert found == {
        "absent": "Tyres for Headway",  # no docstring to be read: what the package says of itself
        "broken": "Never seen to work.",
        "tyres": "Count tyres.",
        "value": "Tyres for Headway",
    }
    assert not [name for name in sys.modules if name.startswith("tyre_plugin")]


def test_a_command_of_another_package_is_like_ours(plugin: Path) -> None:
    shown = in_a_process(plugin, "-h")
    assert shown.returncode == 0
    assert "  tyres              Count tyres.\n" in shown.stdout
    done = in_a_process(plugin, "tyres", "--count", "3")
    assert (done.returncode, done.stdout, done.stderr) == (0, "3 tyres\n", "")
    failed = in_a_process(plugin, "tyres", "--wrong")
    assert (failed.returncode, failed.stderr) == (2, "tyres: no tyres; got 0\n")
    assert "The rest of the help comes here." in in_a_process(plugin, "tyres", "-h").stdout


def test_ours_come_first(plugin: Path) -> None:
    assert "Check a query by itself" in in_a_process(plugin, "check", "-h").stdout


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "broken",
            "cannot be loaded: ModuleNotFoundError: No module named 'not_installed_anywhere'",
        ),
        (
            "absent",
            "cannot be loaded: AttributeError: module 'tyre_plugin.commands' has no attribute "
            "'absent'",
        ),
        ("value", "is no function; got 3"),
    ],
)
def test_a_command_that_cannot_be_loaded_is_named(plugin: Path, name: str, why: str) -> None:
    done = in_a_process(plugin, name)
    assert (done.returncode, done.stdout) == (2, "")
    assert f": the command {name!r} of the package tyre-plugin {why}; " in done.stderr
    assert done.stderr.endswith("correct or uninstall tyre-plugin, or choose another command\n")


def test_a_command_of_two_packages_is_nobodys(plugin: Path) -> None:
    info = plugin / "wheel_plugin-1.0.dist-info"
    info.mkdir()
    about = "Metadata-Version: 2.1\nName: wheel-plugin\nVersion: 1.0\n"
    (info / "METADATA").write_text(about, encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[headway.commands]\ntyres = wheels:tyres\n", encoding="utf-8"
    )
    (found,) = (one for one in plugin_commands() if one.name == "tyres")
    assert found.package == "tyre-plugin, wheel-plugin"
    done = in_a_process(plugin, "tyres")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "several packages declare the command 'tyres'; got tyre-plugin "
        "(tyre_plugin.commands:tyres), wheel-plugin (wheels:tyres); uninstall all but one of them\n"
    )


def test_a_bug_of_ours_is_not_blamed_on_the_user() -> None:
    with pytest.raises(ModuleNotFoundError):
        functions({"nope": "headway.cli.commands.nope:nope"})["nope"]


def test_a_slip_of_the_pen_gets_a_hint() -> None:
    assert "compile" in headway("compil").err
    assert app.info.name == "headway"
