"""What a task of a micro-batch hands to Spark, where Spark's own writers are to write it: rows of
all outputs in one DataFrame, each in a struct column of its output, with the state and a report
beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headway.engine.result_tables import SIDE_SCHEMA
from headway.model.schema import VEHICLE_COLUMN
from headway.spark.accounting import Account, added_names
from headway.spark.lowering.engine_region import EXIT
from headway.spark.lowering.frames import SPARK
from headway.spark.lowering.side_rows import SIDE, SIDE_EXIT
from headway.spark.session.python_workers import enter
from headway.spark.state.partition_files import SUFFIX, write_segment
from headway.spark.state.step_task import BLOB, SEGMENT, Computing, OutputRows, SideTuples
from headway.spark.state.task_files import TaskReport, stamped_rows
from headway.spark.state.vehicle_steps import KIND
from headway.spark.tallies import Tally

STATE_EXIT, REPORT_EXIT = -2, -3
TOLD = "#report"
ROWS_OUT = 1 << 16
"""handed to Spark at once"""
_SIDE_NAMES = [KIND, *SIDE_SCHEMA.names, VEHICLE_COLUMN]


def output_column(place: int) -> str:
    return f"#output{place}"


def rows_schema(accounts: Mapping[str, Account]) -> StructType:
    outputs = [
        StructField(output_column(place), _stamped_type(account))
        for place, account in enumerate(accounts.values())
    ]
    return StructType(
        [
            StructField(EXIT, IntegerType()),
            *outputs,
            StructField(SIDE, _side_type()),
            StructField(SEGMENT, StringType()),
            StructField(BLOB, BinaryType()),
            StructField(TOLD, StringType()),
        ]
    )


def _stamped_type(account: Account) -> StructType:
    added = added_names(account.schema)
    kinds = (TimestampType(), TimestampType(), LongType(), BooleanType(), BooleanType())
    return StructType(
        [
            StructField(VEHICLE_COLUMN, StringType()),
            *(StructField(field.name, SPARK[field.type]) for field in account.schema.columns),
            *(StructField(name, kind) for name, kind in zip(added.values(), kinds, strict=True)),
        ]
    )


def _side_type() -> StructType:
    times = {field.name for field in SIDE_SCHEMA if pa.types.is_timestamp(field.type)}
    return StructType(
        [StructField(n, TimestampType() if n in times else StringType()) for n in _SIDE_NAMES]
    )


@dataclass(frozen=True)
class TaskRows:
    """Of one step; may be copied to tasks. ``states``: the folder of the state's files, where
    tasks can write them; None: they are rows."""

    batch: str
    token: str
    accounts: Mapping[str, Account]
    states: str | None

    def task(self, computing: Computing, paths: tuple[str, ...]) -> Callable[[Any], Iterator[Any]]:
        """For ``mapInArrow``: rows of :func:`rows_schema`."""
        places = {name: place for place, name in enumerate(self.accounts)}

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            enter(paths)
            context = TaskContext.get()
            assert context is not None
            part = context.partitionId()
            report = TaskReport(part)
            blank = _Blank(self.accounts)
            for produced in computing.rows(batches, part):
                if isinstance(produced, OutputRows):
                    tally = report.tallies.setdefault(produced.output, Tally())
                    rows = stamped_rows(produced.rows, self.accounts[produced.output], tally)
                    place = places[produced.output]
                    yield from blank.structs(place, output_column(place), rows)
                elif isinstance(produced, SideTuples):
                    report.note_dropped(produced.rows)
                    yield from blank.structs(SIDE_EXIT, SIDE, produced.rows.select(_SIDE_NAMES))
                else:
                    name = f"{self.batch}-{part:05d}"
                    if self.states is not None:
                        name = f"{name}.{self.token}-{context.taskAttemptId()}{SUFFIX}"
                    report.note_state(produced, name)
                    if produced.data is not None and self.states is not None:
                        write_segment(Path(self.states), name, produced.data)
                    elif produced.data is not None:
                        cells: dict[str, list[Any]] = {SEGMENT: [name], BLOB: [produced.data]}
                        yield blank.row(STATE_EXIT, cells)
            yield blank.row(REPORT_EXIT, {TOLD: [report.to_text()]})

        return run


class _Blank:
    """Rows that have nothing but one column."""

    def __init__(self, accounts: Mapping[str, Account]) -> None:
        self._types: dict[str, Any] = {
            EXIT: pa.int32(),
            **{
                output_column(place): _struct(stamped_rows(_nothing(account), account, Tally()))
                for place, account in enumerate(accounts.values())
            },
            SIDE: _struct(_no_side()),
            SEGMENT: pa.string(),
            BLOB: pa.binary(),
            TOLD: pa.string(),
        }

    def row(self, place: int, cells: Mapping[str, list[Any]]) -> Any:
        arrays = {name: pa.array(cells[name], self._types[name]) for name in cells}
        return self._filled(place, arrays, 1)

    def structs(self, place: int, column: str, rows: Any) -> Iterator[Any]:
        for start in range(0, rows.num_rows, ROWS_OUT):
            some = rows.slice(start, ROWS_OUT).combine_chunks()
            arrays = [one.chunk(0) if one.num_chunks else one for one in some.columns]
            struct = pa.StructArray.from_arrays(arrays, fields=list(self._types[column]))
            yield self._filled(place, {column: struct}, some.num_rows)

    def _filled(self, place: int, given: Mapping[str, Any], size: int) -> Any:
        columns = {
            name: given[name] if name in given else pa.nulls(size, kind)
            for name, kind in self._types.items()
        }
        columns[EXIT] = pa.array([place] * size, pa.int32())
        return pa.RecordBatch.from_pydict(columns)


def _struct(table: Any) -> Any:
    return pa.struct(list(table.schema))


def _nothing(account: Account) -> Any:
    names = [VEHICLE_COLUMN, *(field.name for field in account.schema.columns)]
    kinds = [pa.string()] + [pa.null()] * (len(names) - 1)
    return pa.table([pa.array([], kind) for kind in kinds], names=names)


def _no_side() -> Any:
    fields = [pa.field(KIND, pa.string()), *SIDE_SCHEMA, pa.field(VEHICLE_COLUMN, pa.string())]
    return pa.schema(fields).empty_table()
