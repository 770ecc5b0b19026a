"""Where the messages of one source become tuples: decoded, counted, handed to the engine.

What cannot be a tuple is quarantined: counted by reason, and the first of them kept with their
bytes, because a message that is gone cannot be looked at. It never stops the others.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.errors import DataError
from headway.gateway.payloads import Payload
from headway.model.quantities import MICROSECOND
from headway.model.query import Source
from headway.model.schema import TIMESTAMP_COLUMN
from headway.model.user_operator import Row
from headway.sources.jsonl_file import CONVERTERS
from headway.sources.source_records import bad_value

MOST_BYTES = 1 << 20
"""of a message; a longer one is refused unread"""
KEPT = 1000
"""refused messages of a source that are kept"""
KEPT_BYTES = 4096
"""of each"""


@dataclass(frozen=True, slots=True)
class InletCounts:
    """Messages that became tuples, and those that did not, by reason."""

    taken: int
    refused: Mapping[str, int]
    again: int = 0
    """overlooked, because they had come before"""


class Inlet:
    """``feed`` takes a tuple into the engine. ``names`` are what messages call the columns, where
    it is not their names. ``once``: a message with the bytes of one of the last so many is
    overlooked. ``clock`` tells the time, in nanoseconds since the epoch."""

    def __init__(
        self,
        source: Source,
        feed: Callable[[str, Row], None],
        quarantine: Path,
        *,
        on_event: Callable[[str, str], None],
        names: Mapping[str, str] | None = None,
        stamped_here: bool = False,
        once: int = 0,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.source = source
        self._feed, self._on_event, self._clock = feed, on_event, clock
        self._stamped_here = stamped_here
        called = names or {}
        self._columns = [
            (field, called.get(field.name, field.name), CONVERTERS[field.type])
            for field in source.schema.columns
        ]
        self._quarantine = quarantine / f"{source.name}.jsonl"
        self._lock = threading.Lock()
        self._taken = 0
        self._refused: Counter[str] = Counter()
        self._kept = 0
        self._said = ""
        self._recent: dict[bytes, None] = {}
        """digests of the last messages, oldest first"""
        self._once, self._again = once, 0

    # ---------------------------------------------------------------- from the protocol's threads

    def message(self, payload: Payload, body: bytes, where: str) -> None:
        """A message that came at ``where``."""
        if len(body) > MOST_BYTES:
            self.refuse(f"longer than {MOST_BYTES} bytes", body, where)
            return
        if self._once and self._came_before(body):
            return
        try:
            row = self._row(payload.decode(body), where)
        except DataError as error:
            problem = error.problems[0]
            told = f"{problem.at}: {problem.what}" if problem.at else problem.what
            self.refuse(told, body, where)
            return
        self.row(row)

    def _came_before(self, body: bytes) -> bool:
        digest = hashlib.blake2b(body, digest_size=16).digest()
        with self._lock:
            if digest in self._recent:
                self._again += 1
                return True
            self._recent[digest] = None
            if len(self._recent) > self._once:
                del self._recent[next(iter(self._recent))]
        return False

    def _row(self, values: Mapping[str, Any], where: str) -> Row:
        if self._stamped_here:
            values = {**values, self._columns[0][1]: self._clock() // MICROSECOND}
        cells: list[Any] = []
        for field, name, convert in self._columns:
            value = values.get(name)
            try:
                cells.append(None if value is None else convert(value))
            except (TypeError, ValueError, OverflowError):
                raise bad_value(where, 0, field, value) from None
        if cells[0] is None:
            raise DataError(
                "a message without a sensing time",
                at=TIMESTAMP_COLUMN,
                want="send it, or write stamp=arrival in the address",
            )
        return tuple(cells)

    def row(self, row: Row) -> None:
        """What became a tuple."""
        with self._lock:
            self._taken += 1
        self._feed(self.source.name, row)

    def refuse(self, reason: str, body: bytes, where: str) -> None:
        """What did not."""
        with self._lock:
            self._refused[reason] += 1
            if self._kept >= KEPT:
                return
            self._kept += 1
            entry = {
                "at": self._clock() // MICROSECOND,
                "where": where,
                "reason": reason,
                "bytes": len(body),
                "body": base64.b64encode(body[:KEPT_BYTES]).decode(),
            }
            unwritten = self._write_down(entry)
        if unwritten:
            self.event(unwritten)

    def _write_down(self, entry: Mapping[str, object]) -> str:
        """Why it could not be: a full disk ends neither the count nor the connection."""
        try:
            self._quarantine.parent.mkdir(parents=True, exist_ok=True)
            with self._quarantine.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            return f"refused messages cannot be kept in {self._quarantine}: {error.strerror}"
        return ""

    def event(self, what: str) -> None:
        """The connection was lost, or is there again; said once, however often it is told."""
        with self._lock:
            said, self._said = self._said, what
        if said != what:
            self._on_event(self.source.name, what)

    # ---------------------------------------------------------------- from anywhere

    def counts(self) -> InletCounts:
        with self._lock:
            return InletCounts(self._taken, dict(self._refused), self._again)
