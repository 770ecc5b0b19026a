"""Side outputs of a run as Parquet: files that appear under their names when complete."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headway.model.plan import Plan
from headway.model.schema import VEHICLE_COLUMN
from headway.runtime.operators.base import DropKind
from headway.runtime.run_folder import RunFolder, remove
from headway.runtime.side_table import SIDE_SCHEMA
from headway.runtime.writing import free_name
from headway.spark.lowering.engine_region import EXIT
from headway.spark.lowering.side_rows import KIND, SIDE, SIDE_EXIT
from headway.spark.parquet_parts import write_part
from headway.spark.results import SideCount
from headway.spark.stream.stream_sinks import END

# ------------------------------------------------------------
# Side outputs of a run as Parquet: ``late``, ``shed``, ``failed``, ``rejected``, always all four.
#
# A batch writes each as Spark does. A stream writes a file for each query and micro-batch that
# dropped something; repeated, the batch replaces its files.


EMPTY = SIDE_SCHEMA.append(pa.field(VEHICLE_COLUMN, pa.string())).empty_table()
NOBODY = "none.parquet"
ROWS_IN_FILE = 1 << 20


def side_name(kind: DropKind, plan: Plan) -> str:
    """The folder of a side output; an output of the query of that name comes first."""
    taken = {output.name for output in plan.query.outputs}
    return f"{free_name(kind.value, taken)}.parquet"


def write_side(side: DataFrame, plan: Plan, folder: RunFolder) -> tuple[SideCount, ...]:
    """Of a batch, computed once; an empty one has a file without rows."""
    kept = side.persist()
    try:
        counted = kept.groupBy(KIND, "where").count().collect()
        found = [SideCount(row[KIND], row["where"], row["count"]) for row in counted]
        for kind in DropKind:
            part = folder.part(side_name(kind, plan))
            count = sum(one.tuples for one in found if one.kind == kind)
            if count:
                mine = kept.where(F.col(KIND) == kind.value).drop(KIND)
                mine.coalesce(count // ROWS_IN_FILE + 1).write.parquet(str(part))
            else:
                write_part(EMPTY, part, NOBODY)
    finally:
        kept.unpersist()
    return in_order(found, plan)


def write_empty_side(plan: Plan, output: Path) -> None:
    """A stream's side outputs are there from the beginning."""
    for kind in DropKind:
        write_part(EMPTY, output / side_name(kind, plan), NOBODY)


def in_order(counts: list[SideCount], plan: Plan) -> tuple[SideCount, ...]:
    """By kind, then as the query has its sources and operators."""
    names = [source.name for source in plan.query.sources]
    names += [operator.name for operator in plan.query.operators]
    places = {name: place for place, name in enumerate(names)}
    kinds = list(DropKind)
    return tuple(
        sorted(counts, key=lambda one: (kinds.index(DropKind(one.kind)), places[one.where]))
    )


@dataclass
class StreamSide:
    """Side outputs of one query of a stream, since this process began."""

    plan: Plan
    output: Path
    group: str
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def write(self, tagged: Any, batch: str) -> None:
        """What a tagged Arrow table lists."""
        mine = tagged.filter(pc.equal(tagged.column(EXIT), SIDE_EXIT))
        if not mine.num_rows:
            self.remove(batch)
            return
        told = mine.column(SIDE).combine_chunks()
        columns = [pc.struct_field(told, name) for name in (KIND, *SIDE_SCHEMA.names)]
        kinds, *cells = columns
        rows = pa.table(
            [cell.cast(kind) for cell, kind in zip(cells, SIDE_SCHEMA.types, strict=True)],
            schema=SIDE_SCHEMA,
        ).append_column(VEHICLE_COLUMN, mine.column(VEHICLE_COLUMN).combine_chunks())
        self.put(kinds, rows, batch)

    def write_end(self, rows: Any) -> None:
        """What the end of the input dropped, as ``side_rows.unpacked`` lists it."""
        names = [*SIDE_SCHEMA.names, VEHICLE_COLUMN]
        self.put(rows.column(KIND), rows.select(names).cast(EMPTY.schema), END)

    def put(self, kinds: Any, rows: Any, batch: str) -> None:
        """Replaces what the batch wrote before."""
        name = f"{self.group}-{batch}.parquet"
        for kind in DropKind:
            folder = self.output / side_name(kind, self.plan)
            mine = rows.filter(pc.equal(kinds, kind.value))
            if not mine.num_rows:
                (folder / name).unlink(missing_ok=True)
                continue
            self.counts.update((kind.value, where) for where in mine.column("where").to_pylist())
            write_part(mine, folder, name)

    def remove(self, batch: str) -> None:
        for kind in DropKind:
            remove(self.output / side_name(kind, self.plan) / f"{self.group}-{batch}.parquet")
