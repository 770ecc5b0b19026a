"""Several outputs of a stream in one pass over a source: filters and maps as columns side by side.

A union of DataFrames would read the source once for each output. Here every stream is a struct
column of the source's rows, NULL where a filter let the tuple not pass, so what outputs share is
computed once; at the end each row is unfolded into the outputs it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headway.expressions.spark_sql import quoted, to_spark_sql
from headway.model.expression import typed
from headway.model.expression_tree import ColumnRef
from headway.model.graph import Graph, graph_of
from headway.model.operators import Filter, Map, Operator
from headway.model.plan import Plan
from headway.model.schema import TIMESTAMP_COLUMN, VEHICLE_COLUMN, DataType, Schema
from headway.spark.lowering.engine_region import EXIT, struct_name
from headway.spark.lowering.frames import ARRIVED, LATE, plain_row
from headway.spark.lowering.side_rows import SIDE, SIDE_TYPE

_ONE = "#one"


def sharing(part: Plan) -> dict[str, list[str]]:
    """Sources that give several outputs through filters and maps alone, and these outputs."""
    graph = graph_of(part.query)
    found: dict[str, list[str]] = {}
    for name, output in graph.outputs.items():
        stream = output.stream
        while isinstance(operator := graph.operators.get(stream), Filter | Map):
            (stream,) = operator.streams
        if stream in graph.sources:
            found.setdefault(stream, []).append(name)
    return {source: names for source, names in found.items() if len(names) > 1}


def run_in_one_pass(
    part: Plan, source: str, data: DataFrame, names: list[str], leaving: Mapping[str, Schema]
) -> DataFrame:
    """The outputs of ``part``, all from one source; tagged by their places in ``names``."""
    graph, schemas = graph_of(part.query), dict(part.schemas)
    fields = [TIMESTAMP_COLUMN, *schemas[source].names]
    rows = data.select(VEHICLE_COLUMN, F.struct(*fields).alias(_stream(source)))
    for name in graph.order:
        rows = rows.withColumn(_stream(name), _value(graph.operators[name], schemas))
    unfolded = F.explode(F.array_compact(F.array(*_tagged(graph, schemas, names, leaving))))
    one = rows.select(VEHICLE_COLUMN, unfolded.alias(_ONE))
    return one.select(VEHICLE_COLUMN, F.col(f"{quoted(_ONE)}.*"))


def _stream(name: str) -> str:
    return f"#stream {name}"


def _value(operator: Operator, schemas: Mapping[str, Schema]) -> Column:
    """What becomes of a tuple of its input: a struct or NULL."""
    (stream,) = operator.streams
    given = F.col(quoted(_stream(stream)))
    column = _field_of(stream)
    if isinstance(operator, Filter):
        return F.when(F.expr(to_spark_sql(typed(operator.where), column=column)), given)
    assert isinstance(operator, Map)
    computed = {one.name: typed(one.value) for one in operator.columns}
    values = [
        F.expr(to_spark_sql(computed[name], column=column)).alias(name)
        if name in computed
        else given.getField(name).alias(name)
        for name in (TIMESTAMP_COLUMN, *schemas[operator.name].names)
    ]
    return F.when(given.isNotNull(), F.struct(*values))


def _field_of(stream: str) -> Callable[[ColumnRef], str]:
    return lambda reference: f"{quoted(_stream(stream))}.{quoted(reference.name)}"


def _tagged(
    graph: Graph, schemas: Mapping[str, Schema], names: list[str], leaving: Mapping[str, Schema]
) -> list[Column]:
    """For each output the row of the engine's exits, or NULL."""
    found = []
    for name, output in graph.outputs.items():
        given = F.col(quoted(_stream(output.stream)))
        rows = [
            (_plain(given, schema) if other == name else F.lit(None).cast(plain_row(schema)))
            .alias(struct_name(place))
            for place, (other, schema) in enumerate(leaving.items())
        ]  # fmt: skip
        row = F.struct(
            F.lit(names.index(name)).alias(EXIT),
            F.lit(False).alias(LATE),
            F.lit(None).cast("bigint").alias(ARRIVED),
            *rows,
            F.lit(None).cast(SIDE_TYPE).alias(SIDE),
        )
        found.append(F.when(given.isNotNull(), row))
    return found


def _plain(given: Column, schema: Schema) -> Column:
    fields = []
    for field in schema.columns:
        value = given.getField(field.name)
        if field.type is DataType.TIMESTAMP:
            value = F.unix_micros(value)
        fields.append(value.alias(field.name))
    return F.struct(*fields).cast(plain_row(schema))
