"""What Spark is doing, live on standard error, if that is a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from headway.cli.screen import show, table
from headway.report import spark_tables
from headway.report.plan_tables import Table
from headway.report.words import NONE

if TYPE_CHECKING:
    from headway.spark.stream_run import StreamRun

EVERY_S = 0.5
OnOutput = Callable[[str], None]
OnRows = Callable[[str, list[dict[str, object]]], None]


def say_starting(*, shown: bool) -> None:
    """Spark takes seconds to start; what comes next on the terminal wipes this out."""
    if shown and sys.stderr.isatty():
        sys.stderr.write("starting Spark …\r")
        sys.stderr.flush()


@contextmanager
def batch_progress(spark: Any, *, shown: bool) -> Iterator[tuple[OnOutput, OnRows]]:
    """Gives what a batch calls before each output, and with rows for the terminal."""
    current = ""

    def on_output(name: str) -> None:
        nonlocal current
        current = name

    def line() -> Text:
        tracker = spark.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        done = sum(stage.numCompletedTasks for stage in stages if stage)
        total = sum(stage.numTasks for stage in stages if stage)
        return Text(f"{current or 'reading'}: {done} of {total} tasks")

    with _live(line, shown=shown):
        yield on_output, show_rows


def show_rows(name: str, rows: list[dict[str, object]]) -> None:
    headers = list(rows[0]) if rows else ["no rows"]
    cells = [[NONE if value is None else str(value) for value in row.values()] for row in rows]
    show([table(Table(title=name, headers=headers, rows=cells, numeric=()))])


@contextmanager
def stream_progress(stream: StreamRun, *, shown: bool) -> Iterator[None]:
    """Rows a second, batch time, lag, and misses of each output."""
    began = time.monotonic()

    def line() -> Any:
        elapsed = time.monotonic() - began
        return table(spark_tables.progress(stream.progress(), elapsed))

    with _live(line, shown=shown):
        yield


@contextmanager
def _live(line: Callable[[], Any], *, shown: bool) -> Iterator[None]:
    if not shown or not sys.stderr.isatty():
        yield
        return
    over = threading.Event()
    with Live(Text(""), console=Console(stderr=True), transient=True, auto_refresh=False) as live:

        def follow() -> None:
            while not over.wait(EVERY_S):
                with suppress(Exception):  # Spark may be going just now; the run says why
                    live.update(line(), refresh=True)

        watcher = threading.Thread(target=follow, name="progress", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
