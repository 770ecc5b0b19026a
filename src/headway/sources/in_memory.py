"""Recordings in memory: for each source a table or a list of rows, as programs have them.

The columns are those of a recording's files (:mod:`headway.sources.recordings`): ``timestamp``, the
schema's fields, and if they are known ``arrived_at`` and ``vehicle``; others are ignored. A table
is anything that speaks Arrow's C stream interface: of pandas, pyarrow, Polars, DuckDB. Its columns
may be of other types than the fields as long as every value fits (a program's integers are wide by
default, and pandas makes floats of integers with gaps); what pandas marks as missing is NULL. A row
is a mapping, or a tuple of the timestamp and the fields in the schema's order. Times are
timestamps (without a zone: UTC), ``datetime``, ISO 8601 or whole microseconds since the epoch.

Unlike files, which are read piece by piece, tables need not be in order: they are sorted by
arrival, stably.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from headway.errors import DataError, Place, Problem
from headway.model.query import Source
from headway.model.schema import ARRIVAL_COLUMN, TIMESTAMP_COLUMN, DataType, Field, Schema
from headway.sources import source_records
from headway.sources.jsonl_file import mapping_records
from headway.sources.parquet_file import ARROW_TYPES, batch_records
from headway.sources.recordings import Contents, RecordedArrival, count_records, merged

FORMS = "a pandas, Polars or Arrow table, or a list of rows"


@runtime_checkable
class ArrowStream(Protocol):
    """A table of whichever library (the Arrow PyCapsule interface)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Rows = Iterable[Mapping[str, object] | Sequence[object]]


@dataclass(frozen=True)
class InMemory:
    """Every source's records in order of arrival."""

    sources: tuple[Source, ...]
    records: Mapping[str, Sequence[source_records.Record]]
    contents: Contents

    def arrivals(self, vehicle: str | None) -> Iterator[RecordedArrival]:
        """One vehicle's tuples, in the order of :func:`headway.sources.recordings.merged`."""
        named = self.contents.named
        streams = [
            (
                record
                for record in self.records[source.name]
                if not named or record.vehicle == vehicle
            )
            for source in self.sources
        ]
        return merged(self.sources, streams)


def in_memory(data: Mapping[str, ArrowStream | Rows], sources: Sequence[Source]) -> InMemory:
    """DataError when sources and data do not belong together, or a table is not of its schema."""
    check_names(data, sources)
    records: dict[str, list[source_records.Record]] = {}
    for source in sources:
        found = list(read_given(place_of(source.name), data[source.name], source.schema))
        found.sort(key=lambda record: record.arrived_at)
        records[source.name] = found
    streams = ((name, place_of(name), found) for name, found in records.items())
    got = f"only empty tables: {', '.join(records)}"
    nothing = DataError("there is nothing to run", at="data", got=got)
    return InMemory(tuple(sources), records, count_records(streams, nothing))


def check_names(data: Mapping[str, object], sources: Sequence[Source]) -> None:
    """Every source has its data, and nothing else has."""
    known = [source.name for source in sources]
    problems = []
    for name in data:
        if name not in known:
            near = get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            want = f"{hint}the query's are {', '.join(known)}"
            problems.append(Problem(f"there is no source {name!r}", at="data", want=want))
    got = f"data for {', '.join(map(str, data)) or 'none'}"
    problems += [
        Problem(f"no data for source {name!r}", at="data", got=got, want=f"give {FORMS}")
        for name in known
        if name not in data
    ]
    if problems:
        raise DataError(problems)


def place_of(source: str) -> str:
    """What messages call a source's table."""
    return f"data[{source!r}]"


def read_given(where: str, given: object, schema: Schema) -> Iterator[source_records.Record]:
    """The tuples as they stand; the columns are checked at once."""
    if isinstance(given, ArrowStream | pa.RecordBatch):
        return _read_table(where, given, schema)
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        return _read_rows(where, list(given), schema)
    raise DataError(
        "this is no table", place=Place(where), got=type(given).__name__, want=f"give {FORMS}"
    )


def _read_table(where: str, given: object, schema: Schema) -> Iterator[source_records.Record]:
    try:
        table = pa.table(given)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(
            f"cannot be made an Arrow table: {': '.join(map(str, error.args))}",
            place=Place(where),
            want="give every column one type",
        ) from None
    there = {column.name: column.type for column in table.schema}
    fields = source_records.wanted_fields(where, schema, table.schema.names)
    if wrong := [field for field in fields if not _convertible(there[field.name], field.type)]:
        raise source_records.wrong_types(where, wrong, there)
    names = [field.name for field in fields]
    return batch_records(where, table.select(names).to_batches(), fields, len(schema.columns))


def _convertible(kind: Any, wanted: DataType) -> bool:
    """Whether values of an Arrow type can be ours; whether each one fits shows in the cast."""
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_null(kind):
        return True
    match wanted:
        case DataType.BOOLEAN:
            return bool(types.is_boolean(kind))
        case DataType.STRING:
            return kind in (pa.string(), pa.large_string(), pa.string_view())
        case DataType.TIMESTAMP:
            return bool(types.is_timestamp(kind)) or kind == pa.int64()
        case _:
            return bool(types.is_integer(kind) or types.is_floating(kind))


def _read_rows(where: str, rows: list[Any], schema: Schema) -> Iterator[source_records.Record]:
    names = [field.name for field in schema.columns]
    lines: list[tuple[int, dict[str, Any]]] = []
    there: dict[str, None] = {}
    for number, row in enumerate(rows, start=1):
        if isinstance(row, Mapping):
            line = {str(name): _plain(value) for name, value in row.items()}
        elif isinstance(row, Sequence) and not isinstance(row, str | bytes):
            if len(row) != len(names):
                raise DataError(
                    "a row has another number of values than its source has columns",
                    place=Place(where, number),
                    got=f"{len(row)} values",
                    want=f"want ({', '.join(names)})",
                )
            line = dict(zip(names, map(_plain, row), strict=True))
        else:
            want = "a mapping, or a tuple of the timestamp and the fields"
            got = type(row).__name__
            raise DataError("this is no row", place=Place(where, number), got=got, want=want)
        there |= dict.fromkeys(line)
        lines.append((number, line))
    if not lines:
        return iter(())
    fields = source_records.wanted_fields(where, schema, there)
    if ARRIVAL_COLUMN in there:  # a row that says nothing of it arrives when it is sensed
        for _, line in lines:
            line.setdefault(ARRIVAL_COLUMN, line.get(TIMESTAMP_COLUMN))
    return mapping_records(where, iter(lines), fields, len(schema.columns))


def _plain(value: Any) -> Any:
    """Python's own values of numpy's, microseconds of a ``datetime`` (of pandas', too)."""
    if isinstance(value, datetime):
        return source_records.microseconds_of(value)
    return value.item() if type(value).__module__ == "numpy" else value


def given_table(given: ArrowStream | Rows, source: Source) -> Any:
    """One source's data as an Arrow table of exactly its schema's types, in order of arrival."""
    found = list(read_given(place_of(source.name), given, source.schema))
    found.sort(key=lambda record: record.arrived_at)
    fields: list[Field] = [
        *source.schema.columns,
        source_records.ARRIVAL_FIELD,
        source_records.VEHICLE_FIELD,
    ]
    rows = [(*record.row, record.arrived_at, record.vehicle) for record in found]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    arrays = [
        pa.array(column, ARROW_TYPES[field.type])
        for column, field in zip(columns, fields, strict=True)
    ]
    return pa.table(arrays, names=[field.name for field in fields])
