"""From an exception to a message on standard error and an exit code: the same for every command."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import typer

from headway.cli.exit_codes import ExitCode
from headway.cli.screen import write_problem
from headway.errors import HeadwayError, InputError


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with every way it can fail turned into an exit code."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except InputError as error:
            for problem in error.problems:
                write_problem(str(problem))
            _leave(ExitCode.BAD_INPUT)
        except HeadwayError as error:
            write_problem(str(error))
            _leave(ExitCode.BAD_INPUT)
        except KeyboardInterrupt:
            _leave(ExitCode.INTERRUPTED)
        except BrokenPipeError:
            _stop_writing()
            _leave(ExitCode.NO_READER)
        except typer.Exit:
            raise
        except Exception as error:  # noqa: BLE001 - the last resort: says that it is our fault
            write_problem(f"headway: this is a bug in Headway, not in your files: {error!r}")
            sys.stderr.write(traceback.format_exc())
            _leave(ExitCode.BUG)

    return run


def _leave(code: ExitCode) -> NoReturn:
    raise typer.Exit(int(code))


def _stop_writing() -> None:
    """Keeps the interpreter from complaining when it flushes to nobody at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
