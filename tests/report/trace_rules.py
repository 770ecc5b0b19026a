"""What a Chrome trace must keep to, so that Perfetto shows it as it is meant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

NEEDED = {
    "X": {"name", "cat", "ts", "dur", "pid", "tid"},
    "i": {"name", "cat", "ts", "s", "pid", "tid"},
    "M": {"name", "pid", "tid", "args"},
}


def broken_rules(text: str) -> list[str]:
    """Everything that is wrong with a trace; nothing if it is fine."""
    events: list[dict[str, Any]] = json.loads(text)["traceEvents"]
    return [*_forms(events), *_order(events), *_overlaps(events), *_unnamed(events)]


def _forms(events: list[dict[str, Any]]) -> Iterator[str]:
    for event in events:
        missing = NEEDED.get(event["ph"], {"a known kind"}) - set(event)
        if missing:
            yield f"{event} lacks {missing}"
        if event["ph"] == "X" and event["dur"] < 0:
            yield f"{event} ends before it starts"
        if event["ph"] != "M" and event["ts"] < 0:
            yield f"{event} happens before the beginning"


def _order(events: list[dict[str, Any]]) -> Iterator[str]:
    latest: dict[int, float] = {}
    for event in events:
        if event["ph"] != "M":
            if event["ts"] < latest.get(event["pid"], 0.0):
                yield f"{event} goes back in time"
            latest[event["pid"]] = event["ts"]


def _overlaps(events: list[dict[str, Any]]) -> Iterator[str]:
    """A core runs one operator at a time, a bus carries one frame."""
    free: dict[tuple[int, int], float] = {}
    for event in events:
        if event["ph"] == "X":
            thread = (event["pid"], event["tid"])
            if event["ts"] < free.get(thread, 0.0) - 1e-6:
                yield f"{event} overlaps the slice before it"
            free[thread] = event["ts"] + event["dur"]


def _unnamed(events: list[dict[str, Any]]) -> Iterator[str]:
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    processes = {e["pid"] for e in events if e["name"] == "process_name"}
    for event in events:
        if event["ph"] != "M" and (event["pid"], event["tid"]) not in named:
            yield f"{event} is on a thread without a name"
        if event["pid"] not in processes:
            yield f"{event} is in a process without a name"
