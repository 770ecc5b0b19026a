"""What ``headway_kafka`` asks of a broker: where partitions begin and end, and their messages."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headway.errors import DataError, EnvironmentMissing, Problem

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
    fail_on_loss: bool = True

    @classmethod
    def of(cls, options: Mapping[str, str]) -> KafkaOptions:
        """DataError where an option is missing or wrong."""
        needed = ("kafka.bootstrap.servers", "subscribe")
        if missing := [name for name in needed if not options.get(name)]:
            raise DataError(Problem(f"the option {name!r} is missing") for name in missing)
        begin = options.get("startingOffsets") or "earliest"
        most = options.get("maxOffsetsPerTrigger")
        if begin not in ("earliest", "latest"):
            want = "want earliest or latest"
            raise DataError(Problem("the option 'startingOffsets'", got=repr(begin), want=want))
        if most and not (most.isdecimal() and int(most)):
            want = "want a whole number above 0"
            raise DataError(Problem("the option 'maxOffsetsPerTrigger'", got=most, want=want))
        prefix = "kafka."
        return cls(
            client=tuple(
                (key.removeprefix(prefix), value)
                for key, value in options.items()
                if key.startswith(prefix)
            ),
            topics=tuple(name.strip() for name in options["subscribe"].split(",") if name.strip()),
            latest=begin == "latest",
            most=int(most) if most else None,
            fail_on_loss=(options.get("failOnDataLoss") or "true").lower() != "false",
        )


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
            raise DataError(Problem(what, got=str(error.args[0]))) from None
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
                    raise DataError(Problem("Kafka cannot be read", at=where, got=error.str()))
                else:
                    at = max(at, message.offset() + 1)
                    if message.offset() < end:
                        rows.append(_row(message))
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=ARROW_SCHEMA)
            if time.monotonic() - heard > PATIENCE_S:
                where, got = f"{topic}/{partition}", f"nothing for {PATIENCE_S:.0f} s at {at}"
                raise DataError(Problem("Kafka gives no more messages", at=where, got=got))
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
