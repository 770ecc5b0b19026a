"""A run's results as tables and Parquet files: outputs, side outputs (tuples that left their way:
where, when and why) and the trace, vehicle after vehicle.

Where a query uses a name that this module adds (a column ``missed``, an output ``late``), the
added one gets a ``_`` behind it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable
from typing import Any

import pyarrow as pa

from headway.engine.operators.operator_base import DropKind, Dropped
from headway.engine.output_sinks import OutputSink, ParquetSink, TableWriter
from headway.engine.results import OutputRecord, RunResult, SideOutput, VehicleRun
from headway.engine.run_folder import RunFolder, unwritable
from headway.engine.trace import COLUMNS, EventKind
from headway.errors import FileError
from headway.model.graph import Graph, graph_of
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.schema import VEHICLE_COLUMN, Schema
from headway.sources.parquet_file import ARROW_TYPES

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


# -------------------------------------------------------------------- files of a run


TIME = pa.timestamp("us", tz="UTC")
NAMES = pa.dictionary(pa.int32(), pa.string())


class RunWriter:
    """Opens all files of a run at once; ``close`` completes them. ``named``: the recording has
    vehicles, so every table says whose each row is."""

    def __init__(
        self,
        folder: RunFolder,
        plan: Plan,
        *,
        named: bool,
        traced: bool,
        sink: OutputSink | None = None,
    ) -> None:
        self._named = named
        self._plan = plan
        self._folder = folder.folder
        schemas = dict(plan.schemas)
        self._schemas = {output.name: schemas[output.stream] for output in plan.query.outputs}
        taken = set(self._schemas)
        self._files: dict[str, TableWriter] = {}
        """what it holds -> writer"""
        self._names: dict[str, str] = {}
        """what it holds -> the file, where it is one"""
        outputs = sink or ParquetSink({})
        for name, schema in self._schemas.items():
            self._open(folder, outputs, name, name, output_schema(schema))
        for kind in DropKind:
            name = free_name(kind.value, taken)
            self._open(folder, ParquetSink({}), f"{kind}/", name, SIDE_SCHEMA)
        if traced:
            self._open(folder, ParquetSink({}), "trace/", free_name("trace", taken), TRACE_SCHEMA)

    def _open(self, folder: RunFolder, sink: OutputSink, what: str, name: str, schema: Any) -> None:
        before = folder.names
        try:
            self._files[what] = sink.open(name, self._owned(schema), folder)
        except OSError as error:
            raise unwritable(self._folder / name, error) from None
        self._names[what] = next((one for one in folder.names if one not in before), name)

    def _owned(self, schema: Any) -> Any:
        """With the column that says whose a row is."""
        return schema.append(pa.field(VEHICLE_COLUMN, pa.string())) if self._named else schema

    def add(self, run: VehicleRun) -> None:
        """Writes what one vehicle's run gave."""
        result = run.result
        for name, record in result.outputs.items():
            self._write(name, run.vehicle, output_table(record, self._schemas[name]))
        for kind in DropKind:
            self._write(f"{kind}/", run.vehicle, side_table(result.side, kind, self._plan))
        if "trace/" in self._files:
            self._write("trace/", run.vehicle, trace_table(result))

    def _write(self, what: str, vehicle: str | None, table: Any) -> None:
        if self._named:
            owner = pa.array([vehicle] * table.num_rows, pa.string())
            table = table.append_column(VEHICLE_COLUMN, owner)
        if table.num_rows:
            try:
                self._files[what].write_table(table)
            except OSError as error:
                raise self._unwritable(what, error) from None

    def close(self) -> None:
        """All of them, also where one cannot be completed."""
        failed: list[FileError] = []
        for what, writer in self._files.items():
            try:
                writer.close()
            except OSError as error:
                failed.append(self._unwritable(what, error))
        if failed:
            raise failed[0]

    def _unwritable(self, what: str, error: OSError) -> FileError:
        """A full disk, mostly."""
        return unwritable(self._folder / self._names[what], error)


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, with as many ``_`` behind it as make it different from all others."""
    while name in taken:
        name += "_"
    return name


def output_schema(schema: Schema) -> Any:
    """The stream's columns, then what is known of each tuple's deadline."""
    fields = [(field.name, ARROW_TYPES[field.type]) for field in schema.columns]
    added = {"deadline": TIME, "completed": TIME, "latency": pa.int64(), "missed": pa.bool_()}
    fields += [(free_name(name, schema.names), kind) for name, kind in added.items()]
    return pa.schema(fields)


def output_table(record: OutputRecord, schema: Schema) -> Any:
    """The tuples in order of completion. ``latency`` is exact, in nanoseconds; ``deadline`` is
    rounded down and ``completed`` up to microseconds."""
    kinds = output_schema(schema)
    columns = [list(column) for column in zip(*record.rows, strict=True)]
    if not columns:
        return kinds.empty_table()
    latencies = record.latencies
    sensed = columns[0]
    ahead = record.relative_deadline // MICROSECOND
    columns += [
        [timestamp + ahead for timestamp in sensed],
        [-(-completed // MICROSECOND) for completed in record.completed],
        latencies.tolist(),
        (latencies > record.relative_deadline).tolist(),
    ]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds.types, strict=True)]
    return pa.table(arrays, schema=kinds)


TRACE_SCHEMA = pa.schema(
    [
        (name, NAMES if name in ("kind", "node", "place", "what") else pa.int64())
        for name in COLUMNS[:-2]
    ]
    + [("first", pa.int32()), ("ran", pa.int32()), ("operators", pa.list_(pa.string()))]
)


def trace_table(result: RunResult) -> Any:
    """The trace with the operators of each run spelt out."""
    trains = {unit.name: unit.operators for unit in result.kernel.program.units}
    operators: list[list[str] | None] = []
    for kind, _, _, _, _, what, _, first, ran in result.trace.events:
        run = kind == EventKind.RUN
        operators.append(list(trains[what][first : first + ran]) if run else None)
    table = result.trace.to_table()
    return table.append_column("operators", pa.array(operators, pa.list_(pa.string())))
