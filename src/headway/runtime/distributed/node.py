"""One node of a plan as a process: its kernel, its peers, its inputs and outputs, its report."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.runtime.clock import MonotonicClock, Pace
from headway.runtime.distributed.events import EventLog
from headway.runtime.distributed.liveness import Timing
from headway.runtime.distributed.node_kernel import NodeKernel
from headway.runtime.distributed.node_outputs import NodeOutputs
from headway.runtime.distributed.node_slice import OUTPUT, NodeSlice
from headway.runtime.distributed.outgoing import Address
from headway.runtime.distributed.peers import Peers
from headway.runtime.distributed.report import exit_report
from headway.runtime.distributed.rows import Sent
from headway.runtime.happenings import Arrival
from headway.runtime.keeping_up import Behind, KeepingUp
from headway.runtime.operators.base import Dropped, Row
from headway.runtime.trace import Trace
from headway.runtime.units import assemble
from headway.runtime.wall_jobs import apart

SUBSCRIBER = "subscriber"
NOTED = 20
"""events of one sort that are noted one by one; after that only counted"""


@dataclass(kw_only=True)
class Settings:
    """How a node process is run. Without ``inputs`` its sources wait for a driver's frames."""

    addresses: Mapping[str, Address]
    inputs: Path | None = None
    outputs: Path | None = None
    form: str = "jsonl"
    speed: float = 1.0
    vehicle: str | None = None
    tolerance: int = 50 * MILLISECOND
    timing: Timing = field(default_factory=Timing)
    subscriber: Address | None = None
    resume: bool = False
    """started again in the middle of a run: what has already arrived is gone"""


