"""The typer application: all commands, each loaded when it is used, and what stands above them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from headway.cli.registry import COMMANDS, FUNCTIONS, Command, plugin_commands
from headway.cli.terminal import ExitCode, guard, guarded, problem_data, write, write_json
from headway.errors import Problem

# Plain help and errors: one line a problem, and the same in a terminal and in a log.
PLAIN: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False}


class UnloadedCommand(TyperCommand):
    """Stands for a command in lists; parsing its arguments loads it.

    Which click the contexts are of, typer's own or another, depends on typer's version: hence
    ``Any``."""

    def __init__(self, described: Command) -> None:
        super().__init__(described.name, short_help=described.summary, rich_markup_mode=None)
        self.described = described

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """The loaded command's: from here on nothing sees this one any more."""
        with guard(), _without_collecting():
            function = FUNCTIONS[self.described.name]
        alone = typer.Typer(add_completion=False, **PLAIN)
        alone.command(name=self.described.name)(guarded(function))
        loaded: Any = typer.main.get_command(alone)
        with _usage_as_json(wanted="--json" in args):
            return loaded.make_context(info_name, args, parent=parent, **extra)


class CommandGroup(TyperGroup):
    """Headway's own commands; those of other packages are looked for where one is missing, and
    where all are listed."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._complete = False
        for described in COMMANDS:
            self.add_command(UnloadedCommand(described))

    def list_commands(self, ctx: Any) -> list[str]:
        self._add_plugins()
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._add_plugins()
        return self.commands.get(cmd_name)

    def _add_plugins(self) -> None:
        if not self._complete:
            self._complete = True
            for described in plugin_commands():
                self.add_command(UnloadedCommand(described))


@contextmanager
def _usage_as_json(*, wanted: bool) -> Iterator[None]:
    """What is wrong with the command line itself, for programs, too; its text goes where it goes
    for people."""
    try:
        yield
    except Exception as error:
        message = getattr(error, "format_message", None)  # of the click that typer goes with
        if wanted and message is not None:
            write_json({"ok": False, "problems": [problem_data(Problem(message()))]})
        raise


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Imports make many objects and no garbage: looking for some takes a tenth of their time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


app = typer.Typer(
    name="headway",
    cls=CommandGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    **PLAIN,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

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
      headway new brake_watch
      cd brake_watch
      headway check query.yaml
      headway compile query.yaml --vehicle vehicle.yaml --out build
      headway run query.yaml --engine vehicle --vehicle vehicle.yaml --input recording --output out

    The help of each command has an example; their files come with

    \b
      headway examples examples

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
