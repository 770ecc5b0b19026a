"""From tuples, watermarks and ends of streams to numbered frames on the links that want them."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headway.model.schema import Schema
from headway.runtime.distributed.events import EventLog
from headway.runtime.distributed.frames import MOST_BYTES, Kind, encode_mark
from headway.runtime.distributed.outgoing import Outgoing
from headway.runtime.distributed.rows import RowCodec, Sent

MOST_TOGETHER = 256
"""tuples in one frame"""


class Stream(NamedTuple):
    """A stream between processes; ``id`` is the same on all nodes of a plan."""

    id: int
    name: str
    codec: RowCodec


def stream_of(number: int, name: str, schema: Schema) -> Stream:
    return Stream(number, name, RowCodec(name, schema))


class Packer:
    """Tuples that wait together go together: one frame when the load is high, one each when not."""

    def __init__(
        self, streams: Mapping[str, Stream], links: Iterable[Outgoing], log: EventLog
    ) -> None:
        self._streams, self._log = streams, log
        listed = list(links)
        self._links = {
            name: [link for link in listed if stream.id in link.streams]
            for name, stream in streams.items()
        }
        self.unsendable = 0

    def pack(self, outbox: deque[tuple[str, Sent | int | None]]) -> None:
        rows: list[Sent] = []
        current = ""
        while outbox:
            name, what = outbox.popleft()
            together = name == current and isinstance(what, Sent) and len(rows) < MOST_TOGETHER
            if rows and not together:
                self._rows(current, rows)
                rows = []
            current = name
            if isinstance(what, Sent):
                rows.append(what)
            elif name:
                stream = self._streams[name]
                kind = Kind.END if what is None else Kind.MARK
                payload = b"" if what is None else encode_mark(what)
                for link in self._links[name]:
                    link.append(kind, stream.id, stream.codec.hash, payload)
        if rows:
            self._rows(current, rows)

    def _rows(self, name: str, rows: list[Sent]) -> None:
        stream = self._streams[name]
        try:
            payload = stream.codec.encode(rows)
            fits = len(payload) <= MOST_BYTES
        except (struct.error, UnicodeError, AttributeError, TypeError):
            fits = False
        if fits:
            for link in self._links[name]:
                link.append(Kind.ROWS, stream.id, stream.codec.hash, payload, len(rows))
        elif len(rows) > 1:
            for row in rows:
                self._rows(name, [row])
        else:
            self.unsendable += 1
            self._log.note("tuple cannot be sent", stream=name, row=repr(rows[0].row)[:200])
