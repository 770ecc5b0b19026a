"""Sources of a query from topics of Kafka: each message a tuple as a JSON object.

The columns are those of a JSON-lines recording, read by the same rules; without ``vehicle`` in the
object the message's key is the vehicle. ``position`` is the offset: of one vehicle all messages are
in one partition when producers use it as the key.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headway.errors import DataError, Problem
from headway.model.query import Source
from headway.model.schema import ARRIVAL_COLUMN, VEHICLE_COLUMN, DataType, Schema
from headway.sources.jsonl_file import CONVERTERS
from headway.sources.parquet_file import ARROW_TYPES
from headway.spark.lowering.frame import POSITION_COLUMN
from headway.spark.sources.kafka import KafkaSource
from headway.spark.sources.quarantine import Entry, Quarantine
from headway.spark.text_files import text_schema

Batches = Iterator[Any]


def kafka_format(spark: SparkSession) -> str:
    """Spark's own source where its Java packages are there, else Headway's, which is registered."""
    probe = {"kafka.bootstrap.servers": "localhost:1", "subscribe": "none"}
    try:
        spark.readStream.format("kafka").options(**probe).load()
    except PySparkException:
        # Spark registers in this session, but looks in the active one whether it is there already.
        sessions: Any = spark._get_j_spark_session_class(spark._jvm)
        sessions.setActiveSession(spark._jsparkSession)
        try:
            spark.dataSource.register(KafkaSource)
        except PySparkException as error:
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                raise
        return KafkaSource.name()
    return "kafka"


def read_kafka(
    spark: SparkSession,
    source: Source,
    servers: str,
    topic: str,
    *,
    quarantine: Quarantine | None = None,
    streaming: bool = True,
    **options: str,
) -> DataFrame:
    """The tuples of a topic; from the first message unless ``startingOffsets`` says otherwise.

    With ``quarantine``, messages that break the schema are left out, counted and named there;
    without it they end the query.
    """
    reader = spark.readStream if streaming else spark.read
    begin = {"startingOffsets": "earliest"} if streaming else {}
    given = {"kafka.bootstrap.servers": servers, "subscribe": topic, **begin, **options}
    raw = reader.format(kafka_format(spark)).options(**given).load()
    return decoded(raw, source, quarantine)


def decoded(raw: DataFrame, source: Source, quarantine: Quarantine | None = None) -> DataFrame:
    """A DataFrame of Kafka's columns, from either source -> the tuples."""
    decoder = MessageDecoder(source.name, source.schema, quarantine)
    columns = raw.select("key", "value", "topic", "partition", "offset")
    return columns.mapInArrow(decoder.reader(), text_schema(source.schema))


@dataclass(frozen=True)
class MessageDecoder:
    source: str
    schema: Schema
    quarantine: Quarantine | None

    def reader(self) -> Callable[[Batches], Batches]:
        def read(batches: Batches) -> Batches:
            for batch in batches:
                yield self.table(batch)

        return read

    def table(self, batch: Any) -> Any:
        rows: list[tuple[Any, ...]] = []
        refused: dict[tuple[str, int], tuple[int, Counter[str]]] = {}
        columns = ("key", "value", "topic", "partition", "offset")
        for key, value, topic, partition, offset in zip(
            *(batch.column(name).to_pylist() for name in columns), strict=True
        ):
            try:
                rows.append((*self._row(key, value), offset))
            except (ValueError, RecursionError) as error:  # UnicodeDecodeError is one, too
                if self.quarantine is None:
                    where = f"{topic}/{partition}:{offset}"
                    raise DataError(Problem(str(error), at=where)) from None
                first, reasons = refused.setdefault((topic, partition), (offset, Counter()))
                reasons[str(error)] += 1
        for (topic, partition), (first, reasons) in refused.items():
            self._refuse(f"{topic}/{partition}:{first}", reasons)
        return self._arrow(rows)

    def _row(self, key: bytes | None, value: bytes | None) -> list[Any]:
        """The columns, arrival, vehicle; ValueError in words."""
        if value is None:
            raise ValueError("a message without a value")
        try:
            data = json.loads(value)
        except json.JSONDecodeError as error:
            raise ValueError(f"not JSON: {error.msg}") from None
        if not isinstance(data, dict):
            raise ValueError("not a JSON object")
        cells = [_cell(data, field.name, field.type) for field in self.schema.columns]
        cells.append(_cell(data, ARRIVAL_COLUMN, DataType.TIMESTAMP))
        if cells[0] is None:
            raise ValueError("no 'timestamp'")
        for column, cell in zip(self.schema.columns, cells, strict=False):
            if column.length is not None and cell and len(cell.encode()) > column.length:
                raise ValueError(f"{column.name}: longer than the {column.length} bytes declared")
        owner = _cell(data, VEHICLE_COLUMN, DataType.STRING)
        cells.append(key.decode() if owner is None and key is not None else owner)
        return cells

    def _arrow(self, rows: list[tuple[Any, ...]]) -> Any:
        named = {field.name: ARROW_TYPES[field.type] for field in self.schema.columns}
        named |= {ARRIVAL_COLUMN: ARROW_TYPES[DataType.TIMESTAMP], VEHICLE_COLUMN: pa.string()}
        named.setdefault(POSITION_COLUMN, pa.int64())
        cells = list(zip(*rows, strict=True)) if rows else [()] * len(named)
        pairs = zip(named.items(), cells, strict=False)  # a schema may have its own 'position'
        return pa.RecordBatch.from_pydict({name: pa.array(c, kind) for (name, kind), c in pairs})

    def _refuse(self, where: str, reasons: Counter[str]) -> None:
        assert self.quarantine is not None
        told = "; ".join(f"{count:,} × {reason}" for reason, count in reasons.most_common(5))
        self.quarantine.add(Entry(self.source, where, f"{where}: {told}", reasons.total()))


def _cell(data: dict[str, Any], name: str, kind: DataType) -> Any:
    value = data.get(name)
    try:
        return None if value is None else CONVERTERS[kind](value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: {value!r:.80} is not a {kind.value}") from None
