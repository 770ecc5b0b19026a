"""The command line of a node's executable: ``python node1.pyz --help``."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from headway.engine.nodes.liveness import PeerTiming
from headway.engine.nodes.node_key import KEY_FILE, read_key
from headway.engine.nodes.node_machine import Address
from headway.engine.nodes.node_process import NodeProcess, NodeSettings
from headway.engine.nodes.node_records import FORMATS
from headway.engine.nodes.node_slice import DEPLOYMENT, NodeSlice, slice_from_json
from headway.engine.waiting_room import WhenFull
from headway.errors import FileError, HeadwayError, NodeFailed, Problem
from headway.model.quantities import MILLISECOND, duration_option

HARD_MISSED = 3
"""exit code of a node that finished and missed a hard deadline"""


def main(slice_text: str, executable: Path, arguments: Sequence[str] | None = None) -> int:
    """Runs the node that the slice describes; 0 when all went well, 1 when the node failed, 2 for
    bad input, 3 when it finished but a hard output missed a deadline or lost a tuple."""
    try:
        part = slice_from_json(slice_text)
        given = _parser(part).parse_args(arguments)
        settings = _settings(part, given, executable)
        process = NodeProcess(part, settings)
    except (HeadwayError, OSError) as error:
        sys.stderr.write(f"{executable.name}: {error}\n")
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: process.stop())
    epoch, start = _begin(process, given)
    try:
        report = process.run(epoch, start)
    except HeadwayError as error:
        sys.stderr.write(f"{executable.name}: {error}\n")
        with suppress(OSError):  # what it says is said; the disk may be full
            process.log.note("failed", reason=str(error))
            process.log.close()
        return 1 if isinstance(error, NodeFailed) else 2
    if given.json:
        sys.stdout.write(json.dumps(report) + "\n")
    if report["hard_missed"] or report["refused_jobs"]:
        sys.stderr.write(f"{executable.name}: {_missed(report)}\n")
        return HARD_MISSED
    return 0


def _missed(report: dict[str, Any]) -> str:
    told = [f"hard output {name!r} missed a deadline" for name in report["hard_missed"]]
    if refused := report["refused_jobs"]:
        told.append(f"{refused:,} jobs of hard outputs were refused")
    return ", ".join(told)


def _parser(part: NodeSlice) -> argparse.ArgumentParser:
    names = ", ".join(operator.name for operator in part.plan.query.operators)
    about = [
        f"Runs node {part.node!r} of query {part.plan.query.name!r} in wall-clock time.",
        f"operators: {names or 'none'}",
        f"sources:   {', '.join(part.own_sources) or 'none'}",
        f"sends:     {', '.join(f'{s} to {n}' for s, n in part.sends) or 'nothing'}",
        f"receives:  {', '.join(f'{s} from {n}' for s, n in part.receives) or 'nothing'}",
        f"outputs:   {', '.join(o.name for o in part.plan.query.outputs) or 'none'}",
    ]
    parser = argparse.ArgumentParser(
        prog=f"{part.node}.pyz",
        description="\n".join(about),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit codes: 0 finished, 1 the node failed, 2 bad input or a missing package, "
        "3 finished, but a hard output missed a deadline or lost a tuple.",
    )
    add = parser.add_argument
    add("--deployment", type=Path, help=f"addresses of the nodes ({DEPLOYMENT} beside this file)")
    add("--key", type=Path, help=f"the nodes' key ({KEY_FILE} beside this file)")
    add("--input", type=Path, help="recording to replay; without it a driver sends the sources")
    add("--output", type=Path, help="folder for outputs, events and the exit report")
    add("--format", choices=sorted(FORMATS), default="jsonl", help="of the outputs (%(default)s)")
    add("--speed", type=float, default=1.0, help="of the replay (%(default)s: as recorded)")
    add("--vehicle", help="only this vehicle's tuples of the recording")
    add("--heartbeat", default="50 ms", help="time between signs of life (%(default)s)")
    add(
        "--missed", type=int, default=3, help="missed heartbeats until a peer is lost (%(default)s)"
    )
    add("--give-up", default="5 s", help="wait for a lost peer at the end (%(default)s)")
    add("--tolerance", default="50 ms", help="lateness of input that is a warning (%(default)s)")
    add(
        "--most-waiting", type=int,
        help=f"jobs that may wait until some are dropped ({part.room.most})",
    )  # fmt: skip
    add(
        "--when-full", choices=[rule.value for rule in WhenFull], default=WhenFull.SHED.value,
        help="which are dropped: the least worth, the oldest, or the new one (%(default)s)",
    )  # fmt: skip
    add("--subscriber", help="HOST:PORT that the outputs are sent to")
    add("--epoch", type=int, help="engine time in ns at the start (the first arrival)")
    add("--start", type=int, help="monotonic time in ns of the start (now)")
    add("--resume", action="store_true", help="go on where a killed process of this node was")
    add(
        "--checkpoint", default="1 s",
        help="time between two checkpoints beside the outputs, 0 s: none (%(default)s)",
    )  # fmt: skip
    add("--wait", action="store_true", help="when ready say so, then read epoch and start as JSON")
    add("--json", action="store_true", help="print the exit report")
    return parser


def _settings(part: NodeSlice, given: argparse.Namespace, executable: Path) -> NodeSettings:
    path = given.deployment or executable.parent / DEPLOYMENT
    addresses = read_addresses(path)
    if missing := {part.node, *(n for _, n in (*part.sends, *part.receives))} - set(addresses):
        raise FileError(Problem(f"no address of node {sorted(missing)[0]!r}", at=str(path)))
    heartbeat = duration_option("--heartbeat", given.heartbeat)
    return NodeSettings(
        addresses=addresses,
        key=read_key(given.key or executable.parent / KEY_FILE),
        inputs=given.input,
        outputs=given.output,
        form=given.format,
        speed=given.speed,
        vehicle=given.vehicle,
        tolerance=duration_option("--tolerance", given.tolerance),
        timing=PeerTiming(
            heartbeat=max(heartbeat, MILLISECOND),
            missed=max(given.missed, 1),
            give_up=duration_option("--give-up", given.give_up),
        ),
        most_waiting=None if given.most_waiting is None else max(1, given.most_waiting),
        when_full=WhenFull(given.when_full),
        subscriber=_address("--subscriber", given.subscriber) if given.subscriber else None,
        resume=given.resume,
        checkpoint=duration_option("--checkpoint", given.checkpoint),
        live=True,
    )


def read_addresses(path: Path) -> dict[str, Address]:
    """Node -> (host, port), from a ``deployment.json``."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {name: _address(name, node["address"]) for name, node in content["nodes"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            Problem(f"cannot read the addresses: {error}", at=str(path), want="build it again")
        ) from None


def _address(name: str, text: str) -> Address:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise FileError(Problem("not an address", at=name, got=text, want="write HOST:PORT"))
    return host, int(port)


def _begin(process: NodeProcess, given: argparse.Namespace) -> tuple[int, int]:
    """The engine's time at the start, and when that is on the machine's clock."""
    told: dict[str, Any] = {"epoch": given.epoch, "start": given.start}
    process.log.note("ready", first_arrival=process.first_arrival)
    if given.wait:
        ready = {"ready": process.part.node, "first_arrival": process.first_arrival}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        told = json.loads(sys.stdin.readline())
    if process.kept_clock is not None and told["start"] is None and told["epoch"] is None:
        told["epoch"], told["start"] = process.kept_clock
    start = told["start"] if told["start"] is not None else time.monotonic_ns()
    epoch = told["epoch"] if told["epoch"] is not None else process.first_arrival
    return (time.time_ns() if epoch is None else int(epoch)), int(start)
