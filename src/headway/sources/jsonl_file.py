"""JSON lines, UTF-8: one object a line.

The first line names all columns, with null where it has no value; later lines may leave out what is
NULL.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from headway.errors import DataError, Place
from headway.expressions.kernels import f32
from headway.model.schema import ARRIVAL_COLUMN, VEHICLE_COLUMN, DataType, Field, Schema
from headway.sources import source_records

Line = tuple[int, dict[str, Any]]


class JsonLinesFormat(source_records.RecordingFormat):
    """The lines as they stand; the first is checked at once. An empty file has no tuples.

    A format whose lines are JSON objects of another form derives from it and gives :meth:`cells`.
    """

    name = "jsonl"
    summary = "JSON lines, an object each"

    def cells(self, line: dict[str, Any]) -> dict[str, Any]:
        """The columns of a line, by name. ValueError says what is wrong with it."""
        return line

    def read(self, path: Path, schema: Schema) -> Iterator[source_records.Record]:
        lines = self._lines(path)
        first = next(lines, None)
        if first is None:
            return iter(())
        fields = source_records.wanted_fields(path, schema, first[1], first[0])
        return mapping_records(path, chain([first], lines), fields, len(schema.columns))

    def _lines(self, path: Path) -> Iterator[Line]:
        try:
            with path.open(encoding="utf-8-sig") as file:
                for number, text in enumerate(file, start=1):
                    if not text.isspace():
                        yield number, self._cells(path, number, text)
        except OSError as error:
            raise source_records.unreadable(path, error) from None
        except UnicodeDecodeError as error:
            raise source_records.unreadable(path, error, "is not JSON in UTF-8") from None

    def _cells(self, path: Path, number: int, text: str) -> dict[str, Any]:
        line = _parsed(path, number, text)
        try:
            return self.cells(line)
        except ValueError as error:
            place = Place(str(path), number)
            raise DataError(f"not a line of its format: {error}", place=place) from None


def _parsed(path: Path, number: int, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text.rstrip())
    except json.JSONDecodeError as error:
        place = Place(str(path), number, error.colno)
        raise DataError(f"not JSON: {error.msg}", place=place) from None
    except (RecursionError, ValueError):  # nested too deeply, a number of thousands of digits
        raise DataError("not readable JSON", place=Place(str(path), number)) from None
    if not isinstance(value, dict):
        what = "a line must be a JSON object"
        raise DataError(what, place=Place(str(path), number), got=f"{text.strip():.80}")
    return value


def mapping_records(
    path: Path | str, lines: Iterator[Line], fields: list[Field], width: int
) -> Iterator[source_records.Record]:
    """The tuples of numbered mappings, wherever they are from; a key that is missing is NULL."""
    columns = [(field, field.name, CONVERTERS[field.type]) for field in fields]
    names = [field.name for field in fields]
    arrival = names.index(ARRIVAL_COLUMN) if ARRIVAL_COLUMN in names else 0
    vehicle = names.index(VEHICLE_COLUMN) if VEHICLE_COLUMN in names else None
    for number, line in lines:
        values: list[Any] = []
        for field, name, convert in columns:
            value = line.get(name)
            try:
                values.append(None if value is None else convert(value))
            except (TypeError, ValueError, OverflowError):
                raise source_records.bad_value(path, number, field, value) from None
        if values[arrival] is None:
            raise source_records.unknown_arrival(path, number)
        owner = None if vehicle is None else values[vehicle]
        yield source_records.Record(values[arrival], owner, tuple(values[:width]), number)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _whole(bits: int) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        if type(value) is not int:
            raise TypeError
        if not -(1 << bits) <= value < 1 << bits:
            raise ValueError
        return value

    return convert


def _real(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


_long = _whole(63)


def _time(value: Any) -> int:
    return source_records.parse_time(value) if isinstance(value, str) else _long(value)


CONVERTERS: dict[DataType, Callable[[Any], Any]] = {
    DataType.BOOLEAN: _boolean,
    DataType.INT: _whole(31),
    DataType.BIGINT: _long,
    DataType.FLOAT: lambda value: f32(_real(value)),
    DataType.DOUBLE: _real,
    DataType.STRING: _text,
    DataType.TIMESTAMP: _time,
}
