"""Aggregate: the tuples on time, grouped by vehicle, window and keys.

A batch has all its tuples, so every window is complete. Spark's own ``window()`` is not used: its
windows have no columns of Headway's names, and it filters what arithmetic makes needless.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from headway.expressions import WINDOW_END, WINDOW_START, Scope, check, to_spark_sql
from headway.expressions.spark_sql import plain_column, quoted
from headway.expressions.tree import ColumnRef
from headway.model.operators import Aggregate
from headway.model.schema import TIMESTAMP_COLUMN, VEHICLE_COLUMN, Schema
from headway.model.time import MICROSECOND
from headway.spark.lowering.frame import Frame

_START = "#start"


def lower_aggregate(operator: Aggregate, inputs: Mapping[str, Frame], output: Schema) -> Frame:
    (frame,) = inputs.values()
    window, every = operator.window // MICROSECOND, operator.every // MICROSECOND
    scope = Scope.aggregate(frame.schema)
    typed = [
        check(column.value, scope, aggregates=True, grouping=operator.by)
        for column in operator.columns
    ]

    def column(reference: ColumnRef) -> str:
        bound = {WINDOW_START: 0, WINDOW_END: window}.get(reference.name)
        if bound is None:
            return plain_column(reference)
        return f"timestamp_micros({quoted(_START)} + {bound}L)"

    grouped = (
        frame.on_time()
        .withColumn(_START, _starts(window, every))
        .groupBy(VEHICLE_COLUMN, _START, *operator.by)
        .agg(
            F.min(TIMESTAMP_COLUMN).alias("#oldest"),
            *(
                F.expr(to_spark_sql(one, column=column)).alias(f"#value{place}")
                for place, one in enumerate(typed)
            ),
        )
    )
    values = [F.col(f"#value{place}").alias(c.name) for place, c in enumerate(operator.columns)]
    data = grouped.select(
        VEHICLE_COLUMN, F.col("#oldest").alias(TIMESTAMP_COLUMN), *operator.by, *values
    )
    return Frame(data, output)


def _starts(window: int, every: int) -> Column:
    """The windows ``[k * every, k * every + window)`` a tuple lies in."""
    time = F.unix_micros(TIMESTAMP_COLUMN)
    last = time - F.pmod(time, F.lit(every))
    if window == every:
        return last
    before = time - F.lit(window)
    first = before - F.pmod(before, F.lit(every)) + F.lit(every)
    return F.explode(F.sequence(first, last, F.lit(every)))
