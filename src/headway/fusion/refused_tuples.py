"""The tuples that are in no estimate: counted, and kept until the engine takes them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from headway.fusion.snapshots import pack_row, unpack_row
from headway.model.user_operator import Row


class RefusalReason(StrEnum):
    """Why a tuple is in no estimate."""

    LATE = "late"
    """it is older than the windows of its object"""
    UNUSABLE = "unusable"
    """a value it cannot do without is NULL, not a finite number or out of bounds"""
    UNSTARTED = "unstarted"
    """until it left the front window nothing came that an estimate could have started with"""
    OUTSIDE = "outside"
    """it was outside the gate of its object, and until it left the front window no other object
    that it could be of had taken over the key"""


class Refused(NamedTuple):
    """A tuple that is in no estimate."""

    reason: RefusalReason
    port: str
    row: Row


class Refusals:
    """Counts for ever, tuples until they are taken."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(RefusalReason, 0)
        self._waiting: list[Refused] = []

    def add(self, reason: RefusalReason, port: str, row: Row) -> None:
        self.counts[reason] += 1
        self._waiting.append(Refused(reason, port, row))

    def take(self) -> list[Refused]:
        taken, self._waiting = self._waiting, []
        return taken

    def pack(self) -> dict[str, Any]:
        return {
            # What only a gate refuses is left out without one.
            "counts": {
                reason.value: count
                for reason, count in self.counts.items()
                if count or reason is not RefusalReason.OUTSIDE
            },
            "waiting": [[r.reason.value, r.port, pack_row(r.row)] for r in self._waiting],
        }

    def unpack(self, packed: dict[str, Any]) -> None:
        self.counts = {reason: packed["counts"].get(reason.value, 0) for reason in RefusalReason}
        self._waiting = [
            Refused(RefusalReason(reason), port, unpack_row(row))
            for reason, port, row in packed["waiting"]
        ]
