"""Writing to the terminal: what was asked for on standard output, what is wrong on standard error.

Colours appear on a terminal only, and never where NO_COLOR is set.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from headway.report.plan_tables import Table
from headway.report.text import plain
from headway.report.words import BROKEN, KEPT

WIDTH_OF_A_FILE = 200
"""Output that goes to a file or a pipe is not folded at a terminal's width."""

_SIGNS = {KEPT: "green", BROKEN: "bold red"}


def write(text: str) -> None:
    """Writes to standard output, at once: a reader that has gone is noticed here."""
    sys.stdout.write(text)
    sys.stdout.flush()


def write_problem(text: str) -> None:
    """One line on standard error. What a file contains cannot steer the terminal."""
    sys.stderr.write(plain(" ".join(text.split("\n"))) + "\n")
    sys.stderr.flush()


def show(parts: Iterable[RenderableType]) -> None:
    """Tables and lines for people."""
    folded = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = Console(
        width=None if folded else WIDTH_OF_A_FILE, markup=False, highlight=False, emoji=False
    )
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    write("\n".join(line.rstrip() for line in captured.get().split("\n")))


def heading(text: str) -> Text:
    return Text(plain(text), style="bold")


def sentence(text: str) -> Text:
    """A line in the colour of the sign it begins with."""
    return Text(plain(text), style=_SIGNS.get(text[:1], ""))


def table(content: Table) -> RichTable:
    """A report's table as rich draws it."""
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
        drawn.add_row(*(Text(plain(cell), style=_SIGNS.get(cell, "")) for cell in row))
    return drawn
