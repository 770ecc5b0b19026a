"""A source in an MCAP file of JSON messages: a YAML file ``NAME.yaml`` says which topic.

    mcap: drive.mcap
    topic: /radar/tracks
    columns: {id: id, dx: position.x}   # fields of the message; dots lead into objects
    each: tracks              # the list in the message of which every entry is a tuple; optional.
                              # fields that an entry does not have are looked up in the message
    sensed: header.stamp      # when it was sensed; without it the message's publish time
    vehicle: KA-HW-1          # optional

A message arrives at its log time. Fields are read by the rules of JSON lines: the first message (or
entry) names them all, later ones may leave out what is NULL.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from headway.errors import DataError, FileError, HeadwayError, Place, Problem, UnsupportedError
from headway.model.schema import TIMESTAMP_COLUMN, DataType, Field, Schema
from headway.sources import source_records
from headway.sources.jsonl_file import CONVERTERS
from headway.sources.pointer_file import Pointer
from headway.sources.source_records import Record, bad_value, parse_time, unreadable

# ---------------------------------------------------------------- fields of messages

_ABSENT = object()


@dataclass(frozen=True)
class MessageEntry:
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


def entries(content: bytes, each: str | None, place: Place) -> Iterator[MessageEntry]:
    """The message itself, or the objects in its list ``each``; DataError if it is no such thing."""
    try:
        message = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"a message is not JSON: {error}", place=place) from None
    if not isinstance(message, dict):
        raise _wrong(place, "", message, "a JSON object")
    if each is None:
        yield MessageEntry((message,))
        return
    listed = _lookup(message, each)
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        got = sorted(message) if listed is _ABSENT else listed
        raise _wrong(place, each, got, "a list of objects")
    for one in listed:
        yield MessageEntry((one, message))


def _wrong(place: Place, at: str, got: object, want: str) -> DataError:
    return DataError("not right", place=place, at=at, got=f"{got!r:.80}", want=f"want {want}")


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


# ---------------------------------------------------------------- the file


KEYS = ("mcap", "topic", "columns", "each", "sensed", "vehicle")
ENCODING = "json"
MICROSECOND = 1_000
"""MCAP counts nanoseconds"""


def read_mcap(pointer: Pointer, schema: Schema) -> Iterator[Record]:
    """The tuples in order of log time; the file, its topics and the first message are checked at
    once. ``number`` counts tuples, which gives those of one message an order; errors name the
    message."""
    pointer.only(KEYS)
    path, fields = pointer.file("mcap"), pointer.all_columns(schema, "field")
    topic, each, sensed = (pointer.text(key) for key in ("topic", "each", "sensed"))
    if topic is None:
        raise pointer.wrong("topic", "the name of a topic", None)
    _check_topic(path, topic)
    paths = [*fields, *([sensed] if sensed else [])]
    with closing(_found(path, topic, each)) as found:
        first = next(found, None)
    missing = [] if first is None else [name for name in paths if not first[1].has(name)]
    if first is not None and missing:
        got, place = ", ".join(first[1].names()[:20]), Place(str(path))
        raise DataError(
            Problem(f"messages of {topic} have no field {name!r}", place=place, got=got)
            for name in missing
        )
    return _records(path, schema, topic, each, sensed, fields, pointer.text("vehicle"))


def _records(
    path: Path,
    schema: Schema,
    topic: str,
    each: str | None,
    sensed: str | None,
    paths: list[str],
    vehicle: str | None,
) -> Iterator[Record]:
    columns: list[tuple[Field, str, Callable[[Any], Any]]] = [
        (field, name, CONVERTERS[field.type])
        for field, name in zip(schema.fields, paths, strict=True)
    ]
    stamp = Field(sensed or TIMESTAMP_COLUMN, DataType.TIMESTAMP)
    for place, (number, entry, message) in enumerate(_found(path, topic, each), start=1):
        cells: list[Any] = [message.publish_time // MICROSECOND]
        if sensed is not None:
            value = entry.value(sensed)
            try:
                cells = [sensing_time(value)]
            except (TypeError, ValueError, KeyError):
                raise bad_value(path, number, stamp, value) from None
        for field, name, convert in columns:
            value = entry.value(name)
            try:
                cells.append(None if value is None else convert(value))
            except (TypeError, ValueError, OverflowError):
                raise bad_value(path, number, field, value) from None
        yield Record(message.log_time // MICROSECOND, vehicle, tuple(cells), place)


def _found(
    path: Path, topic: str, each: str | None
) -> Generator[tuple[int, MessageEntry, Any], None, None]:
    """Number of the message, what in it becomes a tuple, and the message."""
    with _reader(path) as reader:
        messages = reader.iter_messages(topics=[topic], log_time_order=True)
        for number, (_, _, message) in enumerate(messages, start=1):
            for entry in entries(message.data, each, Place(str(path), number)):
                yield number, entry, message


def _check_topic(path: Path, topic: str) -> None:
    with _reader(path) as reader:
        summary = reader.get_summary()
        channels = [] if summary is None else list(summary.channels.values())
    mine = [channel for channel in channels if channel.topic == topic]
    if not mine:
        got = ", ".join(sorted({channel.topic for channel in channels})[:30])
        what = f"there is no topic {topic!r}"
        raise DataError(what, place=Place(str(path)), got=got or "no topics")
    if odd := sorted({c.message_encoding for c in mine if c.message_encoding != ENCODING}):
        raise UnsupportedError(
            f"messages of {topic} are in {', '.join(odd)}",
            place=Place(str(path)),
            want="only json is read: convert the file, or record this topic as json",
        )


class _WithinFile:
    """Asks for no more bytes than the file has left: a damaged length would ask for all memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = file.seek(0, io.SEEK_END)
        file.seek(0)

    def read(self, length: int) -> bytes:
        return self._file.read(min(length, max(0, self._size - self._file.tell())))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True


@contextmanager
def _reader(path: Path) -> Iterator[Any]:
    """A file without its end, or with a damaged part, is refused whatever the reader, or what it
    decompresses with, trips over."""
    mcap = source_records.needed("mcap.reader", "mcap", extra="mcap", reading="MCAP files")
    try:
        file = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    try:
        with file:
            yield mcap.make_reader(_WithinFile(file), validate_crcs=True)
    except HeadwayError:
        raise
    except Exception as error:  # noqa: BLE001
        what = f"is no whole MCAP file: cut short or damaged ({type(error).__name__})"
        want = "the tool 'mcap recover' can save what is there"
        raise FileError(what, place=Place(str(path)), got=str(error), want=want) from None
