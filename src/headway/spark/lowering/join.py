"""Join without a timeout: all pairs of tuples on time, near in time, with equal keys.

Spark joins by sorting or hashing on equality only, and a bare condition on times would compare
every tuple of a key with every other. So time is cut into slices: a left tuple lies in one, a right
tuple is put into each slice from which a left tuple can reach it, and the slice becomes a key. A
pair meets exactly once. Spark makes NaN equal to NaN and 0.0 to -0.0 in keys, and a NULL to
nothing, as the vehicle engine does.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headway.expressions import Scope, check
from headway.expressions.spark_sql import plain_column, quoted
from headway.model.operators import Join
from headway.model.schema import TIMESTAMP_COLUMN, VEHICLE_COLUMN, DataType, Schema
from headway.model.time import MICROSECOND
from headway.spark.lowering.expressions import compute
from headway.spark.lowering.frame import Frame

_SLICE = "#slice"
SLICES = 4
"""a slice is this many times as long as the pairs may lie apart: longer ones hold more tuples that
do not match, shorter ones put more right tuples into two"""


def lower_join(operator: Join, inputs: Mapping[str, Frame], output: Schema) -> Frame:
    within = operator.within // MICROSECOND
    (left_port, left), (right_port, right) = inputs.items()
    left_data, right_data = _sliced(left, within, own=True), _sliced(right, within, own=False)
    pairs = left_data.alias(left_port).join(
        right_data.alias(right_port), on=_condition(operator, left_port, right_port, within)
    )
    scope = Scope.join({port: frame.schema for port, frame in inputs.items()})
    if operator.where is not None:
        where = compute(pairs, [check(operator.where, scope, want=DataType.BOOLEAN)])
        pairs = where.data.where(where.values[0])
    typed = [check(column.value, scope) for column in operator.columns] or [
        scope.column(name, port) for port, frame in inputs.items() for name in frame.schema.names
    ]
    computed = compute(pairs, typed, plain_column)
    older = F.least(_at(left_port, TIMESTAMP_COLUMN), _at(right_port, TIMESTAMP_COLUMN))
    data = computed.data.select(
        _at(left_port, VEHICLE_COLUMN),
        older.alias(TIMESTAMP_COLUMN),
        *(value.alias(n) for value, n in zip(computed.values, output.names, strict=True)),
    )
    return Frame(data, output)


def _sliced(frame: Frame, within: int, *, own: bool) -> DataFrame:
    """``own``: each tuple in its own slice; otherwise in all from which it can be reached."""
    # Aliases make the columns new: both sides may be the same stream.
    kept = [F.col(name).alias(name) for name in (VEHICLE_COLUMN, *frame.names)]
    data, time = frame.on_time().select(*kept), F.unix_micros(TIMESTAMP_COLUMN)
    if within == 0:
        return data.withColumn(_SLICE, time)
    if own:
        return data.withColumn(_SLICE, _slice(time, within))
    first, last = _slice(time - F.lit(within), within), _slice(time + F.lit(within), within)
    reached = F.when(first == last, F.array(first)).otherwise(F.array(first, last))
    return data.withColumn(_SLICE, F.explode(reached))


def _slice(time: Column, within: int) -> Column:
    """Where the slice begins; rounded down, also before 1970."""
    return time - F.pmod(time, F.lit(SLICES * within))


def _condition(operator: Join, left: str, right: str, within: int) -> Column:
    condition = _at(left, VEHICLE_COLUMN) == _at(right, VEHICLE_COLUMN)
    condition &= _at(left, _SLICE) == _at(right, _SLICE)
    for left_key, right_key in operator.keys:
        condition &= _at(left, left_key) == _at(right, right_key)
    if within:
        apart = _time(left) - _time(right)
        condition &= (apart >= F.lit(-within)) & (apart <= F.lit(within))
    return condition


def _time(port: str) -> Column:
    return F.unix_micros(_at(port, TIMESTAMP_COLUMN))


def _at(port: str, column: str) -> Column:
    return F.col(f"{quoted(port)}.{quoted(column)}")
