"""Kafka, through confluent-kafka.

A source is a consumer group of its own: its position is kept at the broker, moved on when the
engine has a message, so a run that begins again goes on there. An output waits for all replicas'
acknowledgement of each message and sends again what has none, without duplicates.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, ClassVar

from headway.errors import EnvironmentMissing
from headway.gateway.addresses import Address
from headway.gateway.gateway_base import (
    COLUMNS,
    LOGIN,
    ONCE,
    PAYLOAD,
    STAMP,
    Listener,
    MessageGateway,
    Speaker,
    payload_of,
)
from headway.gateway.inlet import Inlet
from headway.model.schema import Schema
from headway.sources.source_records import needed

PORT = 9092
FIRST_ANSWER_S = 20.0
POLL_S = 0.1


class KafkaGateway(MessageGateway):
    name = "kafka"
    summary = "topics of Kafka"
    takes: ClassVar[Mapping[str, str]] = {
        **PAYLOAD,
        **STAMP,
        **COLUMNS,
        **ONCE,
        **LOGIN,
        "begin": "latest (default) or earliest: where a group begins that the broker does not know",
        "client": "the name of the consumer group",
        "tls": "no (default) or yes",
    }

    def listen(self, address: Address, inlet: Inlet) -> Listener:
        return _KafkaListener(self, address, inlet)

    def speak(self, address: Address, output: str, schema: Schema) -> Speaker:
        return _KafkaSpeaker(self, address, output, schema)

    def settings(self, address: Address) -> dict[str, Any]:
        """What consumers and producers share."""
        found: dict[str, Any] = {
            "bootstrap.servers": f"{address.host}:{address.port or PORT}",
            "log_level": 0,
            "reconnect.backoff.max.ms": 2000,
        }
        tls = address.one_of("tls", "no", "yes") == "yes"
        if address.user:
            found |= {
                "security.protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": address.user,
                "sasl.password": address.password or "",
            }
        elif tls:
            found["security.protocol"] = "SSL"
        return found

    def answering(self, client: Any, address: Address) -> None:
        """EnvironmentMissing if no broker answers."""
        kafka = _library()
        try:
            client.list_topics(timeout=FIRST_ANSWER_S)
        except kafka.KafkaException as error:
            raise EnvironmentMissing(
                f"No broker of Kafka answers at {address.text}: {error.args[0].str()}. Start one, "
                "or name another."
            ) from None


def _library() -> Any:
    return needed("confluent_kafka", "confluent-kafka", extra="kafka", reading="Kafka")


class _KafkaListener(Listener):
    def __init__(self, gateway: KafkaGateway, address: Address, inlet: Inlet) -> None:
        library = _library()
        self._inlet, self._where = inlet, address.place
        self._payload = payload_of(address, inlet.source.schema)
        self._consumer = library.Consumer(
            gateway.settings(address)
            | {
                "group.id": address.options.get("client", f"headway-{inlet.source.name}"),
                "auto.offset.reset": address.one_of("begin", "latest", "earliest"),
                "enable.auto.offset.store": False,
                "auto.commit.interval.ms": 1000,
                "error_cb": lambda error: inlet.event(f"{address.text}: {error.str()}"),
            }
        )
        gateway.answering(self._consumer, address)
        self._consumer.subscribe([address.place])
        self._over = threading.Event()
        self._thread = threading.Thread(
            target=self._listen, name=f"kafka {inlet.source.name}", daemon=True
        )
        self._thread.start()

    def _listen(self) -> None:
        failed = _library().KafkaException
        while not self._over.is_set():
            try:
                messages = self._consumer.consume(1000, POLL_S)
            except failed as broken:
                self._inlet.event(broken.args[0].str())
                self._over.wait(POLL_S)
                continue
            for message in messages:
                if (error := message.error()) is not None:
                    self._inlet.event(error.str())
                    continue
                where = f"{message.topic()}[{message.partition()}]@{message.offset()}"
                self._inlet.message(self._payload, message.value() or b"", where)
                # Not kept for a partition that the group has just given to another member.
                try:
                    self._consumer.store_offsets(message)
                except failed as unkept:
                    self._inlet.event(unkept.args[0].str())
        self._consumer.close()  # tells the broker the position

    def close(self) -> None:
        self._over.set()
        self._thread.join()


class _KafkaSpeaker(Speaker):
    def __init__(
        self, gateway: KafkaGateway, address: Address, output: str, schema: Schema
    ) -> None:
        super().__init__()
        self._key = output.encode()  # one partition, so that the order of an output is kept
        self._topic, self._payload = address.place, payload_of(address, schema)
        self._producer = _library().Producer(
            gateway.settings(address)
            | {
                "enable.idempotence": True,
                "linger.ms": 5,
                "delivery.timeout.ms": 2**31 - 1,  # a broker that returns still gets it
                "error_cb": lambda error: None,  # what it costs shows in the counts
            }
        )
        gateway.answering(self._producer, address)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is None:
            self.spoken.acknowledged += 1
        else:
            self.spoken.refuse(error.str())

    def say(self, values: Mapping[str, object]) -> None:
        try:
            self._producer.produce(
                self._topic,
                self._payload.encode(values),
                self._key,
                on_delivery=self._delivered,
            )
        except BufferError:
            self.spoken.refuse("too many wait for the broker")
        else:
            self.spoken.given += 1
        self._producer.poll(0)

    def close(self, patience: float) -> None:
        self._producer.flush(patience)
