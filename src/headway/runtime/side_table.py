"""Side outputs as tables: tuples that left their way, where, when and why."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from headway.model.graph import Graph, graph_of
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.schema import Schema
from headway.runtime.operators.base import DropKind, Dropped
from headway.runtime.results import SideOutput

SIDE_SCHEMA = pa.schema(
    [
        ("time", pa.timestamp("us", tz="UTC")),
        ("where", pa.string()),
        ("port", pa.string()),
        ("reason", pa.string()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("row", pa.string()),
        ("value", pa.string()),
    ]
)


SideRow = tuple[int, str, str | None, str, int | None, str, str | None]
"""as SIDE_SCHEMA; times in microseconds"""


def side_row(time: int, dropped: Dropped, schema: Schema | None) -> SideRow:
    """``time`` in nanoseconds; ``schema`` is that of the stream that the tuple was on."""
    return (
        time // MICROSECOND,
        dropped.where,
        dropped.port,
        dropped.reason,
        _timestamp(dropped),
        row_json(dropped, schema),
        None if dropped.value is None else _json(dropped.value),
    )


class SideRows:
    """Dropped tuples of a plan as rows: ``row`` is the tuple as a JSON object (a list if it does
    not fit its schema); ``value`` a shed tuple's value."""

    def __init__(self, plan: Plan) -> None:
        self._graph, self._schemas = graph_of(plan.query), dict(plan.schemas)

    def row(self, time: int, dropped: Dropped) -> SideRow:
        return side_row(time, dropped, _schema(dropped, self._graph, self._schemas))


def side_table(side: SideOutput, kind: DropKind, plan: Plan) -> Any:
    rows = SideRows(plan)
    return side_rows_table(rows.row(time, one) for time, one in side.dropped if one.kind is kind)


def side_rows_table(rows: Iterable[SideRow]) -> Any:
    found = list(rows)
    columns = list(zip(*found, strict=True)) if found else [()] * len(SIDE_SCHEMA)
    arrays = [pa.array(c, kind) for c, kind in zip(columns, SIDE_SCHEMA.types, strict=True)]
    return pa.table(arrays, schema=SIDE_SCHEMA)


def row_json(dropped: Dropped, schema: Schema | None) -> str:
    """The tuple with its column names, as far as they are known."""
    row = dropped.row
    if schema is None or len(row) != len(schema.columns):
        return _json(list(row))
    return _json({field.name: value for field, value in zip(schema.columns, row, strict=True)})


def _schema(dropped: Dropped, graph: Graph, schemas: dict[str, Schema]) -> Schema | None:
    """The schema of the stream that the dropped tuple was on."""
    name = dropped.where
    if name in graph.sources:
        return graph.sources[name].schema
    operator = graph.operators.get(name)
    if operator is None:
        return None
    if dropped.port is None and operator.declared_schema is not None:
        return schemas[name]  # a result that does not fit
    streams = [port.stream for port in operator.inputs if dropped.port in (None, port.port)]
    return schemas[streams[0]] if streams else None


def _timestamp(dropped: Dropped) -> int | None:
    first = dropped.row[0] if dropped.row else None
    fits = isinstance(first, int) and not isinstance(first, bool) and abs(first) < 1 << 63
    return first if fits else None


def _json(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=True, default=repr)


def _plain(value: Any) -> Any:
    """JSON knows no NaN and no infinities: they become strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
