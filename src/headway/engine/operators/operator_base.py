"""What the steps of a train are: operators that get rows and give rows, and know no scheduling.

A row is a plain tuple laid out as ``Schema.columns``, the sensing time in microseconds first.
``now`` is the engine's time in nanoseconds. Whatever an operator cannot use leaves by its side
list, never by an exception: the engine must outlive a bad tuple.

Keys of joins and groups are equal where SQL says so: NaN equals NaN, and 0.0 equals -0.0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from headway.errors import DataError
from headway.expressions.body import Body, build, define
from headway.model.schema import DataType, Schema
from headway.model.user_operator import Row, State


class DropKind(StrEnum):
    """Why a tuple left its way."""

    LATE = "late"
    """It came when its windows were already closed."""
    FAILED = "failed"
    """A function of the user raised, or gave what its type does not allow."""
    REJECTED = "rejected"
    """It does not have the form its source promises, or comes beyond the rate it promises."""
    SHED = "shed"
    """The load shedder let others pass before it, or no processor time was left to reserve."""


MARKED_LATE = "marked late at its source"
"""why a join or a window drops a tuple"""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A tuple in a side list: where it was lost (an operator or a source) and why."""

    where: str
    kind: DropKind
    row: Row
    reason: str
    port: str | None = None
    value: Any = None
    """a shed tuple's value"""


def failure(operator: str, row: Any, error: Exception) -> DataError:
    """What is said about a tuple for which a function of the user raised."""
    what = str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
    return DataError(what, at=f"operator {operator!r}", got=f"row {row!r:.200}")


class Timer(NamedTuple):
    """The engine is to call ``expire(token, now)`` at ``at`` (nanoseconds), after all arrivals of
    that instant."""

    at: int
    token: int


class SideList:
    """Collects dropped tuples until somebody takes them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.side: list[Dropped] = []

    def drop(self, kind: DropKind, row: Row, reason: str, port: str | None = None) -> None:
        self.side.append(Dropped(self.name, kind, row, reason, port))

    def take_side(self) -> list[Dropped]:
        """What was dropped since the last call."""
        taken, self.side = self.side, []
        return taken


class StatefulOperator(SideList, ABC):
    """An operator that remembers rows: join, aggregate, and the class of a user.

    The watermark an operator is told must not run ahead of rows that still wait before it: the
    engine passes it on in order with them.
    """

    beyond = 0
    """results beyond the number that is declared"""
    own_timestamps = False
    """whether a result may be older than what caused it and all that is kept: a user's class may
    say so"""

    @abstractmethod
    def accept(self, port: str, row: Row, now: int, late: bool = False) -> list[Row]:
        """One tuple comes in; ``late`` is the mark it got at ingest."""

    def advance(self, watermark_us: int) -> list[Row]:
        """No tuple older than this comes any more, unless it is marked late: an aggregate closes
        its windows, a join forgets what nothing can match."""
        return []

    def next_due(self) -> int | None:
        """:meth:`advance` does nothing before this watermark; None: it may at any."""
        return None

    def finish(self) -> list[Row]:
        """The input has ended: whatever still waits for a later watermark goes out."""
        return []

    def output_watermark(self, watermark_us: int) -> int:
        """No later output is older than this, given the watermark of the inputs."""
        return watermark_us

    def take_timers(self) -> list[Timer]:
        """The timers to start since the last call."""
        return []

    def expire(self, token: int, now: int) -> list[Row]:
        """A timer is over; nothing happens if it no longer matters."""
        return []

    @abstractmethod
    def snapshot(self) -> State:
        """The state as JSON-able data."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Takes up a state that :meth:`snapshot` gave, in place of the present one."""

    def size(self) -> int:
        """How many rows (or groups) it keeps."""
        return 0


class BatchOperator(StatefulOperator):
    """One that can run over many tuples in one execution."""

    @abstractmethod
    def execute(
        self, inputs: Mapping[str, Sequence[Row]], now: int, timed_out: bool = False
    ) -> list[Row]:
        """One execution with the tuples of each port."""


# -------------------------------------------------------------------- keys


Key = tuple[Any, ...]
_NAN = float("nan")


def key_function(schema: Schema, columns: Sequence[str]) -> Callable[[Row], Key]:
    """``row -> key``, fit for a dict: one NaN object stands for all, and -0.0 becomes 0.0."""
    body = Body()
    places = {field.name: place for place, field in enumerate(schema.columns)}
    parts: list[str] = []
    for name in columns:
        field = schema.find(name)
        assert field is not None
        value = f"row[{places[name]}]"
        if field.type in (DataType.FLOAT, DataType.DOUBLE):
            # Adding 0.0 makes -0.0 positive and changes nothing else.
            value = (
                f"(None if (k{len(parts)} := {value}) is None"
                f" else k{len(parts)} + 0.0 if k{len(parts)} == k{len(parts)} else nan)"
            )
        parts.append(value)
    body.line(f"return ({', '.join(parts)},)" if parts else "return ()")
    (function,) = build(define("key", ["row"], body), ["key"], {"nan": _NAN})
    return function


def restored_key(values: Sequence[Any]) -> Key:
    """A key that came back from a snapshot."""
    return tuple(_NAN if value != value else value for value in values)
