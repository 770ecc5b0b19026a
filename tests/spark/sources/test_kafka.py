"""The data source ``headway_kafka`` against the mock broker that is built into confluent-kafka.

The broker lives in the test's process; Spark's Python workers reach it over the loopback.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from tests.spark.sources.intakes import drained
from tests.waiting import PATIENCE_S

from headway.errors import DataError
from headway.model.quantities import MILLISECOND, Rate
from headway.model.query import Source
from headway.model.schema import DataType, Field, Schema, schema
from headway.spark.sources.checked_files import Quarantine, Rejected
from headway.spark.sources.intake import Limits
from headway.spark.sources.kafka_source import (
    KafkaOptions,
    KafkaReader,
    KafkaStream,
    MessageDecoder,
    Topics,
    kafka_format,
    messages_at_a_time,
    read_kafka,
)
from headway.spark.sources.recorded_files import Inputs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")

SOURCE = Source(name="speed", schema=schema(v="double"), rate=Rate(1, MILLISECOND), delay=0)


class Broker:
    def __init__(self) -> None:
        settings = {"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0}
        self.producer = kafka.Producer(settings)
        one = next(iter(self.producer.list_topics(timeout=PATIENCE_S).brokers.values()))
        self.servers = f"{one.host}:{one.port}"

    def send(self, topic: str, *values: Any, partition: int = 0, key: str = "A1") -> None:
        for value in values:
            text = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.producer.produce(topic, text, key=key.encode(), partition=partition)
        assert self.producer.flush(PATIENCE_S) == 0

    def options(self, topic: str, **more: str) -> KafkaOptions:
        given = {"kafka.bootstrap.servers": self.servers, "subscribe": topic}
        return KafkaOptions.of({**given, **more})


@pytest.fixture(scope="module")
def broker() -> Broker:
    return Broker()


def offsets(reader: KafkaStream, parts: Any) -> list[tuple[int, int]]:
    return [
        (row["partition"], row["offset"])
        for part in parts
        for batch in reader.read(part)
        for row in batch.to_pylist()
    ]


def test_a_range_of_offsets_can_be_read_again(broker: Broker) -> None:
    broker.send("replay", *({"n": n} for n in range(3)))
    broker.send("replay", {"n": 3}, partition=1)
    reader = KafkaStream(broker.options("replay"))
    begin = reader.initialOffset()
    assert set(begin["replay"].values()) == {0}
    first = reader.latestOffset(begin, ReadAllAvailable())
    broker.send("replay", {"n": 4})
    second = reader.latestOffset(first, ReadAllAvailable())
    assert (first["replay"]["0"], second["replay"]["0"], second["replay"]["1"]) == (3, 4, 1)
    for _ in range(2):
        assert offsets(reader, reader.partitions(begin, first)) == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert offsets(reader, reader.partitions(first, second)) == [(0, 3)]
    assert reader.partitions(second, second) == []


def test_batches_may_be_limited_and_the_present_may_be_the_end(broker: Broker) -> None:
    broker.send("limit", *range(6))
    broker.send("limit", *range(2), partition=1)
    reader = KafkaStream(broker.options("limit", maxOffsetsPerTrigger="4"))
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(4)
    reader.prepareForTriggerAvailableNow()
    broker.send("limit", 7)
    at, seen = reader.initialOffset(), []
    while (after := reader.latestOffset(at, limit)) != at:
        seen.append((after["limit"]["0"], after["limit"]["1"]))
        at = after
    assert seen == [(3, 1), (6, 2)]


def test_a_long_partition_is_read_by_several_tasks(broker: Broker) -> None:
    broker.send("long", *({"n": n} for n in range(10)))
    reader = KafkaStream(broker.options("long", maxRecordsPerPartition="4"))
    begin = reader.initialOffset()
    parts = reader.partitions(begin, reader.latestOffset(begin, ReadAllAvailable()))
    assert len(parts) == 3
    assert offsets(reader, parts) == [(0, n) for n in range(10)]
    whole = KafkaReader(broker.options("long", maxRecordsPerPartition="5"))
    assert len(whole.partitions()) == 2


def test_topics_are_read_as_their_sources_are_fast() -> None:
    radar = replace(SOURCE, name="radar", rate=Rate(1, 9 * MILLISECOND))
    two = messages_at_a_time([SOURCE, radar], 2)
    assert two["speed"] == pytest.approx(9 * two["radar"], rel=1e-3)
    four = messages_at_a_time([SOURCE, radar], 4)
    assert four["speed"] == pytest.approx(2 * two["speed"], rel=1e-3)
    assert messages_at_a_time([SOURCE, radar], 4, max_rate=100) == {"speed": 90, "radar": 10}


def test_a_rate_limits_what_a_batch_takes(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    broker.send("paced", *({"timestamp": n, "v": n} for n in range(9)))
    inputs = Inputs(None, broker.servers, {"speed": "paced"})
    rejected = Rejected(tmp_path / "rejected")
    intake = inputs.intake(
        spark, [SOURCE], Quarantine(tmp_path / "q"), rejected, Limits(max_rate=4)
    )
    intake.close()  # nobody waits in a test
    found = drained(intake, tmp_path / "c")
    assert [len(taken.rows["speed"]) for taken in found] == [4, 4, 1]


def test_latest_begins_at_the_end_and_a_batch_reads_all(broker: Broker) -> None:
    broker.send("ends", 1, 2)
    latest = KafkaStream(broker.options("ends", startingOffsets="latest"))
    assert latest.initialOffset()["ends"]["0"] == 2
    reader = KafkaReader(broker.options("ends"))
    (part,) = reader.partitions()
    assert [row["value"] for b in reader.read(part) for row in b.to_pylist()] == [b"1", b"2"]


def test_messages_that_are_gone_are_told(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.send("gone", 1, 2, 3)
    start, end = {"gone": {"0": 0}}, {"gone": {"0": 3}}
    monkeypatch.setattr(Topics, "first", lambda self: {("gone", 0): 2})
    with pytest.raises(DataError, match="gone/0: Kafka has deleted 2 messages that were not read"):
        KafkaStream(broker.options("gone")).partitions(start, end)
    reader = KafkaStream(broker.options("gone", failOnDataLoss="false"))
    assert offsets(reader, reader.partitions(start, end)) == [(0, 2)]


def raw(*values: bytes | None) -> Any:
    count = len(values)
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([b"A1"] * count),
            "value": pa.array(values, pa.binary()),
            "topic": ["t"] * count,
            "partition": pa.array([0] * count, pa.int32()),
            "offset": list(range(5, 5 + count)),
        }
    )


def test_bad_messages_are_counted_and_named(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path)
    good = b'{"timestamp": 7, "v": 1.5, "vehicle": "B2"}'
    bad = (b"{", None, b"[]", b'{"v": 1}', b'{"timestamp": 7, "v": "fast"}', b"\xff")
    decoder = MessageDecoder("speed", SOURCE.schema, quarantine)
    table = decoder.table(raw(*bad, good))
    assert table.column("vehicle").to_pylist() == ["B2"]
    assert table.column("position").to_pylist() == [11]
    (entry,) = quarantine.entries()
    assert (entry.input, entry.count) == ("t/0:5", 6)
    assert "1 × a message without a value" in entry.reason
    assert decoder.table(raw(b"{")).num_rows == 0
    with pytest.raises(DataError, match="t/0:5: not JSON"):
        MessageDecoder("speed", SOURCE.schema, None).table(raw(b"{"))


def test_a_string_that_is_too_long_breaks_its_message(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path)
    road = Schema((Field("road", DataType.STRING, length=3),))
    given = raw(b'{"timestamp": 7, "road": "A 81"}', b'{"timestamp": 8, "road": "A81"}')
    assert MessageDecoder("road", road, quarantine).table(given).num_rows == 1
    assert "1 × road: longer than the 3 bytes declared" in quarantine.entries()[0].reason


def test_a_stream_of_spark_goes_on_where_it_was(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    assert kafka_format(spark) == "headway_kafka"
    broker.send("spark", {"timestamp": 1, "v": 1.0}, {"timestamp": 2, "v": 2.0}, b"no")
    quarantine = Quarantine(tmp_path / "quarantine")
    seen: list[tuple[float, str, int]] = []

    def run() -> list[tuple[float, str, int]]:
        seen.clear()
        data = read_kafka(spark, SOURCE, broker.servers, "spark", quarantine=quarantine)

        def take(batch: Any, number: int) -> None:
            seen.extend(map(tuple, batch.select("v", "vehicle", "position").collect()))

        writer = data.writeStream.foreachBatch(take).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "c")).start().awaitTermination()
        return sorted(seen)

    assert run() == [(1.0, "A1", 0), (2.0, "A1", 1)]
    broker.send("spark", {"timestamp": 3, "v": 3.0})
    assert run() == [(3.0, "A1", 3)]
    assert [(entry.input, entry.count) for entry in quarantine.entries()] == [("spark/0:2", 1)]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"subscribe": ""}, "the option 'subscribe' is missing"),
        ({"startingOffsets": "{}"}, "the option 'startingOffsets'; got '{}'; want earliest or"),
        ({"maxOffsetsPerTrigger": "0"}, "the option 'maxOffsetsPerTrigger'; got 0; want a whole"),
    ],
)
def test_wrong_options(change: dict[str, str], told: str) -> None:
    given = {"kafka.bootstrap.servers": "x", "subscribe": "t", **change}
    with pytest.raises(DataError) as raised:
        KafkaOptions.of(given)
    assert str(raised.value).startswith(told)
