"""What happened, as columns: every decision, run, preemption, timeout, drop and output.

The kernel appends plain tuples; they become Arrow columns when somebody asks.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


class EventKind(IntEnum):
    """Kinds of events; ``start`` to ``end`` is a run of operators or a frame on a bus or link, all
    others are instants."""

    RUN = 0
    PREEMPT = 1
    RESUME = 2
    TIMEOUT = 3
    OUTPUT = 4
    MISS = 5
    SHED = 6
    LATE = 7
    FAILED = 8
    REJECTED = 9
    SEND = 10
    RECEIVE = 11
    RELEASE = 12
    FRAME = 13
    BEHIND = 14
    OVERRUN = 16
    """a job's budget does not hold its next operator, and another job is ready"""
    REPLENISH = 17
    """an overrun job goes on because none is ready"""
    CUT = 18
    """the rest of an optional part is left out: another job is ready, or the deadline is near"""


Event = tuple[int, int, int, str, str, str, int, int, int]
"""(kind, start, end, node, core or medium, what, job, first operator, operators run); of a frame:
its stream, the arrival number of the tuple, its place among the frames, their number"""

COLUMNS = ("kind", "start", "end", "node", "place", "what", "job", "first", "ran")


class Trace:
    """Events in the order they happened. ``kept`` off keeps nothing, for long runs."""

    def __init__(self, *, kept: bool = True) -> None:
        self.kept = kept
        self.events: list[Event] = []

    def to_table(self) -> pa.Table:
        """One row an event; times in nanoseconds."""
        import pyarrow as pa

        columns: list[list[Any]] = (
            [list(column) for column in zip(*self.events, strict=True)]
            if self.events
            else [[] for _ in COLUMNS]
        )
        kinds = [EventKind(kind).name.lower() for kind in columns[0]]
        arrays = [
            pa.array(kinds, pa.string()).dictionary_encode(),
            pa.array(columns[1], pa.int64()),
            pa.array(columns[2], pa.int64()),
            *(pa.array(column, pa.string()).dictionary_encode() for column in columns[3:6]),
            pa.array(columns[6], pa.int64()),
            pa.array(columns[7], pa.int32()),
            pa.array(columns[8], pa.int32()),
        ]
        return pa.table(dict(zip(COLUMNS, arrays, strict=True)))
