"""What only a real process shows: pipes, interrupts, colours, bugs."""

from __future__ import annotations

import importlib
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES, STUDY, headway
from tests.waiting import PATIENCE_S

from headway.errors import EnvironmentMissing

check_command = importlib.import_module("headway.cli.commands.check")
COMMAND = [sys.executable, "-m", "headway.cli"]
STUDY_ARGUMENTS = [
    "compile", str(STUDY / "query.yaml"), "--vehicle", str(STUDY / "vehicle.yaml"), "--no-advice",
]  # fmt: skip
CLEAN = {
    name: value
    for name, value in os.environ.items()
    if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE")
}


def test_a_reader_that_leaves_is_no_error() -> None:
    """The plan is longer than a pipe holds, and nobody reads it."""
    process = subprocess.Popen(
        [*COMMAND, *STUDY_ARGUMENTS, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), errors) == (141, b"")


def test_an_interrupt_is_quiet(tmp_path: Path) -> None:
    """Ctrl-C while it reads its query from a pipe that never ends."""
    script = (
        "import importlib, signal, sys\n"
        "c = importlib.import_module('headway.cli.commands.check')\n"
        "c.load_query = lambda path: (print('in', flush=True), signal.pause())\n"
        "from headway.cli import main\n"
        f"sys.argv = ['headway', 'check', {str(EXAMPLES / 'hello' / 'query.yaml')!r}]\n"
        "main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"in\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (130, b"")


def on_a_terminal(
    arguments: list[str], environment: dict[str, str], *, errors: bool = False
) -> bytes:
    """What the command writes when standard output (or standard error) is a terminal."""
    own, its = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE if errors else its,
        stderr=its if errors else subprocess.PIPE,
        env=environment,
    )
    os.close(its)
    found = b""
    while True:
        try:
            part = os.read(own, 65536)
        except OSError:  # the terminal has closed
            break
        if not part:
            break
        found += part
    os.close(own)
    process.communicate(timeout=PATIENCE_S)
    return found


def test_colours_on_a_terminal_only() -> None:
    arguments = ["check", str(EXAMPLES / "hello" / "query.yaml")]
    terminal = {**CLEAN, "TERM": "xterm-256color"}
    assert b"\x1b[" in on_a_terminal(arguments, terminal)
    assert b"\x1b[32m" not in on_a_terminal(arguments, {**terminal, "NO_COLOR": "1"})
    piped = subprocess.run([*COMMAND, *arguments], capture_output=True, env=terminal, check=True)
    assert b"\x1b" not in piped.stdout


def test_progress_of_studies_on_a_terminal_only(tmp_path: Path) -> None:
    study = ["reproduce", "aedsms-example", "--plain", "--quick"]
    arguments = [*study, "--out", str(tmp_path / "one")]
    terminal = {**CLEAN, "TERM": "xterm-256color", "COLUMNS": "100"}
    shown = on_a_terminal(arguments, terminal, errors=True)
    assert b"4/4 cells, aedsms-example" in shown
    piped = subprocess.run(
        [*COMMAND, *arguments[:-1], str(tmp_path / "two")],
        capture_output=True,
        env=terminal,
        check=True,
    )
    assert piped.stderr == b""


def test_an_old_terminal_gets_question_marks() -> None:
    environment = {**CLEAN, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*COMMAND, *STUDY_ARGUMENTS], capture_output=True, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"? 2 of 3 deadlines cannot be promised." in done.stdout


def test_a_bug_is_called_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(check_command, "load_query", fail)
    outcome = headway("check", "any.yaml")
    assert (outcome.code, outcome.out) == (70, "")
    assert outcome.err.startswith(
        "headway: this is a bug in Headway, not in your files: ZeroDivisionError('by zero')\n"
        "Traceback"
    )


def test_what_the_machine_lacks_is_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise EnvironmentMissing("no Java was found; install one")

    monkeypatch.setattr(check_command, "load_query", fail)
    outcome = headway("check", "any.yaml")
    assert (outcome.code, outcome.err) == (2, "no Java was found; install one\n")


@pytest.mark.parametrize(
    "arguments", [["nope"], ["compile"], ["check", "a", "b"], ["check", "--x"]]
)
def test_wrong_usage_is_bad_input(arguments: list[str]) -> None:
    outcome = headway(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Error: " in outcome.err
    assert "Traceback" not in outcome.err


def test_every_command_teaches_by_example() -> None:
    commands = headway("--help")
    assert commands.code == 0
    for command in ("compile", "check", "schema"):
        assert f"\n  {command} " in commands.out
        help_text = headway(command, "--help")
        assert help_text.code == 0
        assert f"Example:\n    headway {command} " in help_text.out


def test_the_version() -> None:
    outcome = headway("--version")
    assert outcome.code == 0
    assert outcome.out.startswith("headway ")
