"""The data source ``headway_kafka``: topics of Kafka through confluent-kafka, no Java packages.

Same options and columns as Spark's own ``kafka`` (key, value, topic, partition, offset, timestamp):
``kafka.bootstrap.servers``, ``subscribe``, ``startingOffsets`` (earliest or latest),
``maxOffsetsPerTrigger``, ``failOnDataLoss``; what else begins with ``kafka.`` goes to the client.
The stream's offset is that of every partition, so a micro-batch that is repeated reads the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

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

from headway.errors import DataError, Problem
from headway.spark.sources.kafka_client import COLUMNS, KafkaOptions, Offsets, Topics, read_range

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
            return _parts(topics.first(), topics.last())

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
                    Problem(
                        f"Kafka has deleted {lost:,} messages that were not read yet",
                        at=f"{topic}/{partition}",
                        got=f"the first is {first[place]}, after {offset}",
                        want="set failOnDataLoss to false to go on without them",
                    )
                )
            before[place] = first[place]
        return _parts({place: before.get(place, first.get(place, 0)) for place in after}, after)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, KafkaPart)
        return _read(self.options, partition)


def _parts(start: Offsets, end: Offsets) -> list[InputPartition]:
    return [
        KafkaPart(topic, partition, start[topic, partition], last)
        for (topic, partition), last in sorted(end.items())
        if start[topic, partition] < last
    ]


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
