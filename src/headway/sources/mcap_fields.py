"""Fields of JSON messages: objects, lists of them, and dotted paths into them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headway.errors import DataError, Place, Problem
from headway.sources.record import parse_time

_ABSENT = object()


@dataclass(frozen=True)
class Entry:
    """An entry of a message's list and the message around it, or the message alone."""

    layers: tuple[dict[str, Any], ...]

    def has(self, path: str) -> bool:
        return any(_lookup(layer, path) is not _ABSENT for layer in self.layers)

    def value(self, path: str) -> Any:
        """None where there is no such field."""
        found = (_lookup(layer, path) for layer in self.layers)
        return next((value for value in found if value is not _ABSENT), None)

    def names(self) -> list[str]:
        return [name for layer in self.layers for name in layer]


def entries(content: bytes, each: str | None, place: Place) -> Iterator[Entry]:
    """The message itself, or the objects in its list ``each``; DataError if it is no such thing."""
    try:
        message = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(Problem(f"a message is not JSON: {error}", place=place)) from None
    if not isinstance(message, dict):
        raise _wrong(place, "", message, "a JSON object")
    if each is None:
        yield Entry((message,))
        return
    listed = _lookup(message, each)
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        got = sorted(message) if listed is _ABSENT else listed
        raise _wrong(place, each, got, "a list of objects")
    for one in listed:
        yield Entry((one, message))


def _wrong(place: Place, at: str, got: object, want: str) -> DataError:
    return DataError(
        Problem("not right", place=place, at=at, got=f"{got!r:.80}", want=f"want {want}")
    )


def _lookup(value: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return _ABSENT
        value = value[name]
    return value


def sensing_time(value: Any) -> int:
    """Microseconds of {sec, nsec} (also nanosec), of ISO 8601, or of whole microseconds."""
    if isinstance(value, dict):
        seconds, fraction = value["sec"], value["nsec"] if "nsec" in value else value["nanosec"]
        if type(seconds) is not int or type(fraction) is not int:
            raise TypeError
        return seconds * 1_000_000 + fraction // 1_000
    if type(value) is int:
        return value
    if not isinstance(value, str):
        raise TypeError
    return parse_time(value)
