"""The record of a step of a stream that is done: what it wrote, and the state it left.

A step is a micro-batch of Spark, or a piece of one. It is done when its record is there, and not
before: until then nothing of it can be seen, and afterwards nothing of it is computed again. A
record stands in ``CHECKPOINT/_states/GROUP/N.json`` and is written in one go; ``end.json`` is that
of the end of the input. The files of a state stand beside it. Records and states before the last
two are removed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headway.errors import FileError, Place
from headway.spark.storage.file_stores import FileStore, NotThere
from headway.spark.storage.locations import Location
from headway.spark.tallies import Tally, tally_from

STATES = "_states"
"""in the checkpoint: a folder for each group of outputs"""
VERSION = 1
END = "end"
"""stands for a batch: what the end of the input gave"""
KEPT = 2
"""records, and the states they name"""
_RECORD = ".json"


@dataclass(frozen=True, slots=True)
class StateSegment:
    """A file of a partition's state; ``whole``: it stands for all before it."""

    name: str
    size: int
    whole: bool


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """What the state of a partition holds: vehicles, and tuples that wait for other sources."""

    vehicles: int = 0
    held: int = 0


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """Of an output or a side output; both names are within the output folder."""

    hidden: str
    """what the task called it"""
    final: str
    rows: int
    size: int


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """``files`` are this step's; tallies and counts are sums over the run."""

    step: int
    """steps are numbered from 0"""
    batch: int
    """of Spark"""
    mark: int = 1
    """how much of the batch is done"""
    last: bool = True
    """all of it is"""
    fingerprint: str = ""
    """which program's state it is; empty: there is none"""
    states: tuple[tuple[StateSegment, ...], ...] = ()
    """by partition"""
    loads: tuple[PartitionLoad, ...] = ()
    """by partition"""
    files: tuple[WrittenFile, ...] = ()
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    side: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """tuples that left their way, by kind and by source or operator"""
    counts: Mapping[str, int] = field(default_factory=dict)
    """tuples that came, were shed for want of room, vehicles that were forgotten"""
    newest: int = 0
    """the newest arrival, microseconds"""

    @property
    def partitions(self) -> int:
        return len(self.states)

    @property
    def loaded(self) -> dict[str, int]:
        """What all states hold."""
        return {
            "vehicles": sum(one.vehicles for one in self.loads),
            "held": sum(one.held for one in self.loads),
        }

    def to_text(self) -> str:
        body = {
            "step": self.step,
            "batch": self.batch,
            "mark": self.mark,
            "last": self.last,
            "fingerprint": self.fingerprint,
            "states": [[[s.name, s.size, s.whole] for s in part] for part in self.states],
            "loads": [[load.vehicles, load.held] for load in self.loads],
            "files": [[one.hidden, one.final, one.rows, one.size] for one in self.files],
            "tallies": {name: tally.data() for name, tally in self.tallies.items()},
            "side": [[kind, where, count] for (kind, where), count in self.side.items()],
            "counts": dict(self.counts),
            "newest": self.newest,
        }
        text = json.dumps(body, separators=(",", ":"))
        return f'{{"version":{VERSION},"check":{_checksum(text)},"record":{text}}}\n'


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode())


def record_from(text: str, at: Location) -> BatchRecord:
    """FileError, naming the file, if it is damaged or of another version."""
    try:
        data = json.loads(text)
        version = data["version"]
        body = data["record"]
        whole = _checksum(json.dumps(body, separators=(",", ":"))) == data["check"]
    except (ValueError, KeyError, TypeError):
        raise damaged_record(at) from None
    if version != VERSION:
        raise FileError("the record of a batch that another version of Headway wrote",
                        place=Place(at.text), got=f"version {version}",
                        want=f"version {VERSION}")  # fmt: skip
    if not whole:
        raise damaged_record(at)
    try:
        return _record(body)
    except (ValueError, KeyError, TypeError):
        raise damaged_record(at) from None


def _record(body: Mapping[str, Any]) -> BatchRecord:
    return BatchRecord(
        step=int(body["step"]),
        batch=int(body["batch"]),
        mark=int(body["mark"]),
        last=bool(body["last"]),
        fingerprint=str(body["fingerprint"]),
        states=tuple(
            tuple(StateSegment(str(name), int(size), bool(whole)) for name, size, whole in part)
            for part in body["states"]
        ),
        loads=tuple(PartitionLoad(int(cars), int(held)) for cars, held in body["loads"]),
        files=tuple(
            WrittenFile(str(hidden), str(final), int(rows), int(size))
            for hidden, final, rows, size in body["files"]
        ),
        tallies={str(name): tally_from(tally) for name, tally in body["tallies"].items()},
        side={(str(kind), str(where)): int(count) for kind, where, count in body["side"]},
        counts={str(name): int(count) for name, count in body["counts"].items()},
        newest=int(body["newest"]),
    )


def damaged_record(at: Location) -> FileError:
    return FileError(
        "the record of a micro-batch is damaged",
        place=Place(at.text),
        want="put it back from a copy, or start afresh with a new --checkpoint and a new --output",
    )


@dataclass(frozen=True)
class BatchRecords:
    """The records of one group of outputs, and the files of its states."""

    folder: Location
    store: FileStore

    def read(self, step: int) -> BatchRecord | None:
        """None: the step is not done."""
        return self._read(f"{step}{_RECORD}", step)

    def end(self) -> BatchRecord | None:
        """What the end of the input gave; its step is the one after the last."""
        return self._read(f"{END}{_RECORD}", None)

    def newest(self) -> BatchRecord | None:
        numbers = self._numbers([entry.name for entry in self.store.entries(self.folder)])
        return self.read(max(numbers)) if numbers else None

    def commit(self, record: BatchRecord) -> None:
        self._write(f"{record.step}{_RECORD}", record)

    def commit_end(self, record: BatchRecord) -> None:
        self._write(f"{END}{_RECORD}", record)

    def drop_end(self) -> None:
        self.store.remove(self.folder / f"{END}{_RECORD}")

    def sweep(self, record: BatchRecord, before: BatchRecord | None) -> None:
        """Removes all that the last two records do not name: older ones, their states, and what
        attempts left behind whose names never came back."""
        kept = {f"{record.step - back}{_RECORD}" for back in range(KEPT)} | {f"{END}{_RECORD}"}
        for one in (record, before):
            if one is not None:
                kept |= {s.name.partition("/")[0] for part in one.states for s in part}
        for entry in self.store.entries(self.folder):
            if entry.name not in kept:
                self.store.remove(self.folder / entry.name)

    def _read(self, name: str, step: int | None) -> BatchRecord | None:
        at = self.folder / name
        try:
            text = self.store.read_text(at)
        except NotThere:
            return None
        except FileError:
            raise damaged_record(at) from None
        found = record_from(text, at)
        if step is not None and found.step != step:
            raise damaged_record(at)
        return found

    def _write(self, name: str, record: BatchRecord) -> None:
        self.store.write_whole(self.folder / name, record.to_text())

    @staticmethod
    def _numbers(names: list[str]) -> list[int]:
        stems = [name.removesuffix(_RECORD) for name in names if name.endswith(_RECORD)]
        return [int(stem) for stem in stems if stem.isdecimal()]
