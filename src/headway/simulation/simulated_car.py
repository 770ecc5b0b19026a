"""All nodes of a plan on one simulated network, with the faults of one seed: what came of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from headway.engine.jobs import Arrival
from headway.engine.nodes.executables import slices_of
from headway.engine.nodes.liveness import PeerTiming
from headway.engine.nodes.node_machine import Address
from headway.engine.nodes.node_process import NodeSettings
from headway.engine.nodes.node_slice import NodeSlice
from headway.engine.waiting_room import WhenFull
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, SECOND
from headway.simulation.fault_plan import Fault, FaultKind, FaultPlan
from headway.simulation.simulated_machine import HostClock, SimulatedHost, SimulatedMachine
from headway.simulation.simulated_network import Pair, SimulatedNetwork, pair_of
from headway.simulation.simulated_process import KILLED, Incarnation, run_process
from headway.simulation.turns import Stuck, Turns

PORT = 47100
FOLDER = Path("/outputs")
LEAD = 100 * MILLISECOND
"""from when all are started to when the recording begins"""
BASE = 1000 * SECOND
"""what the hosts' clocks show at the beginning"""
PATIENCE = 120 * SECOND
"""of simulated time after the recording, until a run that does not end is called stuck"""


@dataclass(frozen=True, kw_only=True)
class CarSetting:
    """What is simulated: the same for all seeds. ``arrivals`` in order of time."""

    plan: Plan
    arrivals: tuple[Arrival, ...]
    policy: str = "s-edf"
    timing: PeerTiming = field(default_factory=PeerTiming)
    most_waiting: int | None = None
    when_full: WhenFull = WhenFull.SHED
    most_kept: int = 4096
    checkpoint: int = SECOND
    """between two checkpoints of a node; 0: none is made"""

    @property
    def parts(self) -> list[NodeSlice]:
        return slices_of(self.plan, self.policy)


@dataclass(kw_only=True)
class CarRun:
    """What one seed gave. ``lines``: of each output, what stands in its file, a tuple a line;
    ``stuck``: why it did not come to an end."""

    faults: FaultPlan
    processes: list[Incarnation]
    lines: dict[str, list[dict[str, Any]]]
    torn: dict[str, int]
    """output -> lines that are no JSON"""
    events: dict[str, list[dict[str, Any]]]
    trace_hash: str
    trace: list[tuple[int, str, str]]
    recorded: dict[str, int]
    """node -> tuples of its sources in the recording"""
    took: int
    epoch: int
    start: int
    """the time of the world at which the engine's time is ``epoch``"""
    stuck: str = ""
    struck: list[tuple[int, Fault]] = field(default_factory=list)
    """when a fault really struck (time of the world)"""