class NodeProcess:
    """Made, then ready (listening, first arrival known), then run to the end."""

    def __init__(self, part: NodeSlice, settings: Settings) -> None:
        self.part, self.settings = part, settings
        folder = settings.outputs
        path = None if folder is None else folder / f"{part.node}.events.jsonl"
        self.log = EventLog(part.node, path, append=settings.resume)
        self._dropped: dict[str, int] = {}
        self._policy = part.make_policy()
        sent = [stream for stream, _ in part.sends]
        plan = part.plan
        tasks = plan.scheduled(trains=self._policy.fuse)
        self._program = assemble(
            plan, self._policy, tasks, part.order, apart=apart(plan), leaving=sent
        )
        self._arrivals = self._recording()
        self._first = next(self._arrivals, None)
        self._listener = socket.create_server(settings.addresses[part.node])
        self._keeping_up = KeepingUp(tolerance=settings.tolerance, on_behind=self._behind)
        self._kernel: NodeKernel | None = None
        self._peers: Peers | None = None
        self._skipped = 0
        self._asked: dict[str, int] = {}

    @property
    def first_arrival(self) -> int | None:
        """The engine's time (ns) of the first tuple of its recording."""
        return None if self._first is None else self._first.time

    def _recording(self) -> Iterator[Arrival]:
        names = set(self.part.own_sources)
        sources = [source for source in self.part.plan.query.sources if source.name in names]
        if self.settings.inputs is None or not sources:
            return
        from headway.sources.recordings import read_recording

        recording = read_recording(self.settings.inputs, sources, self.settings.vehicle)
        for arrived_at, source, row, _ in recording:
            yield Arrival(arrived_at * MICROSECOND, source, row)

    def run(self, epoch: int, start: int) -> dict[str, Any]:
        """Runs until all inputs have ended; the engine's time is ``epoch`` when the machine's
        monotonic clock shows ``start``. Gives the exit report."""
        part, settings = self.part, self.settings
        pace = Pace(MonotonicClock(), epoch, start, settings.speed)
        remote = {stream for stream, _ in part.receives}
        fed = set(part.own_sources) if settings.inputs is None else set()
        outputs = NodeOutputs(
            part.plan, settings.outputs, settings.form, self._publish, append=settings.resume
        )
        peers = self._peers = self._make_peers()
        kernel = self._kernel = NodeKernel(
            part,
            self._program,
            self._policy,
            send_out=peers.send,
            pace=pace,
            sinks=outputs.sinks,
            on_drop=self._drop,
            trace=Trace(kept=False),
            keeping_up=self._keeping_up,
            live=frozenset(remote | fed),
        )
        self.log.note("running", epoch=epoch, start=start, resumed=settings.resume)
        peers.start()
        kernel.run(self._due(pace))
        if settings.subscriber is not None:
            for output in part.plan.query.outputs:
                peers.send(OUTPUT + output.name, None)
        peers.finish()
        outputs.close()
        self.log.note("finished")
        report = exit_report(part.node, kernel, peers, outputs, self._keeping_up, self.log)
        report |= {
            "missed_while_down": self._skipped,
            "dropped": dict(sorted(self._dropped.items())),
        }
        self.log.close()
        if settings.outputs is not None:
            path = settings.outputs / f"{part.node}.report.json"
            path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        return report

    def _due(self, pace: Pace) -> Iterator[Arrival]:
        if self._first is None:
            return
        since = pace.now() if self.settings.resume else self._first.time
        if self._first.time >= since:
            yield self._first
        else:
            self._skipped += 1
        for arrival in self._arrivals:
            if arrival.time >= since:
                yield arrival
            else:
                self._skipped += 1

    def _make_peers(self) -> Peers:
        part, addresses = self.part, dict(self.settings.addresses)
        sends: dict[str, list[str]] = {}
        for stream, receiver in part.sends:
            sends.setdefault(receiver, []).append(stream)
        if self.settings.subscriber is not None and part.plan.query.outputs:
            sends[SUBSCRIBER] = [OUTPUT + output.name for output in part.plan.query.outputs]
            addresses[SUBSCRIBER] = self.settings.subscriber
        return Peers(
            part.node,
            fingerprint=part.fingerprint,
            streams=part.wire_streams(),
            sends=sends,
            senders={sender for _, sender in part.receives},
            addresses=addresses,
            handler=self,
            log=self.log,
            timing=self.settings.timing,
            listener=self._listener,
        )

    def stop(self) -> None:
        """From a signal: no more input."""
        if self._kernel is not None:
            self.log.note("stopping")
            self._kernel.post(self._kernel.stop)

    # ---------------------------------------------------------------- from the I/O thread

    def _running(self) -> NodeKernel:
        assert self._kernel is not None
        return self._kernel

    def rows(self, stream: str, rows: list[Sent]) -> None:
        kernel = self._running()
        kernel.post(kernel.take_rows, stream, rows)

    def mark(self, stream: str, mark: int) -> None:
        kernel = self._running()
        kernel.post(kernel.take_mark, stream, mark)

    def ended(self, stream: str) -> None:
        self._running().close(stream)

    def lost(self, peer: str) -> None:
        kernel = self._running()
        kernel.post(kernel.take_loss, peer)

    def back(self, peer: str) -> None:
        kernel = self._running()
        kernel.post(kernel.take_return, peer)

    def tick(self, now: int) -> None:
        """A lost peer is given up when it stays away and all else has ended."""
        assert self._peers is not None
        give_up = self.settings.timing.give_up
        for peer in {sender for _, sender in self.part.receives}:
            since = self._peers.liveness.lost_since(peer)
            if since is not None and now - max(since, self._asked.get(peer, since)) > give_up:
                self._asked[peer] = now - give_up * 3 // 4
                self._running().post(self._give_up, peer)

    def _give_up(self, peer: str) -> None:
        if self._running().give_up(peer):
            self.log.note("peer given up", peer=peer)

    # ---------------------------------------------------------------- from the kernel

    def _publish(self, output: str, row: Row, completed: int) -> None:
        if self.settings.subscriber is not None:
            assert self._peers is not None
            self._peers.send(OUTPUT + output, Sent(row, completed, False))

    def _drop(self, dropped: Dropped, now: int) -> None:
        count = self._dropped[dropped.kind] = self._dropped.get(dropped.kind, 0) + 1
        if count <= NOTED:
            facts = {"where": dropped.where, "reason": dropped.reason, "row": repr(dropped.row)}
            self.log.note("dropped", kind=dropped.kind.value, engine_time=now, **facts)

    def _behind(self, behind: Behind) -> None:
        if self._keeping_up.warnings <= NOTED:
            self.log.note("behind", lag_ns=behind.lag, backlog=behind.backlog, what=str(behind))
