"""What all commands share: exit codes, messages, progress, files written, common options."""

from __future__ import annotations

import functools
import json as json_format
import os
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from headway.errors import HeadwayError, InputError, Problem
from headway.report.svg import plain
from headway.spark.storage.file_stores import Publishing

# Every command passes through here, `--help` too: what draws tables and bars is imported by the
# functions that do.
if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table as RichTable
    from rich.text import Text

    from headway.report.plan.plan_tables import Table


class ExitCode(IntEnum):
    FINE = 0
    NOT_PROMISED = 1
    """A deadline cannot be promised, or a hard one was missed in a run."""
    BAD_INPUT = 2
    """Something in a file or on the command line is wrong, or the machine lacks something."""
    BUG = 70
    """An error in Headway itself (EX_SOFTWARE of sysexits.h); no input may lead here."""
    INTERRUPTED = 130
    """Ctrl-C, as shells count it."""
    TERMINATED = 143
    """SIGTERM, where it was taken notice of: as shells count it."""
    NO_READER = 141
    """Whoever read the output has gone, as shells count it (``headway … | head``)."""


# ---------------------------------------------------------------- writing to the terminal
#
# What was asked for goes to standard output, what is wrong to standard error. Colours appear on a
# terminal only, and never where NO_COLOR is set.

WIDTH_OF_A_FILE = 200
"""Output that goes to a file or a pipe is not folded at a terminal's width."""

STYLES = {"✓": "green", "✗": "bold red"}
"""of what is kept and what is broken, by the signs that reports put before it"""


def write(text: str) -> None:
    """Writes to standard output, at once: a reader that has gone is noticed here."""
    sys.stdout.write(text)
    sys.stdout.flush()


def write_problem(text: str) -> None:
    """One line on standard error. What a file contains cannot steer the terminal."""
    sys.stderr.write(plain(" ".join(text.split("\n"))) + "\n")
    sys.stderr.flush()


def show(parts: Iterable[RenderableType]) -> None:
    """Tables and lines for people. A line that is a plain string (a path, a command, a piece of a
    file) can be copied: it is never folded."""
    from rich.console import Console

    folded = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = Console(
        width=None if folded else WIDTH_OF_A_FILE, markup=False, highlight=False, emoji=False
    )
    with console.capture() as captured:
        for part in parts:
            if isinstance(part, str):
                console.print(plain(part), soft_wrap=True)
            else:
                console.print(part)
    write("\n".join(line.rstrip() for line in captured.get().split("\n")))


def heading(text: str) -> Text:
    from rich.text import Text

    return Text(plain(text), style="bold")


def sentence(text: str) -> Text:
    """A line in the colour of the sign it begins with."""
    from rich.text import Text

    return Text(plain(text), style=STYLES.get(text[:1], ""))


PARAGRAPH = 80


