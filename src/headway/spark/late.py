"""Which tuples are late: decided per vehicle and source, in the order of arrival.

A tuple is late if its timestamp lies more than the source's lateness behind the newest that arrived
before it (:mod:`headway.runtime.ingest` says the same for one vehicle).
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from headway.model.query import Source
from headway.model.schema import TIMESTAMP_COLUMN, VEHICLE_COLUMN
from headway.model.time import MICROSECOND
from headway.spark.lowering.frame import ARRIVED, LATE


def with_marks(data: DataFrame, source: Source, order: list[str]) -> DataFrame:
    """``data`` and its marks; ``order`` are the columns that order a vehicle's tuples."""
    before = (
        Window.partitionBy(VEHICLE_COLUMN)
        .orderBy(*order)
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    time = F.unix_micros(TIMESTAMP_COLUMN)
    behind = F.max(time).over(before) - time
    late = F.coalesce(behind > F.lit(source.lateness // MICROSECOND), F.lit(False))
    return data.withColumn(LATE, late)


def surely_on_time(sources: Mapping[str, tuple[DataFrame, Source]]) -> set[str]:
    """The sources of which two columns alone tell that no tuple is late; looks at the data, at all
    of them in one job.

    If nothing is sensed after it arrived, the newest timestamp seen so far is never ahead of the
    clock; a tuple no older on arrival than the lateness is then on time. That spares most
    recordings the sorting that marks need.
    """
    ages = F.col(ARRIVED) - F.unix_micros(TIMESTAMP_COLUMN)
    found: DataFrame | None = None
    for name, (data, source) in sources.items():
        late = F.max(ages) > F.lit(source.lateness // MICROSECOND)
        doubt = data.agg(F.coalesce((F.min(ages) < 0) | late, F.lit(False)).alias("doubt"))
        doubt = doubt.select(F.lit(name).alias("source"), "doubt")
        found = doubt if found is None else found.union(doubt)
    return set() if found is None else {row.source for row in found.collect() if not row.doubt}
