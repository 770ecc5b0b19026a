"""How output rows stand to their deadlines, on Spark.

The rule, the same in batch and in streaming: ``deadline`` is the sensing time plus the output's
l_s. ``completed`` is when the row was computed and about to be written, by the clock of the machine
that did it, rounded up. ``missed`` is ``completed > deadline``. ``replayed`` says that the deadline
had passed before the run began: nobody could have kept it, so such rows do not count in miss ratios
and latencies. Where a batch finds that all its rows are such, it stamps none of them. A stream
never ends: :mod:`headway.spark.tallies` counts it in bounded memory.
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
    return [*_counts(latency, missed), _percentiles(latency)]


def _counts(latency: Column, missed: Column) -> list[Column]:
    return [
        F.count(F.lit(1)).alias("tuples"),
        F.count_if(missed).alias("misses"),
        F.max(latency).alias("latency_max"),
    ]


def _percentiles(latency: Column) -> Column:
    return F.percentile_approx(latency, [0.5, 0.99], ACCURACY).alias("percentiles")


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
    """Of one output in one run; ``began`` in microseconds. ``replay``: it is known that the
    deadlines of all its rows had passed by then, so there is nothing to stamp or judge."""

    output: Output
    schema: Schema
    began: int
    replay: bool = False

    @property
    def deadline(self) -> int:
        """Relative, in microseconds."""
        return (self.output.deadline or 0) // MICROSECOND

    @property
    def judged_since(self) -> int:
        """Rows sensed at this moment or later had a deadline to keep when the run began."""
        return self.began - self.deadline

    def stamped(self, data: DataFrame) -> DataFrame:
        """``data`` with the added columns; each row has the millisecond in which its task computed
        it."""
        if self.replay:
            return data
        names = added_names(self.schema)
        done = data.withColumn(names["completed"], F.timestamp_micros(F.expr(_NOW)))
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
        """Aggregates over stamped rows that :meth:`summary` reads, all in one pass."""
        if self.replay:
            return [F.count(F.lit(1)).alias("tuples")]
        live, judged, latency = self._judged()
        return [
            *_counts(latency, judged),
            _percentiles(latency),
            F.count_if(~live).alias("replayed"),
        ]

    def measured(self, stamped: DataFrame) -> SparkOutput:
        """What rows come to that are computed for it, once."""
        (found,) = stamped.agg(*self.measures()).collect()
        return self.summary(found.asDict())

    def read_back(self, written: DataFrame) -> SparkOutput:
        """What rows come to that were written, read from their columns: percentiles, which are
        dear, are asked for only where a row was judged."""
        if self.replay:
            return self.summary({"tuples": written.count()})
        live, judged, latency = self._judged()
        counts = [*_counts(latency, judged), F.count_if(~live).alias("replayed")]
        (found,) = written.agg(*counts).collect()
        numbers: dict[str, Any] = {**found.asDict(), "percentiles": None}
        if numbers["replayed"] < numbers["tuples"]:
            (numbers["percentiles"],) = written.agg(_percentiles(latency)).collect()[0]
        return self.summary(numbers)

    def _judged(self) -> tuple[Column, Column, Column]:
        """Whether a row counts, whether it was missed then, and its latency then."""
        names = added_names(self.schema)
        live = ~F.col(names["replayed"])
        return live, live & F.col(names["missed"]), F.when(live, F.col(names["latency"]))

    def summary(self, measured: Mapping[str, Any]) -> SparkOutput:
        """Of what :meth:`measures` found."""
        tuples = measured["tuples"]
        nothing = {"misses": 0, "percentiles": None, "latency_max": None, "replayed": tuples}
        found = {**nothing, **measured}
        return SparkOutput(
            output=self.output.name,
            deadline=self.output.deadline or 0,
            hard=self.output.criticality is Criticality.HARD,
            weight=self.output.weight,
            replayed=found["replayed"],
            **measured_numbers(found),
        )
