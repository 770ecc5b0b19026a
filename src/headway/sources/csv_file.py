"""CSV with a header line, UTF-8. An empty cell is NULL, in a column of strings too."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from headway.errors import DataError, Place
from headway.expressions.kernels import f32
from headway.model.schema import ARRIVAL_COLUMN, VEHICLE_COLUMN, DataType, Field, Schema
from headway.sources import source_records

Line = tuple[int, list[str]]


class CsvFormat(source_records.RecordingFormat):
    """The rows of the file as they stand; its header is checked at once."""

    name = "csv"
    summary = "CSV with a header line"

    def read(self, path: Path, schema: Schema) -> Iterator[source_records.Record]:
        lines = _lines(path)
        _, header = next(lines, (1, []))
        fields = source_records.wanted_fields(path, schema, header, 1)
        return _records(path, lines, header, fields, len(schema.columns))


def _lines(path: Path) -> Iterator[Line]:
    """(line, cells); empty lines are left out."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
    except OSError as error:
        raise source_records.unreadable(path, error) from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise source_records.unreadable(path, error, "is not CSV in UTF-8") from None


def _records(
    path: Path, lines: Iterator[Line], header: list[str], fields: list[Field], width: int
) -> Iterator[source_records.Record]:
    columns = [(field, header.index(field.name), PARSERS[field.type]) for field in fields]
    names = [field.name for field in fields]
    arrival = names.index(ARRIVAL_COLUMN) if ARRIVAL_COLUMN in names else 0
    vehicle = names.index(VEHICLE_COLUMN) if VEHICLE_COLUMN in names else None
    for line, cells in lines:
        if len(cells) != len(header):
            raise DataError(
                "a line has another number of cells than the header",
                place=Place(str(path), line),
                got=f"{len(cells)} cells for {len(header)} columns",
            )
        values: list[Any] = []
        for field, place, parse in columns:
            text = cells[place]
            try:
                values.append(parse(text) if text else None)
            except (ValueError, OverflowError):
                raise source_records.bad_value(path, line, field, text) from None
        if values[arrival] is None:
            raise source_records.unknown_arrival(path, line)
        owner = None if vehicle is None else values[vehicle]
        yield source_records.Record(values[arrival], owner, tuple(values[:width]), line)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError
    return text.lower() == "true"


def _whole(bits: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if (
            not source_records.WHOLE.fullmatch(text)
            or not -(1 << bits) <= (number := int(text)) < 1 << bits
        ):
            raise ValueError
        return number

    return parse


def _real(text: str) -> float:
    if "_" in text:
        raise ValueError
    return float(text)


PARSERS: dict[DataType, Callable[[str], Any]] = {
    DataType.BOOLEAN: _boolean,
    DataType.INT: _whole(31),
    DataType.BIGINT: _whole(63),
    DataType.FLOAT: lambda text: f32(_real(text)),
    DataType.DOUBLE: _real,
    DataType.STRING: str,
    DataType.TIMESTAMP: source_records.parse_time,
}
