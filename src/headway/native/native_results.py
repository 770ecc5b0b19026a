"""What a compiled program gave, in the Python engine's own words: side outputs with the same
reasons, the trace as the same events, the counts as those of a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from headway.engine.declared_limits import (
    Beyond,
    declared_arrivals,
    declared_results,
    rate_text,
)
from headway.engine.kernel import Precision
from headway.engine.operators.operator_base import MARKED_LATE, DropKind, Dropped
from headway.engine.reservations import FULL_UP
from headway.engine.results import ScheduledUnit
from headway.engine.trace import Event
from headway.model.expression import typed
from headway.model.graph import Graph
from headway.model.user_operator import Row
from headway.native.arriving_rows import Entrances
from headway.native.arrow_rows import RowLayout, tuples_of_rows
from headway.native.library import NativeLibrary

NO_PORT = 255
DROP_KINDS = (DropKind.LATE, DropKind.FAILED, DropKind.REJECTED, DropKind.SHED)
"""by the number of a ``headway::DropKind``"""


class DropReason(IntEnum):
    """``headway::Reason``."""

    MARKED_LATE = 0
    OLDER_THAN_WATERMARK = 1
    WINDOWS_CLOSED = 2
    QUOTA_USED = 3
    BELOW_THRESHOLD = 4
    LESS_VALUABLE = 5
    BEYOND_RATE = 6
    NO_TIME_LEFT = 7
    NO_TIME_LEFT_HARD = 8
    NO_ROOM = 9
    FUSION_LATE = 10
    FUSION_UNUSABLE = 11
    FUSION_UNSTARTED = 12
    USER = 13
    MALFORMED = 14
    FUSION_OUTSIDE = 15


_TEXTS = {
    DropReason.MARKED_LATE: MARKED_LATE,
    DropReason.OLDER_THAN_WATERMARK: "older than the watermark {detail}",
    DropReason.WINDOWS_CLOSED: "its windows are closed",
    DropReason.QUOTA_USED: "{detail} have passed in this window",
    DropReason.BELOW_THRESHOLD: "its value is below the threshold",
    DropReason.LESS_VALUABLE: "{detail} of its window are more valuable",
    DropReason.NO_TIME_LEFT: FULL_UP,
    DropReason.NO_TIME_LEFT_HARD: f"{FULL_UP} for a hard output",
    DropReason.NO_ROOM: "its buffer is full: more came than the query declares",
    DropReason.FUSION_LATE: "late",
    DropReason.FUSION_UNUSABLE: "unusable",
    DropReason.FUSION_UNSTARTED: "unstarted",
    DropReason.FUSION_OUTSIDE: "outside",
    DropReason.USER: "refused by its class ({detail})",
}


# ---------------------------------------------------------------- side outputs


class DropReader:
    """Makes the dropped tuples of a program what the Python engine lists."""

    def __init__(
        self, graph: Graph, layouts: Mapping[str, RowLayout], entrances: Entrances
    ) -> None:
        self._graph, self._layouts = graph, layouts
        self._rejected = {one.name: one.rejected for one in entrances.all}
        self._whole_values = {
            name: typed(source.shedder.value).type.is_integral
            for name, source in graph.sources.items()
            if source.shedder is not None
        }

    def take(self, library: NativeLibrary) -> list[tuple[int, Dropped]]:
        """Those since the last time the library's results were cleared: (time, tuple)."""
        drops = library.drops()
        records = drops.records
        if not len(records):
            return []
        names = library.texts(records["name"])
        rows = self._rows(records, names, drops.rows)
        return [
            (int(record["now"]), self._dropped(record, name, row))
            for record, name, row in zip(records, names, rows, strict=True)
        ]

    def _rows(self, records: Any, names: Sequence[str], found: bytes) -> list[Row | None]:
        """Of all tuples, those of one stream at once."""
        streams = [
            None if record["reason"] == DropReason.MALFORMED else self._stream(record, name)
            for record, name in zip(records, names, strict=True)
        ]
        rows: list[Row | None] = [None] * len(names)
        for stream in dict.fromkeys(streams):
            if stream is None:
                continue
            places = [place for place, one in enumerate(streams) if one == stream]
            layout = self._layouts[stream]
            starts = records["row"][places].tolist()
            together = b"".join(found[start : start + layout.size] for start in starts)
            values = tuples_of_rows(np.frombuffer(together, dtype=layout.dtype), layout)
            for place, row in zip(places, values, strict=True):
                rows[place] = row
        return rows

    def _stream(self, record: Any, name: str) -> str:
        """The stream that the tuple was on."""
        if record["at_source"] or record["port"] == NO_PORT:
            return name
        return self._graph.operators[name].inputs[int(record["port"])].stream

    def _dropped(self, record: Any, name: str, row: Row | None) -> Dropped:
        kind, reason = DROP_KINDS[record["kind"]], DropReason(record["reason"])
        if row is None:
            rejected = self._rejected[name].popleft()
            return Dropped(name, kind, rejected.row, rejected.reason)
        if record["at_source"]:
            value = self._value(record, name) if kind is DropKind.SHED else None
            return Dropped(name, kind, row, self._text(reason, record, name), value=value)
        port = ""  # of what a head gave without a new tuple
        if record["port"] != NO_PORT:
            port = self._graph.operators[name].inputs[int(record["port"])].port
        return Dropped(name, kind, row, self._text(reason, record, name), port)

    def _text(self, reason: DropReason, record: Any, name: str) -> str:
        if reason is DropReason.BEYOND_RATE:
            curve = self._graph.sources[name].arrivals
            assert curve is not None
            return f"beyond the declared rate ({rate_text(curve.sustained)}) of a hard path"
        return _TEXTS[reason].format(detail=int(record["detail"]))

    def _value(self, record: Any, name: str) -> float | int | None:
        if record["rank"] != 1:
            return float("nan") if record["rank"] else None
        if self._whole_values.get(name, False):
            return int(record["whole"])
        return float(record["real"])


