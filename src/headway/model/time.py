"""Time is a whole number of nanoseconds; people write it with a unit.

Whole numbers keep virtual time exact, so that a run is the same on every machine. Columns of type
``timestamp`` hold microseconds (Spark's and Parquet's resolution); the engine's clock is finer.
"""

from __future__ import annotations

import re
from decimal import Decimal

NANOSECOND = 1
MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000

_UNITS = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "min": 60 * SECOND,
    "h": 3600 * SECOND,
}
_DURATION = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,9})?)\s*(ns|us|µs|ms|s|min|h)\s*")

DURATION_FORM = "a number and a unit of ns, us, ms, s, min or h, such as '30 ms'"


def parse_duration(text: str) -> int:
    """Nanoseconds of ``'30 ms'``, ``'2.6 us'``, ``'3 s'``; ValueError when it is not a duration."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration: write {DURATION_FORM}")
    nanoseconds = Decimal(match[1]) * _UNITS[match[2]]
    if nanoseconds != int(nanoseconds):
        raise ValueError(f"{text!r} is finer than a nanosecond")
    return int(nanoseconds)


def format_duration(nanoseconds: int) -> str:
    """The shortest exact way to write a duration: ``30 ms``, ``1.5 ms``, ``250 us``."""
    magnitude = abs(nanoseconds)
    for unit in ("s", "ms", "us"):
        if magnitude >= _UNITS[unit]:
            value = Decimal(nanoseconds) / _UNITS[unit]
            text = format(value.normalize(), "f")
            return f"{text} {unit}"
    return f"{nanoseconds} ns" if nanoseconds else "0 ms"


def milliseconds(nanoseconds: int) -> str:
    """For tables: always in ms, with three decimals."""
    return f"{nanoseconds / MILLISECOND:.3f}"
