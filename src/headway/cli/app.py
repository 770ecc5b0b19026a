"""The typer application: all commands, each guarded, and what stands above them."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from headway.cli.commands import commands
from headway.cli.exit_codes import ExitCode
from headway.cli.failures import guarded
from headway.cli.screen import write

# Plain help and errors: one line a problem, and the same in a terminal and in a log.
app = typer.Typer(
    name="headway",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _name, _command in commands().items():
    app.command(name=_name)(guarded(_command))


def _show_version(wanted: bool) -> None:
    if wanted:
        write(f"headway {version('headway')}\n")
        raise typer.Exit


@app.callback()
def _headway(
    _version: Annotated[
        bool,
        typer.Option("--version", help="print the version", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Headway: data stream queries for vehicles, with end-to-end deadlines.

    \b
    Start here:
      headway check examples/hello/query.yaml
      headway compile examples/hello/query.yaml --vehicle examples/hello/vehicle.yaml
      headway run examples/hello/query.yaml --input examples/hello/recording --output build/hello

    Exit codes: 0 fine, 1 a deadline cannot be promised or was missed, 2 bad input.
    """


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that knows no '✓' gets a '?'
    try:
        app(prog_name="headway")
    except KeyboardInterrupt:
        sys.exit(int(ExitCode.INTERRUPTED))
