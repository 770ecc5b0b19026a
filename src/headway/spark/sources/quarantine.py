"""Input that breaks its schema: named in a folder with the reason, and left out.

Each bad file has one JSON file in the folder, written by whichever task or process meets it first.
The input itself stays where it is, because a stream that is replayed must find it. A stream also
asks the folder first, so a file that was left out once stays out, however often its micro-batch is
repeated. On a cluster the folder must be one that all machines see, as the checkpoint's.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from headway.errors import InputError

FOLDER = "_quarantine"
"""beside the outputs; Spark and Headway overlook names with '_' when they read"""


@dataclass(frozen=True)
class Entry:
    """``input`` is a file, or what else broke: a Kafka partition's messages."""

    source: str
    input: str
    reason: str
    count: int = 1
    """of messages or frames; 1 for a file"""
    at: float = 0.0
    """when, seconds since the epoch"""


@dataclass(frozen=True)
class Quarantine:
    """A folder of entries; it may be copied to tasks."""

    folder: Path

    def add(self, entry: Entry) -> None:
        """Written under another name and renamed: readers never see a half of it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(entry.source, entry.input)
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        stamped = Entry(**{**asdict(entry), "at": entry.at or round(time.time(), 3)})
        part.write_text(json.dumps(asdict(stamped), indent=2) + "\n", encoding="utf-8")
        part.replace(path)

    def holds(self, source: str, name: str) -> bool:
        return self._path(source, name).exists()

    def release(self, source: str, name: str) -> None:
        """The input has been mended."""
        self._path(source, name).unlink(missing_ok=True)

    def entries(self) -> list[Entry]:
        """By source and input; what cannot be read as an entry is not one."""
        found = []
        for path in sorted(self.folder.glob("*.json")) if self.folder.is_dir() else []:
            with contextlib.suppress(OSError, ValueError, TypeError):
                found.append(Entry(**json.loads(path.read_text(encoding="utf-8"))))
        return sorted(found, key=lambda entry: (entry.source, entry.input))

    def _path(self, source: str, name: str) -> Path:
        digest = hashlib.sha256(f"{source}\n{name}".encode()).hexdigest()[:12]
        return self.folder / f"{source}-{digest}.json"


def entry_of(source: str, name: str, error: InputError) -> Entry:
    """The first problem, and how many there are more; not where, the entry says that already."""
    first = error.problems[0]
    more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
    return Entry(source, name, f"{first}{more}")


def notes(entries: Iterable[Entry], most: int = 20) -> tuple[str, ...]:
    """For people: a line for each source, then its inputs and their reasons."""
    by_source: dict[str, list[Entry]] = {}
    for entry in entries:
        by_source.setdefault(entry.source, []).append(entry)
    lines = []
    for source, found in by_source.items():
        lines.append(f"source {source!r}: {len(found)} left out (quarantined)")
        lines += [f"  {entry.reason}" for entry in found[:most]]
        if len(found) > most:
            lines.append(f"  and {len(found) - most} more")
    return tuple(lines)
