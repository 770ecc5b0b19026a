"""The kinds of values in query and vehicle files: names, durations, rates, costs, expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from headway.files.forms import TAG, refusal
from headway.model.arrival import Rate
from headway.model.schema import FIELD_FORM, NAME, NAME_FORM, parse_field
from headway.model.time import DURATION_FORM, format_duration, parse_duration


def _matching(pattern: str, what: str, want: str) -> Callable[[str], str]:
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        if compiled.fullmatch(text) is None:
            raise refusal(what, want)
        return text

    return check


_STREAM = rf"{NAME.pattern}(\.{NAME.pattern}){{0,7}}"
_IMPORT = r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*"
_QUANTITY = r"\d{1,12}(\.\d{1,9})?"
_DURATION = rf"^\s*{_QUANTITY}\s*(ns|us|µs|ms|s|min|h)\s*$"

Name = Annotated[
    str,
    AfterValidator(_matching(NAME.pattern, "not a name", f"use {NAME_FORM} characters")),
    WithJsonSchema({"type": "string", "pattern": f"^{NAME.pattern}$"}),
]
StreamName = Annotated[
    str,
    AfterValidator(
        _matching(_STREAM, "not the name of a stream", "name a source, an operator or use.output")
    ),
    WithJsonSchema({"type": "string", "pattern": f"^{_STREAM}$"}),
]
ImportPath = Annotated[
    str,
    AfterValidator(
        _matching(_IMPORT, "not a path to Python code", "write it as 'package.module:Name'")
    ),
    WithJsonSchema({"type": "string", "pattern": "^[\\w.]+:[\\w.]+$"}),
]


def _duration(value: Any) -> int:
    if not isinstance(value, str):
        raise refusal("a duration is wanted", f"write {DURATION_FORM}")
    try:
        return parse_duration(value)
    except ValueError as error:
        finer = "finer" in str(error)
        what = "finer than a nanosecond" if finer else "not a duration"
        raise refusal(what, f"write {DURATION_FORM}") from None


def _positive(value: int) -> int:
    if value <= 0:
        raise refusal("must be longer than nothing", "write a positive duration", got="0")
    return value


Duration = Annotated[
    int, BeforeValidator(_duration), WithJsonSchema({"type": "string", "pattern": _DURATION})
]
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]

RATE_FORM = "a count, 'per' and a duration, such as '10 per 100 ms'"
_RATE = re.compile(r"\s*(\d{1,9})\s+per\s+(.*)", re.DOTALL)


def parse_rate(text: str) -> Rate:
    """``'10 per 100 ms'`` or ``'1000 per s'``; ValueError when it is no rate."""
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a rate: write {RATE_FORM}")
    period = match[2] if match[2][:1].isdigit() else f"1 {match[2]}"
    rate = Rate(int(match[1]), parse_duration(period))
    if rate.count < 1 or rate.period < 1:
        raise ValueError(f"{text!r}: the count and the duration of a rate must be positive")
    return rate


def format_rate(count: int, period: int) -> str:
    return f"{count} per {format_duration(period)}"


def _rate(value: Any) -> Rate:
    if isinstance(value, str):
        try:
            return parse_rate(value)
        except ValueError:
            pass
    raise refusal("not a rate", f"write {RATE_FORM}")


RateText = Annotated[
    Rate,
    BeforeValidator(_rate),
    WithJsonSchema({"type": "string", "pattern": r"^\s*\d{1,9}\s+per\s+.*$"}),
]

_BIT_UNITS = {"Gbit/s": 10**9, "Mbit/s": 10**6, "kbit/s": 10**3, "bit/s": 1}
_BITS = re.compile(rf"\s*(\d{{1,18}}(?:\.\d{{1,9}})?)\s*({'|'.join(_BIT_UNITS)})\s*")
BIT_RATE_FORM = "a number and bit/s, kbit/s, Mbit/s or Gbit/s, such as '500 kbit/s'"


def parse_bit_rate(text: str) -> int:
    """Bits per second of ``'500 kbit/s'``; ValueError when it is no bit rate."""
    match = _BITS.fullmatch(text)
    bits = Decimal(match[1]) * _BIT_UNITS[match[2]] if match else Decimal(0)
    if bits <= 0 or bits != int(bits):
        raise ValueError(f"{text!r} is not a bit rate: write {BIT_RATE_FORM}")
    return int(bits)


def format_bit_rate(bits: int) -> str:
    """The shortest whole way to write it: ``500 kbit/s``."""
    unit = next(name for name, size in _BIT_UNITS.items() if bits % size == 0)
    return f"{bits // _BIT_UNITS[unit]} {unit}"


def _bit_rate(value: Any) -> int:
    if isinstance(value, str):
        try:
            return parse_bit_rate(value)
        except ValueError:
            pass
    raise refusal("not a bit rate", f"write {BIT_RATE_FORM}")


BitRate = Annotated[
    int,
    BeforeValidator(_bit_rate),
    WithJsonSchema({"type": "string", "pattern": rf"^{_BITS.pattern}$"}),
]


def _column_type(value: Any) -> str:
    if isinstance(value, str):
        try:
            return parse_field("column", value).describe()
        except ValueError:
            pass
    raise refusal("not the type of a column", f"write {FIELD_FORM}")


ColumnType = Annotated[str, BeforeValidator(_column_type)]
Columns = Annotated[dict[Name, ColumnType], Field(description="the columns and their types")]


def is_mapping(value: Any) -> str:
    """Tells a mapping from a short form."""
    return f"{TAG}long" if isinstance(value, dict) else f"{TAG}short"


Share = Annotated[float, Field(gt=0, le=1)]
PositiveNumber = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
