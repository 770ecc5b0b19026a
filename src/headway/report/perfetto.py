"""A trace in the Chrome trace event format, which https://ui.perfetto.dev opens as it is.

One process per node: a thread for what happens there and one per core with a slice for each
operator that ran. One process for the network, a thread per bus or link with a slice per frame.
Times are microseconds from the recording's first arrival.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from headway.engine.results import RunResult, VehicleRun
from headway.engine.trace import EventKind
from headway.model.plan import Plan
from headway.model.routes import architecture_of

Entry = dict[str, Any]
NETWORK = "network"
EVENTS_THREAD = 0
SLICES = (EventKind.RUN, EventKind.FRAME)
_WORDS = {
    EventKind.PREEMPT: "{} preempted",
    EventKind.RESUME: "{} resumes",
    EventKind.TIMEOUT: "{} times out",
    EventKind.OUTPUT: "{}",
    EventKind.MISS: "{} missed its deadline",
    EventKind.SHED: "{} sheds a tuple",
    EventKind.LATE: "{}: a late tuple",
    EventKind.FAILED: "{} fails",
    EventKind.REJECTED: "{} rejects a tuple",
    EventKind.SEND: "sends {}",
    EventKind.RECEIVE: "receives {}",
    EventKind.RELEASE: "{} released",
    EventKind.OVERRUN: "{} has used its budget",
    EventKind.REPLENISH: "{} goes on in spare time",
    EventKind.CUT: "{}: its optional part is cut",
}
_COLOURS = {
    EventKind.MISS: "terrible",
    EventKind.LATE: "bad",
    EventKind.SHED: "bad",
    EventKind.FAILED: "terrible",
    EventKind.REJECTED: "bad",
    EventKind.OVERRUN: "bad",
}


class PerfettoTrace:
    """Collects the traces of one or more vehicles; ``begin`` (ns) is the zero of its times."""

    def __init__(self, plan: Plan, begin: int) -> None:
        self._plan = plan
        self._begin = begin
        self._entries: list[Entry] = []
        self._processes = 0

    def add(self, run: VehicleRun) -> None:
        """A vehicle's events, in order of time, behind the names of its processes and threads."""
        layout = _Layout(self._plan, run.vehicle, self._processes + 1)
        self._processes += len(layout.processes)
        self._entries += layout.names()
        entries = [*self._slices(layout, run.result), *self._instants(layout, run.result)]
        self._entries += sorted(entries, key=lambda entry: float(entry["ts"]))

    def to_json(self) -> str:
        """One event a line."""
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in self._entries)
        about = {"query": self._plan.query.name, "begin_ns": self._begin}
        return (
            f'{{"displayTimeUnit": "ms",\n"otherData": {json.dumps(about)},\n'
            f'"traceEvents": [\n{lines}\n]}}\n'
        )

    def _slices(self, layout: _Layout, result: RunResult) -> Iterator[Entry]:
        for one in merged(slices_of(result)):
            pid, tid = layout.thread(one.place)
            yield {
                "ph": "X",
                "name": one.name,
                "cat": one.category,
                "ts": self._time(one.start),
                "dur": (one.end - one.start) / 1000,
                "pid": pid,
                "tid": tid,
                "args": one.details,
            }

    def _instants(self, layout: _Layout, result: RunResult) -> Iterator[Entry]:
        for number, start, _, node, place, what, job, _, _ in result.trace.events:
            kind = EventKind(number)
            if kind in SLICES:
                continue
            if place:
                (pid, tid), details = layout.thread(place), {"job": job}
            else:
                pid, tid = layout.process(node, what), EVENTS_THREAD
                details = {"tuple": job} if job else {}
            name = kind.name.lower()
            entry = {
                "ph": "i",
                "name": _WORDS.get(kind, f"{name} {{}}").format(what),
                "cat": name,
                "ts": self._time(start),
                "s": "t",
                "pid": pid,
                "tid": tid,
                "args": details,
            }
            if kind in _COLOURS:
                entry["cname"] = _COLOURS[kind]
            yield entry

    def _time(self, nanoseconds: int) -> float:
        return (nanoseconds - self._begin) / 1000


class Slice(NamedTuple):
    """A bar in the picture. ``parted``: it may be a part of what the operator did in one go."""

    name: str
    category: str
    place: str
    start: int
    end: int
    details: dict[str, Any]
    parted: bool = False


def slices_of(result: RunResult) -> Iterator[Slice]:
    """A slice per operator and per frame: a train that ran in one go is taken apart again."""
    units = {unit.name: unit for unit in result.kernel.program.units}
    for kind, start, end, _, place, what, job, first, ran in result.trace.events:
        if kind == EventKind.FRAME:
            details = {"tuple": job, "frame": f"{first + 1} of {ran}"}
            yield Slice(what, "frame", place, start, end, details)
        elif kind == EventKind.RUN:
            unit = units[what]
            for index in range(first, first + ran):
                last = index == first + ran - 1
                until = end if last else start + unit.costs[index]
                details = {"task": what, "job": job}
                parted = unit.between_items and index == 0
                yield Slice(unit.operators[index], "operator", place, start, until, details, parted)
                start = until


def merged(slices: Iterable[Slice]) -> Iterator[Slice]:
    """An operator that may be preempted between its items, and was not, is one slice again."""
    last: dict[str, Slice] = {}
    for one in slices:
        before = last.get(one.place)
        if before is not None:
            if one.parted and before == one._replace(start=before.start, end=one.start):
                last[one.place] = before._replace(end=one.end)
                continue
            yield before
        last[one.place] = one
    yield from last.values()


class _Layout:
    """Numbers of processes and threads for one vehicle."""

    def __init__(self, plan: Plan, vehicle: str | None, first: int) -> None:
        nodes = plan.vehicle.nodes
        media = list(architecture_of(plan.vehicle).media)
        names = [node.name for node in nodes] + [NETWORK] * bool(media)
        self._prefix = "" if vehicle is None else f"{vehicle}: "
        self.processes = {name: first + index for index, name in enumerate(names)}
        self._node_of = dict(plan.placement)
        self._first_node = nodes[0].name
        self._threads: dict[str, tuple[int, int]] = {}
        self._thread_names: dict[tuple[int, int], str] = {}
        for node in nodes:
            pid = self.processes[node.name]
            self._thread_names[pid, EVENTS_THREAD] = "events"
            for core in range(node.cores):
                place = f"{node.name}.{core}" if node.cores > 1 else node.name
                self._threads[place] = (pid, core + 1)
                self._thread_names[pid, core + 1] = f"core {core}"
        for tid, medium in enumerate(media, start=1):
            self._threads[medium] = (self.processes[NETWORK], tid)
            self._thread_names[self._threads[medium]] = medium

    def thread(self, place: str) -> tuple[int, int]:
        return self._threads[place]

    def process(self, node: str, what: str) -> int:
        """The node of an instant; a dropped tuple names only the operators it was lost at."""
        where = what.partition(">")[0]
        return self.processes[node or self._node_of.get(where, self._first_node)]

    def names(self) -> Iterator[Entry]:
        for name, pid in self.processes.items():
            yield _about("process_name", pid, 0, name=self._prefix + name)
            yield _about("process_sort_index", pid, 0, sort_index=pid)
        for (pid, tid), name in self._thread_names.items():
            yield _about("thread_name", pid, tid, name=name)


def _about(what: str, pid: int, tid: int, **details: str | int) -> Entry:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": details}
