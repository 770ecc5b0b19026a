"""The commands, one file each. A new one is a file here and a line in ``COMMANDS``; another package
brings its own by an entry point of the group ``headway.commands``."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

from headway.cli.commands.build import build
from headway.cli.commands.check import check
from headway.cli.commands.compare import compare
from headway.cli.commands.compile import compile_
from headway.cli.commands.drive import drive
from headway.cli.commands.fleet import fleet
from headway.cli.commands.loadtest import loadtest
from headway.cli.commands.policies import policies
from headway.cli.commands.run import run
from headway.cli.commands.schedule import schedule
from headway.cli.commands.schema import schema
from headway.cli.commands.spark_submit_args import spark_submit_args

COMMANDS: dict[str, Callable[..., None]] = {
    "compile": compile_,
    "check": check,
    "run": run,
    "drive": drive,
    "fleet": fleet,
    "compare": compare,
    "spark-submit-args": spark_submit_args,
    "build": build,
    "schedule": schedule,
    "loadtest": loadtest,
    "policies": policies,
    "schema": schema,
}
"""What is typed -> the function behind it, in the order of the help text."""
ENTRY_POINTS = "headway.commands"


def commands() -> dict[str, Callable[..., None]]:
    """Ours, and behind them those of other packages; ours keep their names."""
    brought = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    return COMMANDS | {
        name: entry.load() for name, entry in brought.items() if name not in COMMANDS
    }
