"""The tuples of many vehicles in their order of arrival, and which of them can be run.

A stream cuts its sources into micro-batches wherever it likes, so one source may be ahead of
another. A tuple is run only when nothing that arrived before it can still come: of one instant, the
sources declared first come first, so a tuple of source s that arrived at a is ready just when
(a, s) <= (seen(o), o) for every source o. Each source must keep its own order of arrival. The
result then does not depend on where the cuts fall.

Ties of one vehicle and source go by the tuples' places in their recording; where these are missing
the tuples themselves break them, in Spark's order (NULL, values, NaN), as they do in a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.spark.state.vehicle_states import NOT_YET, OWNER, Mask, Places, Times

ARRIVED = "#at"
POSITION = "#position"
BESIDE = (OWNER, ARRIVED, POSITION)
"""the columns before those of the schema, in every table here"""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Tuples of all sources; each stands in the table of its source, in row ``rows``."""

    tables: tuple[Any, ...]
    """by source"""
    owners: Places
    """whose it is: the place of its vehicle"""
    times: Times
    """microseconds"""
    sources: np.ndarray[Any, np.dtype[np.uint16]]
    rows: Places

    def __len__(self) -> int:
        return len(self.owners)

    def at(self, places: Places) -> Arrivals:
        return Arrivals(
            self.tables,
            self.owners[places],
            self.times[places],
            self.sources[places],
            self.rows[places],
        )

    def rows_of(self, source: int) -> Places:
        """Which rows of a source's table are among these, in their order."""
        return self.rows if len(self.tables) == 1 else self.rows[self.sources == source]

    def table_of(self, source: int) -> Any:
        """These tuples of a source, in their order."""
        return self.tables[source].take(pa.array(self.rows_of(source)))

    # ---------------------------------------------------------------- order

    def in_order(self) -> Arrivals:
        """By vehicle, then as they arrived."""
        if len(self) < 2:
            return self
        order = _by_owner(self.owners)
        found = self.at(order)
        if found._is_sorted():
            return found
        return self.at(np.lexsort(self._keys()))

    def _is_sorted(self) -> bool:
        """Whether tuples that are together by vehicle already stand as they arrived, surely."""
        owners, times, sources = self.owners, self.times, self.sources
        same = owners[1:] == owners[:-1]
        later = times[1:] - times[:-1]
        if bool((same & (later < 0)).any()):
            return False
        tied = np.flatnonzero(same & (later == 0))
        if not len(tied):
            return True
        apart = sources[tied + 1].astype(np.int32) - sources[tied]
        if bool((apart < 0).any()):
            return False
        tied = tied[apart == 0]
        positions, known = self._positions()
        return bool(
            (known[tied] & known[tied + 1] & (positions[tied] <= positions[tied + 1])).all()
        )

    def _positions(self) -> tuple[Places, Mask]:
        positions = np.zeros(len(self), dtype=np.int64)
        known = np.zeros(len(self), dtype=np.bool_)
        for source, table in enumerate(self.tables):
            mine = self.sources == source
            column = one_array(table.column(POSITION)).take(pa.array(self.rows[mine]))
            known[mine] = column.is_valid().to_numpy(zero_copy_only=False)
            positions[mine] = column.fill_null(0).to_numpy(zero_copy_only=False)
        return positions, known

    def _keys(self) -> list[np.ndarray[Any, Any]]:
        """For numpy's lexsort: the last counts first."""
        positions, known = self._positions()
        keys: list[np.ndarray[Any, Any]] = []
        if not known.all():
            keys += reversed(self._tuples_themselves(~known))
        return [*keys, positions, known, self.sources, self.times, self.owners]

    def _tuples_themselves(self, asked: Mask) -> list[np.ndarray[Any, Any]]:
        """Keys by which the tuples asked for are ordered among those of their source."""
        found: list[np.ndarray[Any, Any]] = []
        for source, table in enumerate(self.tables):
            mine = np.flatnonzero(asked & (self.sources == source))
            if not len(mine):
                continue
            rows = pa.array(self.rows[mine])
            for column in table.columns[len(BESIDE) :]:
                for key in _ranked(one_array(column).take(rows)):
                    whole = np.zeros(len(self), dtype=key.dtype)
                    whole[mine] = key
                    found.append(whole)
        return found


def _by_owner(owners: Places) -> Places:
    """A stable order by vehicle; small numbers are sorted in one pass."""
    if not len(owners) or int(owners.max()) <= np.iinfo(np.uint16).max:
        return np.argsort(owners.astype(np.uint16), kind="stable")
    return np.argsort(owners, kind="stable")


def _ranked(column: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Two keys in Spark's order: NULL, a value or NaN; and the value."""
    rank = column.is_valid().to_numpy(zero_copy_only=False).astype(np.int8)
    if pa.types.is_string(column.type):
        encoded = column.dictionary_encode()
        places = np.empty(len(encoded.dictionary), dtype=np.int64)
        places[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(places))
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return rank, np.where(rank == 1, places[codes], 0) if len(places) else codes
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(column.type):
        rank[np.isnan(values)] = 2
        values = np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf)
    return rank, values


def one_array(column: Any) -> Any:
    """A column as one array."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


# ---------------------------------------------------------------- all sources together


def arrivals_of(tables: Sequence[Any]) -> Arrivals:
    """The tuples of tables with the columns BESIDE and then those of their schema, by source."""
    parts = [(one_array(t.column(OWNER)), one_array(t.column(ARRIVED))) for t in tables]
    owners = [owner.to_numpy().astype(np.int64, copy=False) for owner, _ in parts]
    times = [time.to_numpy().astype(np.int64, copy=False) for _, time in parts]
    sizes = [len(one) for one in owners]
    return Arrivals(
        tables=tuple(tables),
        owners=np.concatenate(owners),
        times=np.concatenate(times),
        sources=np.repeat(np.arange(len(sizes), dtype=np.uint16), sizes),
        rows=np.concatenate([np.arange(size, dtype=np.int64) for size in sizes]),
    )


# ---------------------------------------------------------------- what can be run


def complete_until(seen: Times) -> tuple[Times, Places]:
    """By vehicle, of how far its sources have been seen: all that arrived until (time, source) is
    there; NOT_YET where a source has not begun."""
    last = seen.argmin(axis=1)  # of one instant the first source
    return seen[np.arange(len(seen)), last], last


def ready(arrivals: Arrivals, seen: Times) -> Mask:
    """Which tuples can be run: nothing that arrived before them can still come."""
    if seen.shape[1] == 1:
        return np.ones(len(arrivals), dtype=np.bool_)
    time, source = complete_until(seen)
    until = time[arrivals.owners]
    at_once = (arrivals.times == until) & (arrivals.sources <= source[arrivals.owners])
    found: Mask = (until != NOT_YET) & ((arrivals.times < until) | at_once)
    return found


def note_seen(seen: Times, arrivals: Arrivals) -> None:
    """Moves on how far each source of each vehicle has been seen."""
    width = seen.shape[1]
    places = arrivals.owners * width + arrivals.sources
    np.maximum.at(seen.reshape(-1), places, arrivals.times)


def places_in_group(groups: Places) -> Places:
    """Of items that are together by group: each one's place in its group, from 0."""
    first = np.ones(len(groups), dtype=np.bool_)
    first[1:] = groups[1:] != groups[:-1]
    starts = np.flatnonzero(first)
    numbers = np.cumsum(first) - 1
    found: Places = np.arange(len(groups), dtype=np.int64) - starts[numbers]
    return found
