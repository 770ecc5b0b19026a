"""A node's process on a simulated host: the code of a node, started as its command line starts it,
and what an onlooker sees of it that the node itself cannot tell once it is killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.engine.jobs import Arrival
from headway.engine.nodes.links import FramePlace
from headway.engine.nodes.node_command import HARD_MISSED
from headway.engine.nodes.node_process import NodeProcess, NodeSettings
from headway.engine.nodes.node_slice import NodeSlice
from headway.engine.nodes.wire_format import Sent
from headway.engine.operators.operator_base import Dropped
from headway.errors import HeadwayError, NodeFailed
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.simulation.simulated_machine import SimulatedMachine

IN_HAND = 5 * MILLISECOND
"""what came within that time may be neither waiting nor done"""
KILLED = -9
UNFORESEEN = -1
"""an error that the command line would not have made a message of"""


@dataclass
class Incarnation:
    """A process of a node from its start to its end, as an onlooker saw it. Times of the engine in
    nanoseconds. ``frontier``: tuples older than this had left the process when it was killed."""

    node: str
    number: int
    machine: SimulatedMachine
    code: int | None = None
    error: str = ""
    report: dict[str, Any] | None = None
    began: int | None = None
    ended: int | None = None
    frontier: int | None = None
    drops: list[Dropped] = field(default_factory=list)
    sent: list[tuple[str, int]] = field(default_factory=list)
    """stream and timestamp of each tuple, in order"""
    received: list[tuple[str, int]] = field(default_factory=list)
    process: ObservedProcess | None = None

    @property
    def taken_up(self) -> bool:
        """Whether it goes on where the one before it was killed."""
        return self.process is not None and self.process.taken_up


class ObservedProcess(NodeProcess):
    """A node whose recording is at hand, and whose tuples are noted as they come and go."""

    def __init__(
        self,
        part: NodeSlice,
        settings: NodeSettings,
        machine: SimulatedMachine,
        arrivals: Sequence[Arrival],
        seen: Incarnation,
    ) -> None:
        self._at_hand, self._seen = arrivals, seen
        self._just_come: list[tuple[int, int]] = []
        """when (time of the world), and its timestamp"""
        super().__init__(part, settings, machine)

    def _recording(self) -> Iterator[Arrival]:
        return iter(self._at_hand)

    def _give(self, stream: str, what: Sent | int | None) -> None:
        if isinstance(what, Sent):
            self._seen.sent.append((stream, what.row[0]))
        super()._give(stream, what)

    def rows(self, stream: str, rows: list[Sent], place: FramePlace) -> None:
        self._seen.received += [(stream, sent.row[0]) for sent in rows]
        now = self._seen.machine.turns.now
        self._just_come = [one for one in self._just_come if one[0] > now - IN_HAND]
        self._just_come += [(now, sent.row[0]) for sent in rows]
        super().rows(stream, rows, place)

    def _drop(self, dropped: Dropped, now: int) -> None:
        self._seen.drops.append(dropped)
        super()._drop(dropped, now)

    def frontier(self, now: int) -> int | None:
        """Nothing older than this is inside; None before it runs, or when nobody knows."""
        run = self._time
        if run is None:
            return now
        times = [job.row[0] * MICROSECOND for job in run._ready]
        for _, arguments in run._inbox:
            if len(arguments) == 3 and isinstance(arguments[1], list):
                times += [sent.row[0] * MICROSECOND for sent in arguments[1]]
        # What was in the hands of a thread is in no list.
        now_there = self._seen.machine.turns.now
        times += [at * MICROSECOND for came, at in self._just_come if came > now_there - IN_HAND]
        for units in run.kernel.program.windows.units.values():
            flights = [one for unit in units for one in unit.flights or ()]
            times += [at * MICROSECOND for at, _, flight in flights if not flight.landed]
        outside, ingests = run._outside.marks, run.kernel.ingests
        marks = [outside.get(name, ingest.watermark) for name, ingest in ingests.items()]
        known = [mark * MICROSECOND for mark in marks if mark is not None]
        return min([now, *times, *known]) if len(known) == len(marks) else None


def run_process(
    seen: Incarnation,
    part: NodeSlice,
    settings: NodeSettings,
    arrivals: Sequence[Arrival],
    begin: Callable[[int | None], tuple[int, int]],
    ended: Callable[[Incarnation], None],
) -> None:
    """What the command line of a node does; ``begin`` takes the first arrival and gives the epoch
    and the start."""
    machine = seen.machine
    try:
        process = ObservedProcess(part, settings, machine, arrivals, seen)
        seen.process = process
        process.log.note("ready", first_arrival=process.first_arrival)
        epoch, start = begin(process.first_arrival)
        seen.report = report = process.run(epoch, start)
        missed = report["hard_missed"] or report["refused_jobs"]
        seen.code = HARD_MISSED if missed else 0
    except HeadwayError as error:
        seen.code, seen.error = 1 if isinstance(error, NodeFailed) else 2, str(error)
    except OSError as error:
        seen.code, seen.error = 2 if seen.process is None else UNFORESEEN, repr(error)
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        seen.code, seen.error = UNFORESEEN, f"{type(error).__name__}: {error}"
    machine.turns.note(seen.node, f"exit {seen.code} {seen.error}")
    ended(seen)
    machine.end()
