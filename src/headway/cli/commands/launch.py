"""``headway launch``: all nodes of a built car, as processes of this machine."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.terminal import ExitCode, sentence, show, table, write, write_problem
from headway.engine.nodes.launcher import Launcher
from headway.engine.nodes.live_nodes import LaunchedCar, NodePhase, NodeView, supervise
from headway.model.quantities import DURATION_FORM, SECOND, duration_option
from headway.report.plan.plan_tables import BROKEN, KEPT, Table

if TYPE_CHECKING:
    from rich.console import RenderableType

BAD_INPUT_OF_A_NODE = 2


def launch(
    build: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="what headway build wrote: deployment.json and all"),
    ],
    input: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="a recording to replay; else drivers feed the sources"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="where outputs, events and reports go (DIR-run)"),
    ] = None,
    speed: Annotated[float, typer.Option(min=0.001, help="of the replay; 1 is as recorded")] = 1.0,
    vehicle: Annotated[
        str | None, typer.Option(metavar="NAME", help="only this vehicle's tuples of the recording")
    ] = None,
    stop_after: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=f"stop all nodes then, such as {DURATION_FORM}"),
    ] = None,
    restart_after: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="a node that breaks is started again so long after; others go on"
        ),
    ] = None,
    node_option: Annotated[
        list[str] | None,
        typer.Option(metavar="OPTION", help="for every node, as in --node-option=--heartbeat=1s"),
    ] = None,
    keep_ports: Annotated[
        bool, typer.Option("--keep-ports", help="use the ports of the build, not free ones")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="print how the nodes ended as JSON instead of a table")
    ] = False,
) -> None:
    """Start all nodes of a built car on this machine, watch them run, and stop them together.

    \b
    Example:
      headway build examples/hello/query.yaml --vehicle examples/hello/vehicle.yaml --out build/car
      headway launch build/car --input examples/hello/recording

    Every node is a process of its own, native or Python; they find each other by the addresses in
    deployment.json (on free ports of this machine) and know each other by nodes.key. All get ready,
    then start at one moment; outputs, events and reports of the nodes go to the output folder.

    While they run, standard error shows each node's state, what its outputs have given, deadlines
    missed and which of its peers it hears of. Ctrl-C stops all: they take no more input and finish
    what is inside; a second one kills them. If a node breaks, the others are stopped, and it is
    said which one it was and why; with --restart-after they go on without it until it is back.
    `headway watch` on the output folder shows all of it live.

    Exit code: 0 all finished, 1 a hard deadline was missed or a node broke, 2 bad input.
    """
    limit = None if stop_after is None else duration_option("--stop-after", stop_after) / SECOND
    again = (
        None
        if restart_after is None
        else duration_option("--restart-after", restart_after) / SECOND
    )
    launcher = Launcher(
        build=build,
        outputs=output or build.with_name(f"{build.name}-run"),
        inputs=input,
        speed=speed,
        vehicle=vehicle,
        options=tuple(node_option or ()),
        free_ports=not keep_ports,
    )
    with launcher:
        launcher.start()
        with _shown() as show_nodes:
            car = supervise(launcher, show_nodes, limit=limit, restart_after=again)
    if json:
        write(json_format.dumps(_data(car), indent=1) + "\n")
    else:
        show([_table(car.views), *map(sentence, _verdict(car, launcher.outputs))])
    if car.broke:
        write_problem(f"node {car.broke!r} broke: {car.why}")
    if code := _exit_code(car):
        raise typer.Exit(int(code))


def _exit_code(car: LaunchedCar) -> ExitCode:
    if car.broke and car.nodes[car.broke].code == BAD_INPUT_OF_A_NODE:
        return ExitCode.BAD_INPUT
    broken = any(view.state is NodePhase.FAILED for view in car.views)
    return ExitCode.NOT_PROMISED if broken or car.missed_hard else ExitCode.FINE


# ---------------------------------------------------------------- while they run


@contextmanager
def _shown() -> Iterator[Callable[[Sequence[NodeView]], None]]:
    """Gives what shows the nodes: a table that changes on a terminal, else a line when a node's
    state does."""
    if not sys.stderr.isatty():
        yield _Lines().show
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        yield lambda views: live.update(_table(views), refresh=True)


class _Lines:
    def __init__(self) -> None:
        self._said: dict[str, NodePhase] = {}

    def show(self, views: Sequence[NodeView]) -> None:
        for view in views:
            if self._said.get(view.node) is not view.state:
                self._said[view.node] = view.state
                write_problem(f"{view.node}: {view.state}")


# ---------------------------------------------------------------- how they ended


def _table(views: Sequence[NodeView]) -> RenderableType:
    rows = [
        [
            view.node,
            "native" if view.native else "Python",
            str(view.state),
            f"{view.tuples:,}",
            f"{view.missed:,}",
            ", ".join(f"{peer} {how}" for peer, how in view.links) or "none",
        ]
        for view in views
    ]
    headers = ["Node", "Code", "State", "Tuples out", "Missed", "Peers"]
    return table(Table(title="Nodes", headers=headers, rows=rows, numeric=(3, 4)))


def _verdict(car: LaunchedCar, folder: Path) -> list[str]:
    tuples = sum(view.tuples for view in car.views)
    missed = sum(view.missed for view in car.views)
    lines = [f"{tuples:,} tuples of outputs, {missed:,} after their deadline; see {folder}"]
    for node, ended in car.nodes.items():
        dropped = (ended.report or {}).get("dropped_at", {})
        for kind, at in dropped.items():
            told = ", ".join(f"{count:,} at {where}" for where, count in at.items())
            lines.append(f"Node {node}: tuples {kind}: {told}.")
    for node, times in car.restarts.items():
        often = "once" if times == 1 else f"{times:,} times"
        lines.append(f"Node {node} broke and was started again {often}.")
    if car.broke:
        lines.append(f"{BROKEN} node {car.broke!r} broke, so all were stopped.")
    elif car.missed_hard:
        lines.append(f"{BROKEN} A hard deadline was missed: {', '.join(car.missed_hard)}.")
    else:
        lines.append(f"{KEPT} All nodes " + ("stopped as asked." if car.stopped else "finished."))
    return lines


def _data(car: LaunchedCar) -> dict[str, Any]:
    views = {view.node: view for view in car.views}
    return {
        "stopped": car.stopped,
        "broke": car.broke or None,
        "why": car.why or None,
        "restarts": dict(car.restarts),
        "nodes": {
            node: {
                "code": ended.code,
                "native": views[node].native,
                "state": str(views[node].state),
                "tuples": views[node].tuples,
                "missed": views[node].missed,
                "report": ended.report,
            }
            for node, ended in car.nodes.items()
        },
    }
