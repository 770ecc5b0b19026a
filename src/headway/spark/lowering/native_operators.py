"""Operators as native columns, joins and groups of Spark, one function an operator.

``withColumn`` is not used: through Spark Connect it looks at the data at once, and a pipeline then
takes the table of another dataset as it is, instead of waiting for what it will be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headway.expressions.scope import WINDOW_END, WINDOW_START, Scope
from headway.expressions.spark_sql import plain_column, quoted, to_spark_sql
from headway.model.expression import typed
from headway.model.expression_tree import ColumnRef
from headway.model.operator_kinds import implementation
from headway.model.operators import Aggregate, Filter, Join, Map, Operator, Union
from headway.model.quantities import MICROSECOND
from headway.model.schema import TIMESTAMP_COLUMN, VEHICLE_COLUMN, Schema
from headway.spark.lowering.frames import ARRIVED, LATE, StreamFrame, compute

# ------------------------------------------------------------
# Filter, Map and Union: one tuple at a time, late or not.


def lower_filter(
    operator: Filter, inputs: Mapping[str, StreamFrame], output: Schema
) -> StreamFrame:
    (frame,) = inputs.values()
    computed = compute(frame.data, [typed(operator.where)], on_failed=frame.on_failed)
    passed = frame.with_data(computed.data.where(computed.values[0]))
    return passed.select([F.col(name) for name in frame.names], output)


def lower_map(operator: Map, inputs: Mapping[str, StreamFrame], output: Schema) -> StreamFrame:
    (frame,) = inputs.values()
    values = [typed(column.value) for column in operator.columns]
    computed = compute(frame.data, values, on_failed=frame.on_failed)
    named = dict(zip((c.name for c in operator.columns), computed.values, strict=True))
    columns = [named[name].alias(name) if name in named else F.col(name) for name in output.names]
    return frame.with_data(computed.data).select([F.col(TIMESTAMP_COLUMN), *columns], output)


def lower_union(operator: Union, inputs: Mapping[str, StreamFrame], output: Schema) -> StreamFrame:
    """Marks and times are kept if one side has them; the other side's tuples are on time, and
    nobody asks when they came."""
    frames = list(inputs.values())
    marked = any(frame.marked for frame in frames)
    timed = any(frame.timed for frame in frames)
    parts = []
    for frame in frames:
        data = frame.data
        if marked and not frame.marked:
            data = data.select("*", F.lit(False).alias(LATE))
        if timed and not frame.timed:
            data = data.select("*", F.lit(None).cast("bigint").alias(ARRIVED))
        whole = StreamFrame(data, frame.schema, marked, timed)
        parts.append(whole.select([F.col(name) for name in frame.names], output).data)
    united = parts[0]
    for part in parts[1:]:
        united = united.union(part)
    return StreamFrame(united, output, marked, timed)


# ------------------------------------------------------------
# Join without a timeout: all pairs of tuples on time, near in time, with equal keys.
#
# Spark joins by sorting or hashing on equality only, and a bare condition on times would compare
# every tuple of a key with every other. So time is cut into slices: a left tuple lies in one, a
# right tuple is put into each slice from which a left tuple can reach it, and the slice becomes a
# key. A pair meets exactly once. Spark makes NaN equal to NaN and 0.0 to -0.0 in keys, and a NULL
# to nothing, as the vehicle engine does.


_SLICE = "#slice"
SLICES = 4
"""a slice is this many times as long as the pairs may lie apart: longer ones hold more tuples that
do not match, shorter ones put more right tuples into two"""


def lower_join(operator: Join, inputs: Mapping[str, StreamFrame], output: Schema) -> StreamFrame:
    within = operator.within // MICROSECOND
    (left_port, left), (right_port, right) = inputs.items()
    left_data, right_data = _sliced(left, within, own=True), _sliced(right, within, own=False)
    pairs = left_data.alias(left_port).join(
        right_data.alias(right_port), on=_condition(operator, left_port, right_port, within)
    )
    scope = Scope.join({port: frame.schema for port, frame in inputs.items()})
    if operator.where is not None:
        where = compute(pairs, [typed(operator.where)])
        pairs = where.data.where(where.values[0])
    columns = [typed(column.value) for column in operator.columns] or [
        scope.column(name, port) for port, frame in inputs.items() for name in frame.schema.names
    ]
    computed = compute(pairs, columns, plain_column)
    older = F.least(_at(left_port, TIMESTAMP_COLUMN), _at(right_port, TIMESTAMP_COLUMN))
    data = computed.data.select(
        _at(left_port, VEHICLE_COLUMN),
        older.alias(TIMESTAMP_COLUMN),
        *(value.alias(n) for value, n in zip(computed.values, output.names, strict=True)),
    )
    return StreamFrame(data, output)


def _sliced(frame: StreamFrame, within: int, *, own: bool) -> DataFrame:
    """``own``: each tuple in its own slice; otherwise in all from which it can be reached."""
    # Aliases make the columns new: both sides may be the same stream.
    kept = [F.col(name).alias(name) for name in (VEHICLE_COLUMN, *frame.names)]
    data, time = frame.on_time().select(*kept), F.unix_micros(TIMESTAMP_COLUMN)
    if within == 0:
        return data.select("*", time.alias(_SLICE))
    if own:
        return data.select("*", _slice(time, within).alias(_SLICE))
    first, last = _slice(time - F.lit(within), within), _slice(time + F.lit(within), within)
    reached = F.when(first == last, F.array(first)).otherwise(F.array(first, last))
    return data.select("*", F.explode(reached).alias(_SLICE))


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


# ------------------------------------------------------------
# Aggregate: the tuples on time, grouped by vehicle, window and keys.
#
# A batch has all its tuples, so every window is complete. Spark's own ``window()`` is not used:
# its windows have no columns of Headway's names, and it filters what arithmetic makes needless.


_START = "#start"
_MET = "#met"


def lower_aggregate(
    operator: Aggregate, inputs: Mapping[str, StreamFrame], output: Schema
) -> StreamFrame:
    (frame,) = inputs.values()
    window, every = operator.window // MICROSECOND, operator.every // MICROSECOND

    def column(reference: ColumnRef) -> str:
        bound = {WINDOW_START: 0, WINDOW_END: window}.get(reference.name)
        if bound is None:
            return plain_column(reference)
        return f"timestamp_micros({quoted(_START)} + {bound}L)"

    tuples, watch = frame.on_time(), frame.watch
    met = []
    if watch is not None:
        tuples = frame.data.select(VEHICLE_COLUMN, *frame.names, watch.condition.alias(_MET))
        met = [F.max(_MET).alias(_MET)]
    grouped = (
        tuples.select("*", _starts(window, every).alias(_START))
        .groupBy(VEHICLE_COLUMN, _START, *operator.by)
        .agg(
            F.min(TIMESTAMP_COLUMN).alias("#oldest"),
            *met,
            *(
                F.expr(to_spark_sql(typed(one.value), column=column)).alias(f"#value{place}")
                for place, one in enumerate(operator.columns)
            ),
        )
    )
    if watch is not None:
        grouped = watch.take(grouped, F.col(_MET))
    values = [F.col(f"#value{place}").alias(c.name) for place, c in enumerate(operator.columns)]
    data = grouped.select(
        VEHICLE_COLUMN, F.col("#oldest").alias(TIMESTAMP_COLUMN), *operator.by, *values
    )
    return StreamFrame(data, output)


def _starts(window: int, every: int) -> Column:
    """The windows ``[k * every, k * every + window)`` a tuple lies in."""
    time = F.unix_micros(TIMESTAMP_COLUMN)
    last = time - F.pmod(time, F.lit(every))
    if window == every:
        return last
    before = time - F.lit(window)
    first = before - F.pmod(before, F.lit(every)) + F.lit(every)
    return F.explode(F.sequence(first, last, F.lit(every)))


# ------------------------------------------------------------
# An operator that Spark can compute from its input tuples and their marks alone, in whatever order
# they come, has such a function in :mod:`headway.model.operator_kinds`. What needs the order of
# arrival or timers runs in the engine (:mod:`headway.spark.lowering.engine_region`).


Lower = Callable[[Any, Mapping[str, StreamFrame], Schema], StreamFrame]
"""(operator, its inputs by port, the schema of its output) -> its output"""


def lower_operator(
    operator: Operator, engine: str, inputs: Mapping[str, StreamFrame], output: Schema
) -> StreamFrame:
    """The output of an operator, by the function of its kind for a batch or a stream."""
    lower: Lower = implementation(operator, engine)
    return lower(operator, inputs, output)
