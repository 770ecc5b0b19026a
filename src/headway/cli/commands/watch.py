"""``headway watch``: a run as it goes on, in a browser, in the terminal, and for machines."""

from __future__ import annotations

import json as json_format
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.terminal import sentence, show, table, write, write_problem
from headway.cli.watch_server import Latest, WatchServer
from headway.engine.live_state import EVERY_S, LIVE, PLAN, LiveState, read_live
from headway.engine.nodes.node_slice import DEPLOYMENT
from headway.engine.nodes.watched_car import WatchedCar
from headway.errors import FileError
from headway.front_door.runnable_plan import load_plan
from headway.model.plan import Plan
from headway.model.quantities import SECOND, format_duration, milliseconds
from headway.report.plan.plan_tables import BROKEN, KEPT, NONE, Table, percent
from headway.report.watch_page import watch_html

if TYPE_CHECKING:
    from rich.console import RenderableType

PORT = 8600
QUIET_S = 5.0
"""a run that goes on is heard of more often than that"""


def watch(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="the output folder of a run by the wall clock, of a launched car, or of a stream "
            "on Spark",
        ),
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="of the page, on this machine only; 0: any")
    ] = PORT,
    in_terminal: Annotated[
        bool, typer.Option("--terminal", help="show the numbers here instead of serving a page")
    ] = False,
    wait: Annotated[
        float, typer.Option(metavar="S", min=0, help="seconds to wait for the run to begin")
    ] = 30.0,
    json: Annotated[
        bool, typer.Option("--json", help="print how the run stands now, as JSON, and end")
    ] = False,
) -> None:
    """Watch a run while it goes on: latencies against deadlines and bounds, misses, queues, loads.

    \b
    Example:
      headway run examples/hello/query.yaml --engine vehicle --clock wall
          --vehicle examples/hello/vehicle.yaml
          --input examples/hello/recording --output build/live &
      headway watch build/live

    Serves one page on this machine; open its address in a browser. /metrics has the same numbers
    for Prometheus, /health answers 200 while the run goes on and 503 otherwise, /state.json has all
    of it. The run itself is asked nothing: it writes how it stands into its output folder, and can
    be watched by several or by nobody.

    Ends with Ctrl-C; with --terminal also when the run ends.
    """
    watched = _watched(folder, 0.0 if json else wait)
    if json:
        write(json_format.dumps(watched.look().data(), indent=1, ensure_ascii=False) + "\n")
        return
    latest = Latest(watched)
    try:
        if in_terminal:
            _follow(latest)
            return
        plan = watched.plan()
        title = f"{latest.state.query} on {latest.state.vehicle or 'its nodes'}"
        server = WatchServer(latest, watch_html(title, plan), port)
        write_problem(f"watching {folder}: open {server.address} (Ctrl-C ends)")
        thread = threading.Thread(target=server.serve, name="server", daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.5)
        except KeyboardInterrupt:
            server.stop()
    finally:
        latest.close()


# ---------------------------------------------------------------- what is watched


class _OneRun:
    """A run that writes its state; one whose file has gone has ended."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last = read_live(folder)
        self.silence = 0.0

    def look(self) -> LiveState:
        path = self._folder / LIVE
        try:
            self._last = read_live(self._folder)
            quiet = time.time() - path.stat().st_mtime
        except (FileError, OSError):
            if not path.exists():
                self._last = _ended(self._last)
                self.silence = 0.0
            return self._last
        self.silence = quiet if self._last.running and quiet > QUIET_S else 0.0
        return self._last

    def plan(self) -> Plan | None:
        try:
            return load_plan(self._folder / PLAN)
        except FileError:
            return None


class _WholeCar:
    """A launched car; its nodes are heard of by what they write."""

    silence = 0.0

    def __init__(self, folder: Path) -> None:
        self._car = WatchedCar(folder)

    def look(self) -> LiveState:
        return self._car.look()

    def plan(self) -> Plan | None:
        return self._car.plan


def _ended(state: LiveState) -> LiveState:
    from dataclasses import replace

    return replace(state, running=False)


def _watched(folder: Path, wait: float) -> _OneRun | _WholeCar:
    """FileError when nothing that can be watched is there in time."""
    until = time.monotonic() + wait
    while True:
        try:
            return _WholeCar(folder) if (folder / DEPLOYMENT).exists() else _OneRun(folder)
        except FileError:
            if time.monotonic() >= until:
                raise
            time.sleep(EVERY_S / 5)


# ---------------------------------------------------------------- in the terminal


def _follow(latest: Latest) -> None:
    from rich.console import Console, Group
    from rich.live import Live

    number = -1
    console = Console()
    try:
        with Live(console=console, auto_refresh=False, transient=console.is_terminal) as live:
            while latest.state.running:
                number, state = latest.next(number, timeout=1.0)
                if console.is_terminal:
                    live.update(Group(*_tables(state)), refresh=True)
    except KeyboardInterrupt:
        write_problem("no longer watching; the run goes on")
    show(_tables(latest.state))


def _tables(state: LiveState) -> Iterator[RenderableType]:
    outputs = [
        [
            one.output,
            f"{one.tuples:,}",
            *(
                NONE if time is None else milliseconds(time)
                for time in (one.latency_median, one.latency_99, one.latency_max, one.bound)
            ),
            format_duration(one.deadline),
            f"{one.missed:,}",
        ]
        for one in state.outputs
    ]
    headers = ["Output", "Tuples", "Median (ms)", "99 % (ms)", "Max (ms)", "Bound (ms)"]
    headers += ["Deadline", "Missed"]
    title = f"{state.query}, {state.engine}, {state.passed / SECOND:,.0f} s"
    yield table(Table(title=title, headers=headers, rows=outputs, numeric=tuple(range(1, 8))))
    if state.nodes:
        nodes = [
            [
                one.node,
                one.state,
                NONE if one.load is None else percent(one.load),
                NONE if one.waiting is None else f"{one.waiting:,}",
                ", ".join(f"{peer} {how}" for peer, how in one.peers) or NONE,
            ]
            for one in state.nodes
        ]
        headers = ["Node", "State", "Load", "Waiting", "Peers"]
        yield table(Table(title="Nodes", headers=headers, rows=nodes, numeric=(2, 3)))
    if state.operators:
        operators = [
            [
                one.operator,
                *(
                    f"{count:,}" if count else NONE
                    for count in (
                        one.taken, one.given, one.waiting, one.late, one.shed, one.failed,
                    )
                ),
            ]
            for one in state.operators
        ]  # fmt: skip
        headers = ["Operator", "In", "Out", "Waiting", "Late", "Shed", "Failed"]
        yield table(
            Table(title="Operators", headers=headers, rows=operators, numeric=tuple(range(1, 7)))
        )
    missed = sum(one.missed for one in state.outputs)
    if missed:
        yield sentence(f"{BROKEN} {missed:,} deadlines were missed.")
    elif any(one.tuples for one in state.outputs):
        yield sentence(f"{KEPT} No deadline was missed.")
    else:
        yield sentence("No output gave a tuple, so no deadline was put to the test.")
