"""Side outputs of a run as Parquet: ``late``, ``shed``, ``failed``, ``rejected``, always all four.

A batch writes each as Spark does. A stream writes a file for each query and micro-batch that
dropped something; repeated, the batch replaces its files. Files appear under their names when they
are complete.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headway.engine.operators.operator_base import DropKind
from headway.engine.result_tables import SIDE_SCHEMA, free_name
from headway.model.plan import Plan
from headway.model.schema import VEHICLE_COLUMN
from headway.spark.lowering.side_rows import KIND
from headway.spark.spark_results import SideCount
from headway.spark.storage.file_stores import FileStore, marked
from headway.spark.storage.locations import Location
from headway.spark.storage.output_folder import OutputFolder

EMPTY = SIDE_SCHEMA.append(pa.field(VEHICLE_COLUMN, pa.string())).empty_table()
NOBODY = "none.parquet"
ROWS_IN_FILE = 1 << 20


def side_name(kind: DropKind, plan: Plan) -> str:
    """The folder of a side output; an output of the query of that name comes first."""
    taken = {output.name for output in plan.query.outputs}
    return f"{free_name(kind.value, taken)}.parquet"


def write_side(side: DataFrame | None, plan: Plan, folder: OutputFolder) -> tuple[SideCount, ...]:
    """Of a batch, computed once; an empty one has a file without rows. None: all are empty."""
    if side is None:
        return _write_kinds(None, [], plan, folder)
    kept = side.persist()
    try:
        counted = kept.groupBy(KIND, "where").count().collect()
        found = [SideCount(row[KIND], row["where"], row["count"]) for row in counted]
        return _write_kinds(kept, found, plan, folder)
    finally:
        kept.unpersist()


def _write_kinds(
    side: DataFrame | None, found: list[SideCount], plan: Plan, folder: OutputFolder
) -> tuple[SideCount, ...]:
    for kind in DropKind:
        part = folder.part(side_name(kind, plan))
        count = sum(one.tuples for one in found if one.kind == kind)
        if side is not None and count:
            mine = side.where(F.col(KIND) == kind.value).drop(KIND)
            writer = mine.coalesce(count // ROWS_IN_FILE + 1).write
            writer.mode("append").parquet(part.hadoop_path)
        else:
            name = marked(NOBODY, folder.mark)
            folder.store.write_whole(part / name, parquet_bytes(EMPTY))
    return in_order(found, plan)


def write_empty_side(plan: Plan, output: Location, store: FileStore) -> None:
    """A stream's side outputs are there from the beginning."""
    for kind in DropKind:
        store.write_whole(output / side_name(kind, plan) / NOBODY, parquet_bytes(EMPTY))


def parquet_bytes(rows: Any) -> bytes:
    """A small file."""
    written = pa.BufferOutputStream()
    pq.write_table(rows, written)
    return bytes(written.getvalue())


def in_order(counts: list[SideCount], plan: Plan) -> tuple[SideCount, ...]:
    """By kind, then as the query has its sources and operators."""
    names = [source.name for source in plan.query.sources]
    names += [operator.name for operator in plan.query.operators]
    places = {name: place for place, name in enumerate(names)}
    kinds = list(DropKind)
    return tuple(
        sorted(counts, key=lambda one: (kinds.index(DropKind(one.kind)), places[one.where]))
    )
