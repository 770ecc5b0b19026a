"""The state of a stream's partitions as files: which a task reads, and which it writes.

Vehicles are dealt out by the hash of their names. A partition's state is one whole segment and,
over it, segments of the vehicles that later batches changed; when these outweigh it, or most
vehicles changed, the task writes a whole one. Segments bear names of their attempt, so nobody ever
writes into one that a record names.

When the number of partitions changes, a task reads the partitions its vehicles may have been in and
takes its own out of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from pathlib import Path

from headway.errors import DataError, FileError, Place
from headway.spark.state.batch_manifest import StateSegment
from headway.spark.state.vehicle_hashes import Hashes
from headway.spark.state.vehicle_states import Mask, states_from
from headway.spark.state.vehicle_steps import StepOutput

MOST_SEGMENTS = 8
"""of a partition: a task reads them all"""
SUFFIX = ".state"


def parts_before(part: int, partitions: int, before: int) -> list[int]:
    """Of ``before`` partitions those whose vehicles may be in ``part`` of ``partitions`` now."""
    step = gcd(partitions, before)
    return list(range(part % step, before, step))


def belongs_to(part: int, partitions: int) -> Callable[[Hashes], Mask]:
    """Which vehicles are of a partition, as Spark's ``pmod(xxhash64(vehicle), partitions)``."""
    return lambda hashes: hashes % partitions == part


@dataclass(frozen=True)
class StatesBefore:
    """What a micro-batch goes on from: for each of the partitions there were, its segments."""

    partitions: int
    """there are now"""
    states: tuple[tuple[StateSegment, ...], ...]

    @property
    def moved(self) -> bool:
        """Whether vehicles change their partition."""
        return bool(self.states) and len(self.states) != self.partitions

    def of(self, part: int) -> tuple[StateSegment, ...]:
        """The segments that may hold vehicles of a partition, the later over the earlier."""
        if not self.states:
            return ()
        parts = parts_before(part, self.partitions, len(self.states))
        return tuple(segment for one in parts for segment in self.states[one])

    def keep(self, part: int) -> Callable[[Hashes], Mask] | None:
        return belongs_to(part, self.partitions) if self.moved else None


def read_segments(folder: Path, segments: Sequence[StateSegment]) -> list[bytes]:
    """FileError for one that is gone or cut off."""
    found = []
    for segment in segments:
        path = folder / segment.name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise damaged(path, error.strerror or str(error)) from None
        if len(data) != segment.size:
            raise damaged(path, f"{len(data)} bytes instead of {segment.size}")
        found.append(data)
    return found


def blamed(error: DataError, folder: str, segments: Sequence[StateSegment],
           data: Sequence[bytes]) -> DataError | FileError:  # fmt: skip
    """The same error with the name of the file whose content it is about, if it is about one."""
    for segment, content in zip(segments, data, strict=True):
        try:
            states_from(content)
        except DataError as found:
            return damaged(f"{folder}/{segment.name}", str(found))
    return error


def damaged(path: Path | str, what: str) -> FileError:
    return FileError(
        f"the state of a stream cannot be read: {what}",
        place=Place(str(path)),
        want="put it back from a copy, or start afresh with a new --checkpoint and a new --output",
    )


def next_segment(
    output: StepOutput, segments: Sequence[StateSegment], *, moved: bool
) -> tuple[bytes, bool] | None:
    """What a task writes: (bytes, whether it stands for all before it); None if nothing changed."""
    changed, vehicles = len(output.changed), len(output.states)
    if not moved and not changed:
        return None
    if moved or not segments or len(segments) >= MOST_SEGMENTS or 2 * changed > vehicles:
        return output.state, True
    delta = output.delta
    over = sum(segment.size for segment in segments if not segment.whole)
    base = sum(segment.size for segment in segments if segment.whole)
    return (output.state, True) if over + len(delta) > base else (delta, False)


def write_segment(folder: Path, name: str, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
