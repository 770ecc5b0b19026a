"""A delayed upload: tuples that come long after later ones of their vehicle, kept apart from them.

Tuples enter a query in the order of their recorded arrival. A stream has run today's when
yesterday's come; it cannot go back. Unless told otherwise they arrive when they come, and windows
and joins find them late. With an ``upload_gap`` they are an upload of their own instead: what
arrived more than that before the newest of its vehicle goes through an engine of its own, which
sees only such tuples, in their order. Where nothing of the query reaches over the gap (a window, a
join, a fusion that is longer) its results are those of a batch over all of it.

An upload is a vehicle to everything that keeps states: its name is the vehicle's with a number
behind it, which is taken off again where rows go out and where partitions are dealt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.model.schema import VEHICLE_COLUMN
from headway.spark.state.arrival_order import ARRIVED, one_array
from headway.spark.state.vehicle_states import NOT_YET, Times

_UPLOAD = "\x1fupload\x1f"


def vehicles_of(names: Any) -> Any:
    """The vehicles that these are, or are uploads of."""
    if not pc.any(pc.match_substring(names, _UPLOAD)).as_py():
        return names
    return pc.replace_substring_regex(names, f"{_UPLOAD}[0-9]+$", "")


def uploads_apart(
    tables: Mapping[str, Any], vehicles: Any, seen: Times, gap: int
) -> Mapping[str, Any]:
    """The tables of a micro-batch, by source, in which tuples that belong to a delayed upload bear
    its name. ``vehicles`` are those with a state and ``seen`` how far each source of each has been
    seen, before this micro-batch; ``gap`` is microseconds."""
    if not len(vehicles):
        return tables
    newest = seen.max(axis=1)
    return {
        name: table if table is None or not table.num_rows else _apart(table, vehicles, newest, gap)
        for name, table in tables.items()
    }


def _apart(table: Any, vehicles: Any, newest: Times, gap: int) -> Any:
    column = one_array(table.column(VEHICLE_COLUMN))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    encoded = column.cast(pa.string()).fill_null("").dictionary_encode()
    arrived = one_array(table.column(ARRIVED)).to_numpy()
    codes = encoded.indices.to_numpy()
    names = encoded.dictionary
    level, chosen = 0, names
    places = np.arange(len(arrived))
    renamed: list[Any] = [None] * len(arrived)
    while True:
        known = pc.index_in(chosen, value_set=vehicles)
        place = known.fill_null(0).to_numpy()
        last = np.where(known.is_valid().to_numpy(zero_copy_only=False), newest[place], NOT_YET)
        behind = last[codes[places]]
        fits = (behind == NOT_YET) | (arrived[places] >= behind - gap)
        if level:
            for row in places[fits].tolist():
                renamed[row] = chosen[codes[row]].as_py()
        places = places[~fits]
        if not len(places):
            break
        level += 1
        chosen = pc.binary_join_element_wise(names, pa.scalar(f"{_UPLOAD}{level}"), "")
    if not level:
        return table
    apart = pc.coalesce(pa.array(renamed, pa.string()), encoded.dictionary_decode())
    return table.set_column(table.column_names.index(VEHICLE_COLUMN), VEHICLE_COLUMN, apart)