class SimulatedCar:
    """Runs a setting under the faults of a seed, once."""

    def __init__(
        self,
        setting: CarSetting,
        parts: Sequence[NodeSlice],
        faults: FaultPlan,
        *,
        keep_trace: bool = False,
    ) -> None:
        self._setting, self._faults = setting, faults
        self._parts = {part.node: part for part in parts}
        self._turns = turns = Turns(f"{faults.seed} world", keep_trace=keep_trace)
        self._network = SimulatedNetwork(turns, faults.manners, delays_of(setting.plan))
        drifts = dict(faults.drifts)
        self._hosts = {
            part.node: SimulatedHost(part.node, HostClock(turns, BASE, drifts.get(part.node, 0)))
            for part in parts
        }
        self._arrivals = {
            part.node: [one for one in setting.arrivals if one.source in set(part.own_sources)]
            for part in parts
        }
        self._addresses: dict[str, Address] = {part.node: (part.node, PORT) for part in parts}
        self._key = turns.random.randbytes(32)
        self._epoch = setting.arrivals[0].time if setting.arrivals else 0
        self._now: dict[str, Incarnation] = {}
        self._processes: list[Incarnation] = []
        self._going_on: set[str] = set()
        """nodes that run, or will be started again"""
        self._struck: list[tuple[int, Fault]] = []

    def run(self) -> CarRun:
        turns = self._turns
        for node in self._parts:
            self._start(node, resume=False)
        for fault in self._faults.faults:
            turns.at(LEAD + fault.at, partial(self._strike, fault))
        last = self._setting.arrivals[-1].time - self._epoch if self._setting.arrivals else 0
        stuck = ""
        try:
            turns.run(self._all_over, LEAD + last + PATIENCE)
        except Stuck as error:
            stuck = f"{error}; still running: {', '.join(self._still_running())}"
            for seen in self._now.values():
                seen.machine.end(power=True)
        took = turns.now
        return self._result(stuck, took)

    def _all_over(self) -> bool:
        return not self._going_on

    def _still_running(self) -> list[str]:
        return [node for node, one in self._now.items() if one.code is None]

    # ---------------------------------------------------------------- processes

    def _start(self, node: str, *, resume: bool) -> None:
        machine = SimulatedMachine(self._turns, self._network, self._hosts[node])
        seen = Incarnation(node, len(self._processes), machine)
        self._processes.append(seen)
        self._now[node] = seen
        self._going_on.add(node)
        settings = NodeSettings(
            addresses=self._addresses,
            key=self._key,
            inputs=FOLDER,
            outputs=FOLDER,
            timing=self._setting.timing,
            most_waiting=self._setting.most_waiting,
            when_full=self._setting.when_full,
            most_kept=self._setting.most_kept,
            checkpoint=self._setting.checkpoint,
            resume=resume,
        )
        begin = partial(self._begin, seen)
        run = partial(
            run_process, seen, self._parts[node], settings, self._arrivals[node], begin, self._ended
        )
        self._turns.note(node, "starts again" if resume else "starts")
        machine.spawn("main", run)

    def _begin(self, seen: Incarnation, first: int | None) -> tuple[int, int]:
        seen.began = self._engine_time()
        offset = dict(self._faults.offsets).get(seen.node, 0)
        return self._epoch, self._hosts[seen.node].clock.at(LEAD) + offset

    def _engine_time(self) -> int:
        return self._epoch + self._turns.now - LEAD

    def _ended(self, seen: Incarnation) -> None:
        seen.ended = self._engine_time()
        self._going_on.discard(seen.node)
        if seen.process is not None and seen.code not in (0, 3):
            seen.frontier = seen.process.frontier(seen.ended)

    def _kill(self, fault: Fault, seen: Incarnation) -> None:
        """The process is no more; it is started again when the fault says so."""
        node, turns = seen.node, self._turns
        if seen.code is not None or seen.machine.over:
            return
        seen.code, seen.ended = KILLED, self._engine_time()
        seen.machine.over = True  # whoever looks at it now asks nothing of its machine
        if seen.process is not None:
            seen.frontier = self._look_inside(seen)
        seen.machine.over = False
        turns.note(node, fault.kind.value)
        power = fault.kind is FaultKind.POWER_CUT
        if power:
            self._network.darken(node)
        seen.machine.end(power=power)
        if fault.until is None:
            self._going_on.discard(node)
        else:
            turns.at(max(turns.now, LEAD + fault.until), partial(self._return, node))

    def _look_inside(self, seen: Incarnation) -> int | None:
        assert seen.process is not None
        assert seen.ended is not None
        return seen.process.frontier(seen.ended)

    def _return(self, node: str) -> None:
        self._network.lighten(node)
        self._hosts[node].slowness = 1.0
        self._start(node, resume=True)

    # ---------------------------------------------------------------- faults

    def _strike(self, fault: Fault) -> None:
        turns, network, kind = self._turns, self._network, fault.kind
        if self._all_over():
            return
        seen = self._now[fault.nodes[0]]
        if kind.ends_process:
            if seen.code is not None or seen.machine.calls_left is not None:
                return  # it is away already
            self._struck.append((turns.now, fault))
            seen.machine.on_last_call = partial(self._kill, fault, seen)
            seen.machine.calls_left = fault.calls
            if kind is FaultKind.POWER_CUT:
                seen.machine.calls_left = None
                self._kill(fault, seen)
            return
        self._struck.append((turns.now, fault))
        turns.note("+".join(fault.nodes), kind.value)
        until = LEAD + (fault.at if fault.until is None else fault.until)
        others = [node for node in self._parts if node != fault.nodes[0]]
        if kind is FaultKind.RESET:
            network.break_connections(*fault.nodes)
        elif kind is FaultKind.PARTITION:
            network.cut(*fault.nodes)
            turns.at(until, partial(network.mend, *fault.nodes))
        elif kind is FaultKind.ISOLATION:
            for other in others:
                network.cut(seen.node, other)
                turns.at(until, partial(network.mend, seen.node, other))
        elif kind is FaultKind.PAUSE:
            seen.machine.paused = True
            turns.at(until, partial(turns.resume, seen.machine))
        elif kind is FaultKind.SLOW:
            self._slow(seen.node, fault.factor)
            turns.at(until, partial(self._slow, seen.node, 1.0))
        else:
            self._fill(seen.node, True)
            turns.at(until, partial(self._fill, seen.node, False))

    def _slow(self, node: str, factor: float) -> None:
        self._hosts[node].slowness = factor

    def _fill(self, node: str, full: bool) -> None:
        self._hosts[node].full = full

    # ---------------------------------------------------------------- what came of it

    def _result(self, stuck: str, took: int) -> CarRun:
        lines: dict[str, list[dict[str, Any]]] = {}
        torn: dict[str, int] = {}
        events: dict[str, list[dict[str, Any]]] = {}
        for node, part in self._parts.items():
            host = self._hosts[node]
            for output in part.plan.query.outputs:
                lines[output.name], torn[output.name] = _json_lines(
                    host.text(FOLDER / f"{output.name}.jsonl")
                )
            events[node], _ = _json_lines(host.text(FOLDER / f"{node}.events.jsonl"))
        turns = self._turns
        return CarRun(
            faults=self._faults,
            processes=self._processes,
            lines=lines,
            torn=torn,
            events=events,
            trace_hash=turns.trace_hash,
            trace=turns.trace or [],
            recorded={node: len(arrivals) for node, arrivals in self._arrivals.items()},
            took=took,
            epoch=self._epoch,
            start=LEAD,
            stuck=stuck,
            struck=self._struck,
        )


def _json_lines(text: str) -> tuple[list[dict[str, Any]], int]:
    """The lines, and how many are none."""
    found, torn = [], 0
    for line in text.split("\n"):
        if line:
            try:
                found.append(json.loads(line))
            except ValueError:
                torn += 1
    return found, torn


def delays_of(plan: Plan) -> dict[Pair, int]:
    """The shortest of the delays that the plan knows between two nodes: no message between them
    takes longer than its stream's own."""
    delays: dict[Pair, int] = {}
    for crossing in plan.crossings:
        pair = pair_of(crossing.sender, crossing.receiver)
        delays[pair] = min(crossing.delay, delays.get(pair, crossing.delay))
    return delays