# ---------------------------------------------------------------- trace and counts


def trace_events(library: NativeLibrary) -> Iterator[Event]:
    """Those since the results were cleared."""
    events = library.events()
    return zip(
        events["kind"].tolist(),
        events["start"].tolist(),
        events["end"].tolist(),
        library.texts(events["node"]),
        library.texts(events["place"]),
        library.texts(events["name"]),
        events["number"].tolist(),
        events["first"].tolist(),
        events["count"].tolist(),
        strict=True,
    )


@dataclass(frozen=True, slots=True)
class NativeUnits:
    """The trains of a program, as reports name them."""

    units: Sequence[ScheduledUnit]


@dataclass(frozen=True, kw_only=True, slots=True)
class NativeCounts:
    """What the kernel of a compiled program has counted; see
    :class:`~headway.engine.results.KernelCounts`."""

    now: int
    arrived: int
    timeouts: int
    decisions: int
    preemptions: int
    refused: int
    no_room: int
    """tuples shed because a buffer was full: none where buffers grow"""
    results: int
    """tuples of all outputs"""
    program: NativeUnits
    beyond: tuple[Beyond, ...]
    precision: Mapping[str, Precision]
    """by output"""

    def exceeded(self) -> tuple[Beyond, ...]:
        return self.beyond

    def output_precision(self) -> Mapping[str, Precision]:
        return self.precision


def native_counts(
    library: NativeLibrary, graph: Graph, stateful: Sequence[str], units: Sequence[ScheduledUnit]
) -> NativeCounts:
    """Of the run so far; ``stateful`` are the operators with state in the program's order."""
    found = library.counts()
    return NativeCounts(
        now=found.now,
        arrived=found.arrived,
        timeouts=found.timeouts,
        decisions=found.decisions,
        preemptions=found.preemptions,
        refused=found.refused,
        no_room=found.no_room,
        results=found.results,
        program=NativeUnits(tuple(units)),
        beyond=tuple(_beyond(library, graph, stateful)),
        precision={
            name: Precision(pieces.done, pieces.asked)
            for place, (name, _) in enumerate(library.outputs)
            if (pieces := library.precision(place)).asked
        },
    )


def _beyond(library: NativeLibrary, graph: Graph, stateful: Sequence[str]) -> Iterator[Beyond]:
    for place, (name, _) in enumerate(library.sources):
        rate = graph.sources[name].rate
        if rate is not None and (count := library.beyond_rate(place)):
            yield Beyond(name, declared_arrivals(graph.sources[name]), count)
    for place, name in enumerate(stateful):
        if count := library.beyond_results(place):
            yield Beyond(name, declared_results(graph.operators[name]), count)
