"""What a node process notes about itself and its peers, with the machine's monotonic time."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any, TextIO


class EventLog:
    """Keeps events; with a path, also as a line of JSON each, written at once: they outlive a
    process that is killed."""

    def __init__(self, node: str, path: Path | None = None, *, append: bool = False) -> None:
        self._node = node
        self._lock = threading.RLock()  # a signal may come while an event is noted
        self.events: list[dict[str, Any]] = []
        self._file: TextIO | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a" if append else "w", encoding="utf-8")

    def note(self, event: str, **facts: Any) -> None:
        entry = {"at": time.monotonic_ns(), "node": self._node, "event": event, **facts}
        with self._lock:
            self.events.append(entry)
            if self._file is not None:
                self._file.write(json.dumps(entry) + "\n")
                self._file.flush()

    def named(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in list(self.events) if entry["event"] == event]

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None


def read_events(path: Path) -> list[dict[str, Any]]:
    """The events of a file; a last line cut short by a kill is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines]
