"""Numbers as they are written in files."""

from __future__ import annotations

from headway.model.exact import Number


def number(value: Number) -> int | float:
    """The nearest decimal, without a point where it is whole."""
    as_float = float(value)
    return int(as_float) if as_float.is_integer() else as_float
