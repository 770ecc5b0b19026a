"""What the readers of all file formats share: base class, record, columns, the text of a time."""

from __future__ import annotations

import importlib
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from headway.errors import DataError, EnvironmentMissing, FileError, Place, Problem
from headway.model.schema import (
    ARRIVAL_COLUMN,
    TIMESTAMP_COLUMN,
    VEHICLE_COLUMN,
    DataType,
    Field,
    Schema,
)
from headway.model.user_operator import Row

WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Record(NamedTuple):
    """A tuple of a file; ``number`` is its line, in a file without lines its row, from 1."""

    arrived_at: int
    vehicle: str | None
    row: Row
    number: int


class RecordingFormat(ABC):
    """A kind of file that holds the tuples of a source: ``SOURCE.NAME`` in a recording, or files
    ``*.NAME`` in a folder ``SOURCE`` on Spark. Both engines read it with :meth:`read`, Spark in its
    tasks.

    Subclass it in a file of its own, and either declare it in :mod:`headway.sources.recordings` or,
    from another package, as an entry point of the group ``headway.sources``. It is made without
    arguments and keeps nothing between files.
    """

    name: ClassVar[str]
    """how its files end, without the dot"""
    summary: ClassVar[str]

    @abstractmethod
    def read(self, path: Path, schema: Schema) -> Iterator[Record]:
        """The tuples as they stand in the file, in order of arrival, read piece by piece.

        A row holds a value for each of ``schema.columns`` (the timestamp first), of the types of
        :class:`~headway.model.schema.DataType`, None for NULL; times are microseconds since the
        epoch. The file is opened and what it promises of its columns checked at once, before the
        first tuple is asked for. FileError (:func:`unreadable`) when it is not there or not what
        its name says, DataError with the line (:func:`bad_value`, :func:`unknown_arrival`) when
        a tuple does not have the form of the schema.
        """


ARRIVAL_FIELD = Field(ARRIVAL_COLUMN, DataType.TIMESTAMP)
VEHICLE_FIELD = Field(VEHICLE_COLUMN, DataType.STRING)


def wanted_fields(
    path: Path | str, schema: Schema, there: Collection[str], line: int | None = None
) -> list[Field]:
    """The columns to read: the schema's, then of arrival and vehicle those that are there.
    ``path`` is what messages call the file or table.

    DataError if one of the schema's is missing, or one that is to be read there twice.
    """
    missing = [field for field in schema.columns if field.name not in there]
    if missing:
        raise DataError(
            Problem(
                f"no column {field.name!r}",
                place=Place(str(path), line),
                got=f"the columns {', '.join(there)}" if there else "no columns",
                want=f"want {field.describe()}",
            )
            for field in missing
        )
    fields = [*schema.columns, *(f for f in (ARRIVAL_FIELD, VEHICLE_FIELD) if f.name in there)]
    often = Counter(list(there))  # names alone: a mapping would be taken for counts
    if twice := [field.name for field in fields if often[field.name] > 1]:
        raise DataError(
            Problem(
                f"the column {name!r} is there {often[name]} times",
                place=Place(str(path), line),
                want="keep one, or give them different names",
            )
            for name in twice
        )
    return fields


def parse_time(text: str) -> int:
    """Microseconds of an ISO 8601 time (UTC where it names no zone), or of a number of them."""
    if WHOLE.fullmatch(text):
        microseconds = int(text)
        if not -(1 << 63) <= microseconds < 1 << 63:
            raise ValueError
        return microseconds
    return microseconds_of(datetime.fromisoformat(text))


def microseconds_of(moment: datetime) -> int:
    """Since the epoch (UTC where it has no zone)."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND


def wrong_types(
    path: Path | str, fields: Iterable[Field], there: Mapping[str, object]
) -> DataError:
    """Columns, by name in ``there``, of types whose values cannot be those of their fields."""
    return DataError(
        Problem(
            "a column has the wrong type",
            place=Place(str(path)),
            at=field.name,
            got=str(there[field.name]),
            want=f"want {field.describe()}",
        )
        for field in fields
    )


def bad_value(path: Path | str, line: int, field: Field, value: object) -> DataError:
    """A cell that is not of its column's type."""
    want = f"want {field.describe()}"
    if field.type is DataType.TIMESTAMP:
        want += ": ISO 8601, or whole microseconds since the epoch"
    return DataError(
        "not a value of its column",
        place=Place(str(path), line),
        at=field.name,
        got=f"{value!r:.80}",
        want=want,
    )


def not_fitting(path: Path | str, field: Field, error: Exception) -> DataError:
    """A column of an Arrow table with a value that its type cannot hold."""
    return DataError(
        f"a value does not fit its column: {error}",
        place=Place(str(path)),
        at=field.name,
        want=f"want {field.describe()}",
    )


def unknown_arrival(path: Path | str, number: int) -> DataError:
    """A tuple without a time of arrival has no place in the order."""
    want = f"without the column {ARRIVAL_COLUMN!r} every tuple needs its {TIMESTAMP_COLUMN!r}"
    return DataError(
        "a tuple without a time of arrival",
        place=Place(str(path), number),
        at=ARRIVAL_COLUMN,
        got="NULL",
        want=want,
    )


def unreadable(path: Path | str, error: Exception, what: str = "cannot be read") -> FileError:
    """A file that is not there, or not what its name says."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return FileError(f"{what}: {reason}", place=Place(str(path)))


def needed(module: str, package: str, *, extra: str, reading: str) -> Any:
    """An optional package, or EnvironmentMissing saying which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise EnvironmentMissing(
            f"Reading {reading} needs {package}. Install it with: pip install 'headway[{extra}]'"
        ) from None
