"""Runs the command line inside the test's own process."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from headway.cli import app

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
STUDY = EXAMPLES / "collision_warning"

PROBLEM_LINE = re.compile(
    r"(?P<file>[^\n]+?):(?P<line>[1-9]\d*):(?P<column>[1-9]\d*): (?P<rest>.+)"
)
"""file:line:column: what is wrong"""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def problems(self) -> list[re.Match[str]]:
        """The lines on standard error, each of which must tell its place."""
        lines = [line for line in self.err.split("\n") if line and not line.startswith("note: ")]
        found = [PROBLEM_LINE.fullmatch(line) for line in lines]
        assert None not in found, self.err
        return [match for match in found if match is not None]


def headway(*arguments: str | Path) -> Outcome:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)
