"""What the tests of intakes share: all batches of what is there now, and what was in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from headway.model.quantities import MILLISECOND, Rate
from headway.model.query import Source
from headway.model.schema import schema
from headway.spark.sources.checked_files import Quarantine, Rejected
from headway.spark.sources.intake import Intake, IntakePiece, Limits, each_piece
from headway.spark.sources.recorded_files import Inputs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headway.spark.storage.locations import Location

SPEED = Source(name="speed", schema=schema(v="double"), rate=Rate(1, MILLISECOND), delay=0)
RADAR = Source(name="radar", schema=schema(d="double"), rate=Rate(1, 10 * MILLISECOND), delay=0)
TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Taken:
    """A piece that was computed."""

    batch: int
    mark: int
    last: bool
    rows: Mapping[str, list[Any]]
    tasks: Mapping[str, int]
    """that had tuples"""

    def values(self, name: str) -> list[Any]:
        return sorted(row[1] for row in self.rows[name])


def drained(intake: Intake, checkpoint: Path, mark: int = 0) -> list[Taken]:
    found: list[Taken] = []

    def on_batch(batch: DataFrame, number: int) -> None:
        def compute(piece: IntakePiece) -> None:
            rows = {name: data.collect() for name, data in piece.sources.items()}
            tasks = {
                name: data.select(F.spark_partition_id()).distinct().count()
                for name, data in piece.sources.items()
            }
            found.append(Taken(number, piece.mark, piece.last, rows, tasks))

        each_piece(intake, batch, number, mark, compute)

    writer = intake.stream.writeStream.option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).foreachBatch(on_batch).start().awaitTermination()
    return found


def intake_of(
    spark: SparkSession,
    folder: Path | Location,
    output: Path,
    *sources: Source,
    limits: Limits | None = None,
) -> Intake:
    """In a session of its own, as a query has one."""
    return Inputs(folder).intake(
        spark.newSession(),
        sources or (SPEED,),
        Quarantine(output / "quarantine"),
        Rejected(output / "rejected"),
        limits,
    )


def write(folder: Path, name: str, begin: int = 0, count: int = 2, **columns: object) -> Path:
    """``count`` rows, a millisecond apart; the value is the time in milliseconds."""
    folder.mkdir(parents=True, exist_ok=True)
    times = [1000 * (begin + number) for number in range(count)]
    values = pa.array([float(begin + number) for number in range(count)])
    given = {"timestamp": pa.array(times, TIME), "v": values, **columns}
    table = pa.table({one: column for one, column in given.items() if column is not None})
    pq.write_table(table, folder / name)
    return folder / name
