"""Filter, Map and Union: one tuple at a time, late or not."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import functions as F

from headway.expressions import Scope, check
from headway.model.operators import Filter, Map, Union
from headway.model.schema import TIMESTAMP_COLUMN, DataType, Schema
from headway.spark.lowering.expressions import compute
from headway.spark.lowering.frame import ARRIVED, LATE, Frame


def lower_filter(operator: Filter, inputs: Mapping[str, Frame], output: Schema) -> Frame:
    (frame,) = inputs.values()
    where = check(operator.where, Scope.row(frame.schema), want=DataType.BOOLEAN)
    computed = compute(frame.data, [where], on_failed=frame.on_failed)
    passed = frame.with_data(computed.data.where(computed.values[0]))
    return passed.select([F.col(name) for name in frame.names], output)


def lower_map(operator: Map, inputs: Mapping[str, Frame], output: Schema) -> Frame:
    (frame,) = inputs.values()
    scope = Scope.row(frame.schema)
    typed = [check(column.value, scope) for column in operator.columns]
    computed = compute(frame.data, typed, on_failed=frame.on_failed)
    named = dict(zip((c.name for c in operator.columns), computed.values, strict=True))
    columns = [named[name].alias(name) if name in named else F.col(name) for name in output.names]
    return frame.with_data(computed.data).select([F.col(TIMESTAMP_COLUMN), *columns], output)


def lower_union(operator: Union, inputs: Mapping[str, Frame], output: Schema) -> Frame:
    """Marks and times are kept if one side has them; the other side's tuples are on time, and
    nobody asks when they came."""
    frames = list(inputs.values())
    marked = any(frame.marked for frame in frames)
    timed = any(frame.timed for frame in frames)
    parts = []
    for frame in frames:
        data = frame.data
        if marked and not frame.marked:
            data = data.withColumn(LATE, F.lit(False))
        if timed and not frame.timed:
            data = data.withColumn(ARRIVED, F.lit(None).cast("bigint"))
        whole = Frame(data, frame.schema, marked, timed)
        parts.append(whole.select([F.col(name) for name in frame.names], output).data)
    united = parts[0]
    for part in parts[1:]:
        united = united.union(part)
    return Frame(united, output, marked, timed)
