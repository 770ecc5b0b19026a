"""A trace in the Chrome trace event format, which https://ui.perfetto.dev opens as it is.

One process per node: a thread for what happens there and one per core with a slice for each
operator that ran. One process for the network, a thread per bus or link with a slice per frame.
Times are microseconds from the recording's first arrival.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from headway.model.plan import Plan
from headway.runtime.engine import RunResult
from headway.runtime.replay import VehicleRun
from headway.runtime.trace import Event, EventKind

Entry = dict[str, Any]
NETWORK = "network"
EVENTS_THREAD = 0
OPERATOR, FRAME = "operator", "frame"
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
}
_COLOURS = {
    EventKind.MISS: "terrible",
    EventKind.LATE: "bad",
    EventKind.SHED: "bad",
    EventKind.FAILED: "terrible",
    EventKind.REJECTED: "bad",
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
        for name, category, place, start, end, details in merged(
            slices_of(result.trace.events, result)
        ):
            pid, tid = layout.thread(place)
            yield {
                "ph": "X",
                "name": name,
                "cat": category,
                "ts": self._time(start),
                "dur": (end - start) / 1000,
                "pid": pid,
                "tid": tid,
                "args": details,
            }

    def _instants(self, layout: _Layout, result: RunResult) -> Iterator[Entry]:
        for kind, start, _, node, place, what, job, _, _ in result.trace.events:
            if kind in (EventKind.RUN, EventKind.FRAME):
                continue
            pid, tid = layout.thread(place) if place else (layout.process(node, what), 0)
            entry = {
                "ph": "i",
                "name": _WORDS[EventKind(kind)].format(what),
                "cat": EventKind(kind).name.lower(),
                "ts": self._time(start),
                "s": "t",
                "pid": pid,
                "tid": tid,
                "args": {"job": job},
            }
            if kind in _COLOURS:
                entry["cname"] = _COLOURS[EventKind(kind)]
            yield entry

    def _time(self, nanoseconds: int) -> float:
        return (nanoseconds - self._begin) / 1000


Slice = tuple[str, str, str, int, int, dict[str, Any]]
"""(name, category, place, start, end, details)"""


def slices_of(events: Sequence[Event], result: RunResult) -> Iterator[Slice]:
    """A slice per operator and per frame: a train that ran in one go is taken apart again."""
    units = {unit.name: unit for unit in result.kernel.program.units}
    for kind, start, end, _, place, what, job, first, ran in events:
        if kind == EventKind.FRAME:
            yield what, FRAME, place, start, end, {"frame": f"{first + 1} of {ran}"}
        elif kind == EventKind.RUN:
            unit = units[what]
            details = {"task": what, "job": job}
            for index in range(first, first + ran):
                last = index == first + ran - 1
                until = end if last else start + unit.costs[index]
                yield unit.operators[index], OPERATOR, place, start, until, details
                start = until


def merged(slices: Iterable[Slice]) -> Iterator[Slice]:
    """Slices of one operator of one job that follow each other without a gap are one slice."""
    last: dict[str, Slice] = {}
    for one in slices:
        before = last.get(one[2])
        if before is not None:
            same = (*before[:3], before[4], before[5]) == (*one[:4], one[5])
            if same and one[1] == OPERATOR:
                last[one[2]] = (*before[:4], one[4], before[5])
                continue
            yield before
        last[one[2]] = one
    yield from last.values()


class _Layout:
    """Numbers of processes and threads for one vehicle."""

    def __init__(self, plan: Plan, vehicle: str | None, first: int) -> None:
        nodes = plan.vehicle.nodes
        media = [medium.name for medium in (*plan.vehicle.buses, *plan.vehicle.links)]
        names = [node.name for node in nodes] + [NETWORK] * bool(media)
        self._prefix = "" if vehicle is None else f"{vehicle}: "
        self.processes = {name: first + index for index, name in enumerate(names)}
        self._node_of = {**dict(plan.placement), **{o.name: "" for o in plan.query.outputs}}
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
        return self.processes[node or self._node_of[what.partition(">")[0]]]

    def names(self) -> Iterator[Entry]:
        for index, (name, pid) in enumerate(self.processes.items()):
            about = {"process_name": {"name": self._prefix + name}}
            order = {"process_sort_index": {"sort_index": index}}
            for what, details in (about | order).items():
                yield {"ph": "M", "name": what, "pid": pid, "tid": 0, "args": details}
        for (pid, tid), name in self._thread_names.items():
            yield {
                "ph": "M",
                "name": "thread_name",
                "pid": pid,
                "tid": tid,
                "args": {"name": name},
            }
