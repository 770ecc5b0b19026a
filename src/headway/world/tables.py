"""The tables of a drive: what columns they have, and how arrays become them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from headway.model.schema import DataType, Field, Schema, parse_field
from headway.sources.record import ARRIVAL_FIELD, VEHICLE_FIELD
from headway.sources.writing import arrow_schema

_MOTION = {"x": "float [m]", "y": "float [m]", "vx": "float [m/s]", "vy": "float [m/s]"}
_VARIANCES = dict.fromkeys(("var_x", "var_y", "var_vx", "var_vy"), "float")


def _schema(**columns: str) -> Schema:
    return Schema(tuple(parse_field(name, text) for name, text in columns.items()))


STREAMS: Mapping[str, Schema] = {
    "gps": _schema(x="float [m]", y="float [m]", heading="float [rad]"),
    "speed": _schema(v="float [m/s]"),
    "radar": _schema(
        id="bigint", dx="float [m]", dy="float [m]", dvx="float [m/s]", dvy="float [m/s]"
    ),
    "v2v": _schema(
        id="bigint", sensor="string(5)", own="boolean", **_MOTION, **_VARIANCES,
        distance="float [m]",
    ),
}  # fmt: skip
"""The sources of examples/collision_warning."""
EXTRA = {"v2v": [Field("sender", DataType.BIGINT)]}
"""Columns of the recordings that no source has."""
TRUTH = Schema(
    (
        parse_field("id", "bigint"),
        *(parse_field(name, text.replace("float", "double")) for name, text in _MOTION.items()),
    )
)


def stream_table(name: str, columns: Mapping[str, Any], vehicle: str) -> Any:
    """A source's table, with ``arrived_at`` and ``vehicle``."""
    fields = [*STREAMS[name].columns, *EXTRA.get(name, []), ARRIVAL_FIELD, VEHICLE_FIELD]
    rows = len(columns["timestamp"])
    return _table(fields, {**columns, "vehicle": np.full(rows, vehicle)})


def table(schema: Schema, columns: Mapping[str, Any]) -> Any:
    """A table with these columns and nothing else."""
    return _table(list(schema.columns), columns)


def _table(fields: list[Field], columns: Mapping[str, Any]) -> Any:
    types = arrow_schema(fields)
    # from_pandas: a NaN is a value that is not known, so NULL.
    arrays = [pa.array(columns[field.name], from_pandas=True).cast(field.type) for field in types]
    return pa.Table.from_arrays(arrays, schema=types)


def python_values(column: Any) -> list[Any]:
    """A column's values as the reader of recordings gives them: times as microseconds."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if column.null_count or pa.types.is_string(column.type):
        values: list[Any] = column.to_pylist()
    else:
        values = column.to_numpy().tolist()
    return values
