"""A progress bar on standard error, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

STEP = 256
"""tuples between two looks at the clock"""
SPEED_OVER_S = 120.0
"""the time left is told from the speed of the last so many seconds: pieces of several seconds each
come in pairs"""


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


@contextmanager
def weighted_progress(
    total: float, count: int, *, shown: bool, unit: str
) -> Iterator[Callable[[float, str], None]]:
    """For pieces of unlike size: gives a function to be called with the size and the name of each
    of ``count`` pieces. The sizes sum to ``total``, so that the time left is right although the
    large pieces come first."""
    if not shown or not sys.stderr.isatty():
        yield lambda _, __: None
        return
    told = TextColumn("{task.fields[pieces]}")
    columns = (
        BarColumn(),
        TaskProgressColumn(),
        told,
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(
        *columns, console=Console(stderr=True), transient=True, speed_estimate_period=SPEED_OVER_S
    ) as bar:
        task = bar.add_task("", total=total, pieces=f"0/{count:,} {unit}")
        done = 0

        def advance(size: float, name: str) -> None:
            nonlocal done
            done += 1
            bar.update(task, advance=size, pieces=f"{done:,}/{count:,} {unit}, {name}")

        yield advance
