"""What reaches the sources of a compiled program: tuples one by one, or whole Arrow tables.

Every tuple is held to its source's schema here, by the same rules and with the same words as in the
Python engine (:mod:`headway.engine.operators.conform`). One that does not have its form arrives all
the same, without a row: the program counts it, and says when it was rejected; what was wrong with
it is remembered here until then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.engine.jobs import Arrival
from headway.engine.operators.conform import conform_function, fits_function
from headway.errors import DataError
from headway.model.quantities import MICROSECOND
from headway.model.query import Source
from headway.model.schema import DataType
from headway.model.user_operator import Row
from headway.native.arrow_rows import RowArray, RowLayout, rows_of_columns, rows_of_tuples
from headway.native.library import MALFORMED, NativeArrivals

CHUNK = 8192
"""tuples that are handed to a program at once"""


class RejectedRow(NamedTuple):
    """A tuple that does not have the form of its source, and why."""

    row: Row
    reason: str


class RowEntrance:
    """Where the tuples of one source are checked and laid out."""

    def __init__(self, source: Source, layout: RowLayout) -> None:
        self.name = source.name
        self.schema, self.layout = source.schema, layout
        self._fits = fits_function(source.schema)
        self._conform = conform_function(source.schema)
        texts = {
            place: field
            for place, field in enumerate(source.schema.columns)
            if field.type is DataType.STRING
        }
        self.most_bytes = {
            place: layout.columns[place].capacity if field.length is None else field.length
            for place, field in texts.items()
        }
        """of the strings, by place"""
        self._undeclared = [
            (place, field.name) for place, field in texts.items() if field.length is None
        ]
        self.rejected: deque[RejectedRow] = deque()
        """in the order of arrival"""

    def checked(self, row: Any) -> Row | None:
        """The tuple in the schema's types; None if it is rejected."""
        try:
            conformed: Row = row if self._fits(row) else self._conform(row)
            if self._undeclared:
                self._check_room(conformed)
        except DataError as error:
            kept = tuple(row) if isinstance(row, tuple | list) else (row,)
            self.rejected.append(RejectedRow(kept, str(error)))
            return None
        return conformed

    def _check_room(self, row: Row) -> None:
        """A compiled program has room for so many bytes where no length is declared."""
        for place, name in self._undeclared:
            text, most = row[place], self.most_bytes[place]
            if text is not None and (size := len(text.encode())) > most:
                raise DataError(
                    f"takes {size} bytes, more than the {most} of a compiled program",
                    at=name,
                    got=f"str {text!r:.60}",
                    want=f"declare its length, as in string({size})",
                )

    def rows(self, tuples: Sequence[Row]) -> RowArray:
        return rows_of_tuples(tuples, self.schema, self.layout)

    def malformed(self, columns: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which tuples of Arrow arrays, one for each column, do not have their form. Columns have
        their types, so only a missing timestamp and texts that are too long remain."""
        wrong = np.zeros(len(columns[0]), dtype=np.bool_)
        if columns[0].null_count:
            wrong |= columns[0].is_null().to_numpy(zero_copy_only=False)
        for place, most in self.most_bytes.items():
            sizes = pc.fill_null(pc.binary_length(columns[place]), 0)
            wrong |= np.asarray(sizes.to_numpy(zero_copy_only=False)) > most
        return wrong

    def reject(self, columns: Sequence[Any], places: Iterable[int]) -> None:
        """Remembers tuples that do not have their form, in this order."""
        for place in places:
            self.checked(tuple(column[place].as_py() for column in columns))


# ---------------------------------------------------------------- tuple by tuple


class Entrances:
    """The sources of a program, in its order."""

    def __init__(self, sources: Iterable[Source], layouts: Mapping[str, RowLayout]) -> None:
        self.all = [RowEntrance(source, layouts[source.name]) for source in sources]
        self._places = {one.name: place for place, one in enumerate(self.all)}

    def chunks(self, arrivals: Iterable[Arrival]) -> Iterator[NativeArrivals]:
        """The arrivals in pieces, none of them empty."""
        source = iter(arrivals)
        while piece := list(islice(source, CHUNK)):
            yield self.laid_out(piece)

    def laid_out(self, arrivals: Sequence[Arrival]) -> NativeArrivals:
        """These arrivals, in their order."""
        kept: list[list[Row]] = [[] for _ in self.all]
        sources = np.empty(len(arrivals), dtype=np.uint16)
        for number, (_, name, row) in enumerate(arrivals):
            place = self._places[name]
            checked = self.all[place].checked(row)
            if checked is None:
                sources[number] = place | MALFORMED
            else:
                sources[number] = place
                kept[place].append(checked)
        return NativeArrivals(
            np.fromiter((one[0] for one in arrivals), dtype=np.int64, count=len(arrivals)),
            sources,
            [one.rows(rows) for one, rows in zip(self.all, kept, strict=True)],
        )

    # ------------------------------------------------------------ whole tables

    def of_tables(self, tables: Mapping[str, ArrivingTable]) -> NativeArrivals:
        """The tuples of tables, one for each source, merged by arrival; ties go by the sources'
        order, as in a recording."""
        times: list[np.ndarray[Any, np.dtype[np.int64]]] = []
        sources: list[np.ndarray[Any, np.dtype[np.uint16]]] = []
        rows: list[RowArray] = []
        for place, entrance in enumerate(self.all):
            table = tables[entrance.name]
            malformed = table.malformed(entrance)
            times.append(table.arrived)
            marks = np.full(len(table.arrived), place, dtype=np.uint16)
            if malformed.any():
                marks[malformed] |= MALFORMED
            sources.append(marks)
            rows.append(table.rows(entrance, ~malformed))
        if len(times) == 1:
            return NativeArrivals(times[0], sources[0], rows)
        together = np.concatenate(times)
        order = np.argsort(together, kind="stable")
        return NativeArrivals(together[order], np.concatenate(sources)[order], rows)


@dataclass(frozen=True, slots=True)
class ArrivingTable:
    """The tuples of a source in order of arrival (ns): Arrow columns of the schema's own types."""

    arrived: np.ndarray[Any, np.dtype[np.int64]]
    columns: Sequence[Any]

    def malformed(self, entrance: RowEntrance) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which tuples are rejected; the entrance remembers them."""
        wrong = entrance.malformed(self.columns)
        entrance.reject(self.columns, np.flatnonzero(wrong).tolist())
        return wrong

    def rows(self, entrance: RowEntrance, kept: np.ndarray[Any, np.dtype[np.bool_]]) -> RowArray:
        columns = self.columns
        if not kept.all():
            mask = pa.array(kept)
            columns = [column.filter(mask) for column in columns]
        return rows_of_columns(columns, entrance.layout)


def arriving_table(columns: Sequence[Any], arrived_us: Any) -> ArrivingTable:
    """Of Arrow arrays: the schema's columns, times as whole microseconds, and the arrivals (us)."""
    whole = [
        column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        for column in (*columns, arrived_us)
    ]
    arrived = np.asarray(whole[-1].to_numpy(zero_copy_only=False), dtype=np.int64) * MICROSECOND
    return ArrivingTable(arrived, whole[:-1])
