"""How output rows stand to their deadlines, on Spark.

The rule, the same in batch and in streaming: ``deadline`` is the sensing time plus the output's
l_s. ``completed`` is when the row was computed and about to be written, by the clock of the machine
that did it, rounded up. ``missed`` is ``completed > deadline``. ``replayed`` says that the deadline
had passed before the run began: nobody could have kept it, so such rows do not count in miss ratios
and latencies. A stream never ends: :mod:`headway.spark.tallies` counts it in bounded memory.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headway.engine.result_tables import free_name
from headway.model.quantities import MICROSECOND
from headway.model.query import Criticality, Output
from headway.model.schema import TIMESTAMP_COLUMN, Schema
from headway.spark.spark_results import SparkOutput

ADDED = ("deadline", "completed", "latency", "missed", "replayed")
ACCURACY = 1000
"""of approximate percentiles: their ranks are right to one in a thousand"""

# java_method is evaluated for each row, where current_timestamp() is the time the job was planned.
_NOW = "cast(java_method('java.lang.System', 'currentTimeMillis') AS bigint) * 1000 + 999"


def now() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // MICROSECOND


def added_names(schema: Schema) -> dict[str, str]:
    """What the added columns are called beside those of the stream."""
    return {name: free_name(name, schema.names) for name in ADDED}


def measures(latency: Column, missed: Column) -> list[Column]:
    """Aggregates over an output's rows that :func:`measured_numbers` reads."""
    return [
        F.count(F.lit(1)).alias("tuples"),
        F.count_if(missed).alias("misses"),
        F.percentile_approx(latency, [0.5, 0.99], ACCURACY).alias("percentiles"),
        F.max(latency).alias("latency_max"),
    ]


def measured_numbers(measured: Mapping[str, Any]) -> dict[str, int]:
    """As fields of a summary; latencies are 0 where there were none."""
    median, high = measured["percentiles"] or (0, 0)
    return {
        "tuples": measured["tuples"],
        "misses": measured["misses"],
        "latency_median": median,
        "latency_99": high,
        "latency_max": measured["latency_max"] or 0,
    }


@dataclass(frozen=True)
class Account:
    """Of one output in one run; ``began`` in microseconds."""

    output: Output
    schema: Schema
    began: int

    @property
    def deadline(self) -> int:
        """Relative, in microseconds."""
        return (self.output.deadline or 0) // MICROSECOND

    def stamped(self, data: DataFrame, completed: int | None = None) -> DataFrame:
        """``data`` with the added columns. ``completed`` is given where one moment holds for all
        rows; otherwise each row has the millisecond in which its task computed it."""
        names = added_names(self.schema)
        moment: Column = F.expr(_NOW) if completed is None else F.lit(completed)
        done = data.withColumn(names["completed"], F.timestamp_micros(moment))
        sensed = F.unix_micros(TIMESTAMP_COLUMN)
        finished = F.unix_micros(names["completed"])
        due = sensed + F.lit(self.deadline)
        return done.select(
            *data.columns,
            F.timestamp_micros(due).alias(names["deadline"]),
            names["completed"],
            ((finished - sensed) * MICROSECOND).alias(names["latency"]),
            (finished > due).alias(names["missed"]),
            (due < F.lit(self.began)).alias(names["replayed"]),
        )

    def measures(self) -> list[Column]:
        """Aggregates over stamped rows that :meth:`summary` reads."""
        names = added_names(self.schema)
        replayed, latency = F.col(names["replayed"]), F.col(names["latency"])
        live = measures(F.when(~replayed, latency), F.col(names["missed"]) & ~replayed)
        return [*live, F.count_if(replayed).alias("replayed")]

    def summary(self, measured: Mapping[str, Any]) -> SparkOutput:
        return SparkOutput(
            output=self.output.name,
            deadline=self.output.deadline or 0,
            hard=self.output.criticality is Criticality.HARD,
            weight=self.output.weight,
            replayed=measured["replayed"],
            **measured_numbers(measured),
        )
