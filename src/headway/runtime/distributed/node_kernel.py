"""The kernel of one node process: streams leave for peers and come from them, with their time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headway.runtime.distributed.node_slice import NodeSlice
from headway.runtime.distributed.rows import Sent
from headway.runtime.operators.base import Row
from headway.runtime.trace import EventKind
from headway.runtime.wall import ENDED, WallKernel
from headway.runtime.wires import Wire

SendOut = Callable[[str, Sent | int | None], None]
"""(stream, a tuple, a watermark or the end)"""


class NodeKernel(WallKernel):
    """``send_out`` hands over to the I/O thread; the ``take_…`` methods are posted by it."""

    def __init__(self, part: NodeSlice, *arguments: Any, send_out: SendOut, **options: Any) -> None:
        super().__init__(part.plan, *arguments, **options)
        self._node = part.node
        self._send_out = send_out
        self._sender_of = dict(part.receives)
        self._remote_marks: dict[str, int] = {}
        self._sent = tuple(dict.fromkeys(stream for stream, _ in part.sends))
        self._told: dict[str, int] = {}
        self.received = self.sent = 0

    # ---------------------------------------------------------------- out

    def send(self, wire: Wire, row: Row, root: int, late: bool) -> None:
        self.sent += 1
        if self._record:
            now, stream = self.now, wire.stream
            self._record((EventKind.SEND, now, now, wire.node, "", stream, root, 0, 0))
        self._send_out(wire.stream, Sent(row, root, late))

    def move_time(self) -> None:
        """Closes windows here, and tells the nodes behind how far time has come."""
        super().move_time()
        if not self._sent:
            return
        self.watermarks()
        for stream in self._sent:
            mark = self.leaving[stream]
            told = self._told.get(stream)
            if mark is None or (told is not None and mark <= told) or told == ENDED:
                continue
            if mark >= ENDED:
                self._told[stream] = ENDED
                self._send_out(stream, None)
            else:
                self._told[stream] = mark
                self._send_out(stream, mark)

    # ---------------------------------------------------------------- in

    def take_rows(self, stream: str, rows: list[Sent]) -> None:
        """Tuples of another node's stream, or of a source that a driver feeds."""
        remote = stream in self._sender_of
        for row, root, late in rows:
            self.received += 1
            if remote:
                self.receive(stream, self._node, row, root, late)
            else:
                self._fed(stream, row, self.now)
        self._moved = True

    def take_mark(self, stream: str, mark: int) -> None:
        if mark > self._remote_marks.get(stream, mark - 1):
            self._remote_marks[stream] = mark
            self._moved = True

    def mark_of(self, source: str) -> int | None:
        if source in self._sender_of:
            return self._remote_marks.get(source)
        return super().mark_of(source)

    def take_loss(self, peer: str) -> None:
        """A peer is not heard of: nothing waits for its streams."""
        self.lost |= {s for s, sender in self._sender_of.items() if sender == peer} - self.ended
        self._moved = True

    def take_return(self, peer: str) -> None:
        self.lost -= {s for s, sender in self._sender_of.items() if sender == peer}

    def give_up(self, peer: str) -> bool:
        """Ends a lost peer's streams if nothing else is left to wait for; whether it did."""
        if not self.lost or not (self.ended | self.lost).issuperset(self.program.graph.sources):
            return False
        gone = {s for s in self.lost if self._sender_of[s] == peer}
        self.lost -= gone
        for stream in gone:
            self.end(stream)
        return bool(gone)

    def stop(self) -> None:
        """Takes no more input; what is inside is finished."""
        self._arrivals, self._arrival = iter(()), None
        self.lost.clear()
        for source in self.program.graph.sources:
            self.end(source)
