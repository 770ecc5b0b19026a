"""Starts the executables of a build on this machine, watches them, collects their reports.

Nodes of both kinds take the same options: bundles of Python are run by this interpreter, native
programs by themselves. A recording is given to each native node as the file it can replay.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from headway.engine.nodes.live_counts import live_file
from headway.engine.nodes.native_recording import SUFFIX, write_rows
from headway.engine.nodes.node_key import KEY_FILE
from headway.engine.nodes.node_records import EventLog, read_events
from headway.engine.nodes.node_slice import DEPLOYMENT, SLICE, WHOLE_PLAN, slice_from_json
from headway.errors import FileError, HeadwayError, Problem
from headway.model.quantities import MILLISECOND

LAUNCH_LOG = "launch.log"
"""what became of the nodes' processes, as events like theirs: a node that is killed says nothing"""


@dataclass(frozen=True, slots=True)
class EndedNode:
    """A process that has ended; ``report`` is None if it could not write one (it was killed)."""

    node: str
    code: int
    report: dict[str, Any] | None
    errors: str


@dataclass(kw_only=True)
class Launcher:
    """Runs a build. ``options`` go to every node, as on its command line, ``native_options`` to
    native ones. ``vehicle``: only that one's tuples of the recording.

    All nodes get ready first, then start at one moment: ``lead`` nanoseconds after the last was
    ready. ``free_ports`` takes ports that are free now instead of those of the build.
    """

    build: Path
    outputs: Path
    inputs: Path | None = None
    speed: float = 1.0
    vehicle: str | None = None
    options: Sequence[str] = ()
    native_options: Sequence[str] = ()
    lead: int = 100 * MILLISECOND
    free_ports: bool = True
    _processes: dict[str, subprocess.Popen[str]] = field(init=False, default_factory=dict)
    _go: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        path = self.build / DEPLOYMENT
        try:
            self._deployment = json.loads(path.read_text(encoding="utf-8"))
            self.nodes: list[str] = list(self._deployment["start_order"])
        except (OSError, ValueError, KeyError) as error:
            raise FileError(Problem(f"cannot read the build: {error}", at=str(path))) from None
        self.outputs.mkdir(parents=True, exist_ok=True)
        if self.free_ports:
            for entry, port in zip(
                self._deployment["nodes"].values(), _free_ports(len(self.nodes)), strict=True
            ):
                entry["address"] = f"127.0.0.1:{port}"
        self._addresses = self.outputs / DEPLOYMENT
        self._addresses.write_text(json.dumps(self._deployment, indent=1), encoding="utf-8")
        if (whole := self.build / WHOLE_PLAN).exists():
            shutil.copyfile(whole, self.outputs / WHOLE_PLAN)
        self._log = EventLog("launch", self.outputs / LAUNCH_LOG)

    def is_native(self, node: str) -> bool:
        return "target" in self._deployment["nodes"][node]

    def outputs_of(self, node: str) -> list[str]:
        return list(self._deployment["nodes"][node]["outputs"])

    def address(self, node: str) -> tuple[str, int]:
        host, _, port = self._deployment["nodes"][node]["address"].rpartition(":")
        return host, int(port)

    def pid(self, node: str) -> int:
        """Of the node's process."""
        return self._processes[node].pid

    def start(self) -> None:
        """Starts all nodes; returns when they run. HeadwayError when one does not get ready."""
        if self.inputs is not None:
            for node in self.nodes:
                if self.is_native(node):
                    self._write_rows(node, self.inputs)
        for node in self.nodes:
            self._spawn(node)
        firsts = [self._ready(node) for node in self.nodes]
        known = [first for first in firsts if first is not None]
        self._go = {
            "epoch": min(known) if known else time.time_ns(),
            "start": time.monotonic_ns() + self.lead,
        }
        for node in self.nodes:
            self._release(node)
        self.note("started")

    def note(self, event: str, **facts: Any) -> None:
        """Into the log of the launch, for who watches."""
        self._log.note(event, **facts)

    def kill(self, node: str) -> int:
        """Kills a node's process (SIGKILL); the machine's monotonic time (ns) just before."""
        process = self._processes[node]
        at = time.monotonic_ns()
        process.kill()
        process.wait()
        return at

    def restart(self, node: str) -> None:
        """Starts a node again that has ended; it joins the run under way."""
        process = self._processes[node]
        if process.poll() is None:
            raise HeadwayError(f"node {node!r} is still running")
        _close(process)
        self._spawn(node, "--resume")
        self._ready(node)
        self._release(node)
        self.note("started again", of=node)

    def stop(self) -> None:
        """Asks all nodes to take no more input and finish (SIGTERM)."""
        for process in self._processes.values():
            if process.poll() is None:
                process.terminate()

    def running(self) -> list[str]:
        """The nodes whose processes have not ended."""
        return [node for node, process in self._processes.items() if process.poll() is None]

    def codes(self) -> dict[str, int]:
        """The exit codes of those whose processes have."""
        polled = {node: process.poll() for node, process in self._processes.items()}
        return {node: code for node, code in polled.items() if code is not None}

    def ended(self) -> dict[str, EndedNode]:
        """Those whose processes have, with their reports."""
        return {node: self._ended(node) for node in self.codes()}

    def wait(self, timeout: float | None = None) -> dict[str, EndedNode]:
        """Waits until all have ended; subprocess.TimeoutExpired when they do not in time."""
        until = None if timeout is None else time.monotonic() + timeout
        for process in self._processes.values():
            process.wait(None if until is None else max(0.0, until - time.monotonic()))
        return {node: self._ended(node) for node in self.nodes}

    def events(self, node: str) -> list[dict[str, Any]]:
        """What the node has noted so far."""
        return read_events(self.outputs / f"{node}.events.jsonl")

    def _spawn(self, node: str, *more: str) -> None:
        executable = self.build / self._deployment["nodes"][node]["executable"]
        native = self.is_native(node)
        command = [str(executable)] if native else [sys.executable, str(executable)]
        command += ["--wait", "--deployment", str(self._addresses)]
        command += ["--key", str(self.build / KEY_FILE), "--output", str(self.outputs)]
        command += ["--speed", str(self.speed), *(self.native_options if native else ())]
        if self.inputs is not None:
            command += ["--input", str(self._rows(node) if native else self.inputs)]
            if self.vehicle is not None and not native:
                command += ["--vehicle", self.vehicle]
        (self.outputs / f"{node}.report.json").unlink(missing_ok=True)
        live_file(self.outputs, node).unlink(missing_ok=True)
        if not more:
            for name in (f"{node}.events", *self.outputs_of(node)):
                (self.outputs / f"{name}.jsonl").unlink(missing_ok=True)
        errors = (self.outputs / f"{node}.stderr.txt").open("a" if more else "w", encoding="utf-8")
        with errors:
            try:
                self._processes[node] = subprocess.Popen(
                    [*command, *self.options, *more],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    start_new_session=True,  # Ctrl-C is for who started them
                )
            except OSError as error:
                raise FileError(
                    f"node {node!r} cannot be started: {error.strerror or error}",
                    at=str(executable),
                    want="build it for this machine",
                ) from None

    def _rows(self, node: str) -> Path:
        return self.outputs / f"{node}{SUFFIX}"

    def _write_rows(self, node: str, recording: Path) -> None:
        path = self.build / node / SLICE
        try:
            part = slice_from_json(path.read_text(encoding="utf-8"), str(path))
        except OSError as error:
            raise FileError(Problem(f"cannot read the build: {error}", at=str(path))) from None
        write_rows(part, recording, self._rows(node), self.vehicle)

    def _ready(self, node: str) -> int | None:
        line = _pipe(self._processes[node].stdout).readline()
        if not line:
            ended = self._processes[node].wait()
            errors = self._ended(node).errors.strip()
            raise HeadwayError(f"node {node!r} did not start (exit code {ended}): {errors}")
        first: int | None = json.loads(line)["first_arrival"]
        return first

    def _release(self, node: str) -> None:
        pipe = _pipe(self._processes[node].stdin)
        pipe.write(json.dumps(self._go) + "\n")
        pipe.flush()

    def _ended(self, node: str) -> EndedNode:
        path = self.outputs / f"{node}.report.json"
        report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        errors = (self.outputs / f"{node}.stderr.txt").read_text(encoding="utf-8")
        return EndedNode(node, self._processes[node].wait(), report, errors)

    def __enter__(self) -> Launcher:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leaves no process behind."""
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()
            _close(process)
        self.note("ended")
        self._log.close()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def _close(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _free_ports(count: int) -> list[int]:
    """Ports that nobody has now, neither for connections nor for datagrams."""
    ports: list[int] = []
    with ExitStack() as stack:
        while len(ports) < count:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            port = int(server.getsockname()[1])
            datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            with suppress(OSError):  # taken for datagrams: the next one
                datagrams.bind(("127.0.0.1", port))
                ports.append(port)
    return ports
