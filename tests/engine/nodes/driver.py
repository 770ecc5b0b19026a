"""Programs outside the nodes: a driver feeds sources, a subscriber takes outputs, by frames."""

from __future__ import annotations

import queue
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from headway.engine.nodes.links import FramePlace
from headway.engine.nodes.liveness import PeerTiming
from headway.engine.nodes.node_machine import Address
from headway.engine.nodes.node_records import EventLog
from headway.engine.nodes.node_slice import OUTPUT, NodeSlice
from headway.engine.nodes.peers import Peers
from headway.engine.nodes.wire_format import Sent, WireStream, stream_of
from headway.model.plan import Plan
from headway.model.user_operator import Row


class _Silent:
    """A handler for those who get nothing."""

    def rows(self, stream: str, rows: list[Sent], place: FramePlace) -> None: ...

    def mark(self, stream: str, mark: int, place: FramePlace) -> None: ...

    def ended(self, stream: str, place: FramePlace) -> None: ...

    def lost(self, peer: str) -> None: ...

    def back(self, peer: str) -> None: ...

    def tick(self, now: int) -> None: ...

    def failed(self, error: BaseException) -> None: ...


class Driver:
    """Feeds the sources of nodes that were started without a recording."""

    def __init__(
        self,
        parts: Iterable[NodeSlice],
        addresses: Mapping[str, Address],
        key: bytes,
        timing: PeerTiming | None = None,
    ) -> None:
        listed = list(parts)
        streams: dict[str, WireStream] = {}
        for part in listed:
            own = {s.name: s for s in part.wire_streams() if s.name in part.own_sources}
            streams |= own
        sends = {part.node: part.own_sources for part in listed if part.own_sources}
        self._sources = tuple(streams)
        self._peers = Peers(
            "driver",
            fingerprint=listed[0].fingerprint,
            key=key,
            streams=streams.values(),
            sends=sends,
            senders=(),
            addresses=addresses,
            handler=_Silent(),
            log=EventLog("driver"),
            timing=timing or PeerTiming(),
        )
        self._peers.start()

    def feed(self, source: str, row: Row) -> None:
        self._peers.send(source, Sent(row, 0, False))

    def close(self) -> None:
        """Ends all sources, and waits until the nodes know."""
        for source in self._sources:
            self._peers.send(source, None)
        self._peers.finish()


class Delivered(NamedTuple):
    """A tuple of an output, with the engine's time at which it was completed (ns)."""

    output: str
    row: Row
    completed: int


class Subscriber(_Silent):
    """Listens for the outputs of a plan; give its address to the nodes as ``--subscriber``."""

    def __init__(
        self,
        plan: Plan,
        parts: Iterable[NodeSlice],
        key: bytes,
        timing: PeerTiming | None = None,
    ) -> None:
        listed = list(parts)
        numbers, schemas = dict(listed[0].streams), dict(plan.schemas)
        names = {OUTPUT + output.name: schemas[output.stream] for output in plan.query.outputs}
        self._open = set(names)
        self._queue: queue.SimpleQueue[Delivered | None] = queue.SimpleQueue()
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{listener.getsockname()[1]}"
        self._peers = Peers(
            "subscriber",
            fingerprint=listed[0].fingerprint,
            key=key,
            streams=[stream_of(numbers[name], name, schema) for name, schema in names.items()],
            sends={},
            senders=(),
            addresses={},
            handler=self,
            log=EventLog("subscriber"),
            timing=timing or PeerTiming(),
            listener=listener,
        )
        self._peers.start()

    def rows(self, stream: str, rows: list[Sent], place: FramePlace) -> None:
        for row, completed, _ in rows:
            self._queue.put(Delivered(stream.removeprefix(OUTPUT), row, completed))

    def ended(self, stream: str, place: FramePlace) -> None:
        self._open.discard(stream)
        if not self._open:
            self._queue.put(None)

    def __iter__(self) -> Iterator[Delivered]:
        """All tuples until every output has ended."""
        while (delivered := self._queue.get()) is not None:
            yield delivered

    def close(self) -> None:
        self._peers.finish()

    def __enter__(self) -> Subscriber:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
