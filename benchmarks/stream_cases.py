"""The tuples of five small stream programs, as plain Python rows, for every engine measured.

- ``chain``: five operators, three times ``v + 1`` and twice ``v > -1``;
- ``fan_out``: one source to eight outputs, ``v + b`` each;
- ``join``: two sources, pairs of one key at most 20 µs apart;
- ``aggregate``: sum and count by key in windows of 10 ms;
- ``fusion``: GPS fixes and speeds, fused by the real filter of an own vehicle.

A row of the first four is (timestamp in µs, v, k). Nothing here needs Headway.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

BRANCHES = 8
KEYS = 7
EVERY = 20
"""µs between two tuples of a source; the chain's come every 10 µs"""
WITHIN = 20
"""µs between partners of the join"""
WINDOW = 10_000
"""µs"""
PERIOD = 100_000
"""µs between two GPS fixes"""
CASES = ("chain", "fan_out", "join", "aggregate", "fusion")

Row = tuple[Any, ...]


def rows_of(case: str, tuples: int) -> list[tuple[str, Row]]:
    """(source, row) in order of arrival; a tuple arrives when it is sensed."""
    return list(_ROWS[case](tuples))


def results_of(case: str, tuples: int) -> int:
    """How many results such a run must give, in all outputs together."""
    if case == "fan_out":
        return BRANCHES * tuples
    if case == "aggregate":
        per_window = WINDOW // EVERY
        whole, rest = divmod(tuples, per_window)
        return whole * KEYS + min(rest, KEYS)
    return tuples // 2 if case in ("join", "fusion") else tuples


def _chain(tuples: int) -> Iterator[tuple[str, Row]]:
    return (("s", (i * 10, float(i), i % KEYS)) for i in range(tuples))


def _one_source(tuples: int) -> Iterator[tuple[str, Row]]:
    return (("s", (i * EVERY, float(i), i % KEYS)) for i in range(tuples))


def _pairs(tuples: int) -> Iterator[tuple[str, Row]]:
    for i in range(tuples // 2):
        row = (i * EVERY, float(i), i % KEYS)
        yield "s", row
        yield "t", row


def _drive(tuples: int) -> Iterator[tuple[str, Row]]:
    """Straight on at 22.36 m/s; the speed is measured 1 ms after the fix."""
    for i in range(tuples // 2):
        moment = i * PERIOD
        yield "gps", (moment, i * 2.0, i * 1.0, 0.46)
        yield "speed", (moment + 1000, 22.4)


_ROWS = {
    "chain": _chain,
    "fan_out": _one_source,
    "join": _pairs,
    "aggregate": _one_source,
    "fusion": _drive,
}
