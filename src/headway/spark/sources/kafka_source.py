"""The data source ``headway_kafka``: topics of Kafka through confluent-kafka, no Java packages.

Same options and columns as Spark's own ``kafka`` (key, value, topic, partition, offset, timestamp):
``kafka.bootstrap.servers``, ``subscribe``, ``startingOffsets`` (earliest or latest),
``maxOffsetsPerTrigger``, ``maxRecordsPerPartition`` (messages of a task), ``failOnDataLoss``; what
else begins with ``kafka.`` goes to the client.
The stream's offset is that of every partition, so a micro-batch that is repeated reads the same.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from headway.errors import DataError, EnvironmentMissing, Problem
from headway.model.query import Source
from headway.model.schema import ARRIVAL_COLUMN, VEHICLE_COLUMN, DataType, Schema
from headway.sources.jsonl_file import CONVERTERS
from headway.sources.parquet_file import ARROW_TYPES
from headway.spark.lowering.frames import POSITION_COLUMN
from headway.spark.sources.checked_files import Quarantine, QuarantineEntry, text_schema

# ---------------------------------------------------------------- the broker

COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
)
ARROW_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
    ]
)
MESSAGES = 4096
PATIENCE_S = 60.0

Offsets = dict[tuple[str, int], int]


@dataclass(frozen=True)
class KafkaOptions:
    client: tuple[tuple[str, str], ...]
    topics: tuple[str, ...]
    latest: bool = False
    most: int | None = None
    most_of_a_task: int | None = None
    fail_on_loss: bool = True

    @classmethod
    def of(cls, options: Mapping[str, str]) -> KafkaOptions:
        """DataError where an option is missing or wrong."""
        needed = ("kafka.bootstrap.servers", "subscribe")
        if missing := [name for name in needed if not options.get(name)]:
            raise DataError(Problem(f"the option {name!r} is missing") for name in missing)
        begin = options.get("startingOffsets") or "earliest"
        if begin not in ("earliest", "latest"):
            want = "want earliest or latest"
            raise DataError("the option 'startingOffsets'", got=repr(begin), want=want)
        prefix = "kafka."
        return cls(
            client=tuple(
                (key.removeprefix(prefix), value)
                for key, value in options.items()
                if key.startswith(prefix)
            ),
            topics=tuple(name.strip() for name in options["subscribe"].split(",") if name.strip()),
            latest=begin == "latest",
            most=_count(options, "maxOffsetsPerTrigger"),
            most_of_a_task=_count(options, "maxRecordsPerPartition"),
            fail_on_loss=(options.get("failOnDataLoss") or "true").lower() != "false",
        )


def _count(options: Mapping[str, str], name: str) -> int | None:
    given = options.get(name)
    if given and not (given.isdecimal() and int(given)):
        raise DataError(f"the option {name!r}", got=given, want="want a whole number above 0")
    return int(given) if given else None


def _consumer(options: KafkaOptions, **more: Any) -> Any:
    try:
        from confluent_kafka import Consumer
    except ImportError:
        raise EnvironmentMissing(
            "Reading from Kafka needs confluent-kafka. "
            "Install it with: pip install 'headway[kafka]'"
        ) from None
    # The offsets are Spark's; the group is only a name that the client insists on.
    return Consumer(
        {
            "group.id": "headway",
            **dict(options.client),
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            **more,
        }
    )


class Topics:
    """A connection for the time of a ``with`` block."""

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._consumer = _consumer(options)

    def __enter__(self) -> Topics:
        return self

    def __exit__(self, *error: object) -> None:
        self._consumer.close()

    def first(self) -> Offsets:
        """The first message that each partition still has."""
        return {place: low for place, (low, _) in self._ends().items()}

    def last(self) -> Offsets:
        """Where the next message of each partition will stand."""
        return {place: high for place, (_, high) in self._ends().items()}

    def _ends(self) -> dict[tuple[str, int], tuple[int, int]]:
        from confluent_kafka import KafkaException, TopicPartition

        found = {}
        try:
            for topic in self._options.topics:
                about = self._consumer.list_topics(topic, timeout=PATIENCE_S).topics[topic]
                if about.error is not None:
                    raise KafkaException(about.error)
                for number in about.partitions:
                    place = TopicPartition(topic, number)
                    ends = self._consumer.get_watermark_offsets(place, timeout=PATIENCE_S)
                    found[topic, number] = ends
        except KafkaException as error:
            servers = dict(self._options.client).get("bootstrap.servers", "")
            what = f"Kafka at {servers} does not answer for {', '.join(self._options.topics)}"
            raise DataError(what, got=str(error.args[0])) from None
        return found


def read_range(
    options: KafkaOptions, topic: str, partition: int, start: int, end: int
) -> Iterator[Any]:
    """Arrow batches of the messages ``start`` to ``end``; offsets that Kafka does not give out
    (transactions, compaction) are passed over."""
    from confluent_kafka import KafkaError, TopicPartition

    consumer = _consumer(options, **{"enable.partition.eof": True})
    try:
        consumer.assign([TopicPartition(topic, partition, start)])
        at, heard = start, time.monotonic()
        while at < end:
            rows = []
            for message in consumer.consume(min(MESSAGES, end - at), timeout=0.5):
                heard = time.monotonic()
                error = message.error()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    at = max(at, message.offset())
                elif error is not None:
                    where = f"{topic}/{partition}"
                    raise DataError("Kafka cannot be read", at=where, got=error.str())
                else:
                    at = max(at, message.offset() + 1)
                    if message.offset() < end:
                        rows.append(_row(message))
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=ARROW_SCHEMA)
            if time.monotonic() - heard > PATIENCE_S:
                where, got = f"{topic}/{partition}", f"nothing for {PATIENCE_S:.0f} s at {at}"
                raise DataError("Kafka gives no more messages", at=where, got=got)
    finally:
        consumer.close()


def _row(message: Any) -> dict[str, Any]:
    kind, milliseconds = message.timestamp()
    return {
        "key": _bytes(message.key()),
        "value": _bytes(message.value()),
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": milliseconds * 1000 if kind else None,
    }


def _bytes(value: Any) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


# ---------------------------------------------------------------- the data source


Offset = dict[str, Any]


class KafkaSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "headway_kafka"

    def schema(self) -> str:
        return COLUMNS

    def reader(self, schema: StructType) -> DataSourceReader:
        return KafkaReader(KafkaOptions.of(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return KafkaStream(KafkaOptions.of(self.options))


class KafkaPart(InputPartition):
    """The messages ``start`` to ``end`` (without it) of a partition."""

    def __init__(self, topic: str, partition: int, start: int, end: int) -> None:
        super().__init__(None)
        self.topic, self.partition, self.start, self.end = topic, partition, start, end


class KafkaReader(DataSourceReader):
    """All that is there now."""

    def __init__(self, options: KafkaOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        with Topics(self.options) as topics:
            return _parts(topics.first(), topics.last(), self.options.most_of_a_task)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, KafkaPart)
        return _read(self.options, partition)


class KafkaStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: KafkaOptions) -> None:
        self.options = options
        self._target: Offsets | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        with Topics(self.options) as topics:
            return _offset(topics.last() if self.options.latest else topics.first())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self.options.most
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        with Topics(self.options) as topics:
            self._target = topics.last()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        before = _offsets(start)
        target = self._target
        if target is None:
            with Topics(self.options) as topics:
                target = topics.last()
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return _offset(_limited(before, target, most))

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        before, after = _offsets(start), _offsets(end)
        if before == after:
            return []
        with Topics(self.options) as topics:
            first = topics.first()
        for place, offset in before.items():
            lost = first.get(place, 0) - offset
            if lost <= 0 or after.get(place, offset) == offset:
                continue
            if self.options.fail_on_loss:
                topic, partition = place
                raise DataError(
                    f"Kafka has deleted {lost:,} messages that were not read yet",
                    at=f"{topic}/{partition}",
                    got=f"the first is {first[place]}, after {offset}",
                    want="set failOnDataLoss to false to go on without them",
                )
            before[place] = first[place]
        begin = {place: before.get(place, first.get(place, 0)) for place in after}
        return _parts(begin, after, self.options.most_of_a_task)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, KafkaPart)
        return _read(self.options, partition)


def _parts(start: Offsets, end: Offsets, most: int | None) -> list[InputPartition]:
    """A task for each partition that has messages; several where it has more than ``most``."""
    parts: list[InputPartition] = []
    for (topic, partition), last in sorted(end.items()):
        first = start[topic, partition]
        tasks = 1 if most is None else -(-(last - first) // most)
        ends = (
            [first + (last - first) * place // tasks for place in range(tasks + 1)] if tasks else []
        )
        parts += [KafkaPart(topic, partition, a, b) for a, b in pairwise(ends) if a < b]
    return parts


def _read(options: KafkaOptions, part: KafkaPart) -> Iterator[Any]:
    return read_range(options, part.topic, part.partition, part.start, part.end)


def _limited(before: Offsets, target: Offsets, most: int | None) -> Offsets:
    """Never back, and at most ``most`` messages, of every partition its share (at least one, so
    that none waits for ever)."""
    there = {place: max(0, last - before.get(place, 0)) for place, last in target.items()}
    total = sum(there.values())
    end = dict(before)
    for place, count in there.items():
        share = count if most is None or total <= most else -(-count * most // total)
        end[place] = before.get(place, 0) + share
    return end


def _offset(offsets: Offsets) -> Offset:
    """Spark keeps it as JSON: {topic: {partition: offset}}."""
    data: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        data.setdefault(topic, {})[str(partition)] = offset
    return data


def _offsets(data: Offset) -> Offsets:
    return {
        (topic, int(partition)): int(offset)
        for topic, partitions in data.items()
        for partition, offset in partitions.items()
    }


# ---------------------------------------------------------------- a query's sources
# Each message is a tuple as a JSON object, read by the rules of a JSON-lines recording; without
# ``vehicle`` in the object the message's key is the vehicle. ``position`` is the offset: of one
# vehicle all messages are in one partition when producers use it as the key.


Batches = Iterator[Any]
MESSAGES_PER_SLOT = 1 << 20
"""in a micro-batch: a task of a query with state has its part of them in memory"""
MESSAGES_PER_TASK = 1 << 17


def messages_at_a_time(
    sources: Sequence[Source], slots: int, max_rate: float | None = None
) -> dict[str, int]:
    """Of each source's topic in a micro-batch: as their rates are, so that a backlog of several
    sources is read in step. ``max_rate``: of all of them in a second."""
    rates = {one.name: one.rate.per_second if one.rate else 1.0 for one in sources}
    most = MESSAGES_PER_SLOT * slots if max_rate is None else max_rate
    total = sum(rates.values())
    return {name: max(1, round(most * rate / total)) for name, rate in rates.items()}


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
                    raise DataError(str(error), at=where) from None
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
        self.quarantine.add(
            QuarantineEntry(self.source, where, f"{where}: {told}", reasons.total())
        )


def _cell(data: dict[str, Any], name: str, kind: DataType) -> Any:
    value = data.get(name)
    try:
        return None if value is None else CONVERTERS[kind](value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: {value!r:.80} is not a {kind.value}") from None