def paragraph(text: str, first: str = "") -> Text:
    """Sentences in lines that fit a narrow terminal, after an empty line; ``first`` stands before
    them, and what follows is indented like it."""
    from rich.text import Text

    lines = textwrap.fill(
        plain(text),
        width=PARAGRAPH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return Text(f"\n{lines}")


def table(content: Table) -> RichTable:
    """A report's table as rich draws it."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        title=Text(plain(content.title), style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        header_style="dim",
        padding=(0, 1),
    )
    for position, header in enumerate(content.headers):
        right = position in content.numeric
        drawn.add_column(Text(plain(header)), justify="right" if right else "left")
    for row in content.rows:
        drawn.add_row(*(Text(plain(cell), style=STYLES.get(cell, "")) for cell in row))
    return drawn


# ---------------------------------------------------------------- from an exception to an exit code


@contextmanager
def guard(*, json: bool = False) -> Iterator[None]:
    """Every way in which a command can fail becomes a message and an exit code, the same for
    all. With ``json`` what is wrong is also printed as JSON, for programs."""
    try:
        yield
    except InputError as error:
        for problem in error.problems:
            write_problem(str(problem))
        if json:
            write_json({"ok": False, "problems": [problem_data(one) for one in error.problems]})
        _leave(ExitCode.BAD_INPUT)
    except HeadwayError as error:
        write_problem(str(error))
        if json:
            write_json({"ok": False, "problems": [problem_data(Problem(str(error)))]})
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


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The command inside :func:`guard`."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        with guard(json=options.get("json") is True):
            command(*arguments, **options)

    return run


def problem_data(problem: Problem) -> dict[str, str | int | None]:
    """What a message says, field by field."""
    place = problem.place
    return {
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "at": problem.at,
        "what": problem.what,
        "got": problem.got,
        "want": problem.want,
    }


def write_json(value: Mapping[str, Any]) -> None:
    """On standard output."""
    write(json_format.dumps(value, indent=1, ensure_ascii=False) + "\n")


def _leave(code: ExitCode) -> NoReturn:
    raise typer.Exit(int(code))


def _stop_writing() -> None:
    """Keeps the interpreter from complaining when it flushes to nobody at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# ---------------------------------------------------------------- progress, on standard error

STEP = 256
"""tuples between two looks at the clock"""


@contextmanager
def progress(
    total: int, *, shown: bool, unit: str = "tuples", step: int = STEP
) -> Iterator[Callable[[], None]]:
    """Gives a function to be called for each of ``total`` tuples (or other units); shows a bar
    where standard error is a terminal."""
    if not shown or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        done = 0

        def advance() -> None:
            nonlocal done
            done += 1
            if done % step == 0:
                bar.update(task, completed=done)

        yield advance
        bar.update(task, completed=done)


@contextmanager
def working(*, shown: bool) -> Iterator[Callable[[str], None]]:
    """Gives a function that says what is being done now, for work of unknown length; shows it where
    standard error is a terminal."""
    if not shown or not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(Text(plain(text)))


def until(seconds: float | None) -> Callable[[], bool]:
    """Whether so long has not passed yet since now; without a limit always."""
    if seconds is None:
        return lambda: True
    end = monotonic() + seconds
    return lambda: monotonic() < end


# ---------------------------------------------------------------- files that a command writes


def write_files(folder: Path, contents: Mapping[str, str]) -> list[Path]:
    """Writes the files, making the folder where needed; FileError when that cannot be done."""
    return write_bytes(folder, {name: text.encode() for name, text in contents.items()})


def write_bytes(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """The same for files that are no text."""
    from headway.engine.run_folder import write_whole

    return write_whole(folder, contents)


# ---------------------------------------------------------------- options of several commands

QueryArgument = Annotated[
    Path, typer.Argument(metavar="QUERY.yaml|PLAN.json", help="the query, or a compiled plan")
]
OutputOption = Annotated[
    str,
    typer.Option(
        metavar="DIR|URI",
        help="where the results go; Spark: or a URI that Hadoop knows (hdfs:, s3a:, abfss:, …)",
    ),
]
PublishOption = Annotated[
    Publishing | None,
    typer.Option(
        help="Spark: how complete results get visible: by a rename, or by the list in summary.json "
        "where a store has no rename of its own (default: by the scheme)"
    ),
]
UiOption = Annotated[
    bool, typer.Option("--ui", help="Spark: open its web page, and print the address")
]
VehicleOption = Annotated[
    Path | None, typer.Option(metavar="VEHICLE.yaml", help="the vehicle the query runs in")
]
ForceOption = Annotated[bool, typer.Option("--force", help="replace the results of an earlier run")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="print the summary as JSON instead of tables")
]
NoPythonOption = Annotated[
    bool,
    typer.Option("--no-python", help="refuse a query that names Python code; import none of it"),
]
MasterOption = Annotated[
    str, typer.Option(metavar="URL", help="Spark: local[*], spark://HOST:PORT, yarn, k8s://…")
]
ConfOption = Annotated[
    list[str] | None, typer.Option(metavar="K=V", help="Spark: a setting of the session")
]
LOCAL = "local[*]"
