"""Keys of joins and groups, equal where SQL says so: NaN equals NaN, and 0.0 equals -0.0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headway.expressions.body import Body, build, define
from headway.model.schema import DataType, Schema
from headway.runtime.operators.base import Row

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
