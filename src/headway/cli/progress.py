"""A progress bar on standard error, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

STEP = 256
"""tuples between two looks at the clock"""


@contextmanager
def progress(
    total: int, *, shown: bool, unit: str = "tuples", step: int = STEP
) -> Iterator[Callable[[], None]]:
    """Gives a function to be called for each of ``total`` tuples (or other units)."""
    if not shown or not sys.stderr.isatty():
        yield lambda: None
        return
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
