"""MQTT 3.1.1, through paho.

A source has a session at the broker under its client's name, with QoS 1 unless the address says
otherwise: what was published while the connection was away comes when it is back, and a message is
acknowledged when the engine has it. So nothing that the broker kept is lost, but after a break a
message may come twice; ``once=N`` overlooks that. An output keeps what the broker has not
acknowledged and sends it again. QoS 2 is not offered: paho took a tenth of a second a message for
it, and lost some over a break.
"""

from __future__ import annotations

import socket
import threading
import time
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

PORT, TLS_PORT = 1883, 8883
SLOWEST_RETRY_S = 5
MOST_WAITING = 100_000
"""messages of an output that a broker may owe an acknowledgement"""


class MqttGateway(MessageGateway):
    name = "mqtt"
    summary = "MQTT topics at a broker"
    takes: ClassVar[Mapping[str, str]] = {
        **PAYLOAD,
        **STAMP,
        **COLUMNS,
        **ONCE,
        **LOGIN,
        "qos": "quality of service: 1 (default), or 0: what comes over a break is lost",
        "client": "the client's name, by which the broker keeps its session",
        "keep_alive": "seconds between signs of life (default 10)",
    }
    tls = False

    def listen(self, address: Address, inlet: Inlet) -> Listener:
        return _MqttListener(self, address, inlet)

    def speak(self, address: Address, output: str, schema: Schema) -> Speaker:
        return _MqttSpeaker(self, address, output, schema)

    def client(self, address: Address, role: str) -> Any:
        """Not connected yet; ``role`` tells clients of one query apart."""
        mqtt = _paho()
        name = address.options.get("client", f"headway-{role}")
        client = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2,
            client_id=name,
            clean_session=False,
        )
        if address.user:
            client.username_pw_set(address.user, address.password)
        if self.tls:
            client.tls_set()
        client.on_socket_open = _at_once
        client.reconnect_delay_set(1, SLOWEST_RETRY_S)
        client.max_queued_messages_set(MOST_WAITING)
        client.max_inflight_messages_set(1000)
        return client

    def connect(self, client: Any, address: Address) -> None:
        """EnvironmentMissing if no broker answers."""
        port = address.port or (TLS_PORT if self.tls else PORT)
        answers: list[Any] = []
        answered = threading.Event()

        def on_answer(client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
            answers.append(reason)
            answered.set()

        follow, client.on_connect = client.on_connect, on_answer
        try:
            client.connect(address.host, port, keepalive=address.whole("keep_alive", 10, 1, 3600))
            client.loop_start()
            answered.wait(20)
        except (OSError, ValueError) as error:
            raise _no_broker(address, str(error)) from None
        if not answers or answers[0].is_failure:
            client.loop_stop()
            raise _no_broker(address, str(answers[0]) if answers else "no answer within 20 s")
        client.on_connect = follow
        if follow is not None:
            follow(client, None, None, answers[0], None)


class MqttOverTls(MqttGateway):
    name = "mqtts"
    summary = "MQTT topics at a broker, over TLS"
    tls = True


def _paho() -> Any:
    return needed("paho.mqtt.client", "paho-mqtt", extra="mqtt", reading="MQTT")


def _at_once(client: Any, data: Any, connection: Any) -> None:
    """Small packets do not wait for one another."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _no_broker(address: Address, reason: str) -> EnvironmentMissing:
    return EnvironmentMissing(
        f"No MQTT broker takes us at {address.text}: {reason}. Start one, or name another."
    )


class _MqttListener(Listener):
    def __init__(self, gateway: MqttGateway, address: Address, inlet: Inlet) -> None:
        client = self._client = gateway.client(address, f"in-{inlet.source.name}")
        payload, qos = payload_of(address, inlet.source.schema), address.whole("qos", 1, 0, 1)

        def on_connect(client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
            if not reason.is_failure:
                client.subscribe(address.place, qos)

        def on_disconnect(client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
            if reason.is_failure:
                inlet.event(f"lost {address.text}: {reason}")

        def on_subscribe(
            client: Any, data: Any, number: int, reasons: Any, properties: Any
        ) -> None:
            for reason in reasons:  # before, what others say may pass us by
                if reason.is_failure:
                    inlet.event(f"{address.text}: the broker refuses the topic: {reason}")
                else:
                    inlet.event(f"connected to {address.text}")

        def on_message(client: Any, data: Any, message: Any) -> None:
            inlet.message(payload, message.payload, message.topic)  # acknowledged when this returns

        client.on_connect, client.on_disconnect = on_connect, on_disconnect
        client.on_message, client.on_subscribe = on_message, on_subscribe
        gateway.connect(client, address)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


class _MqttSpeaker(Speaker):
    def __init__(self, gateway: MqttGateway, address: Address, output: str, schema: Schema) -> None:
        super().__init__()
        client = self._client = gateway.client(address, f"out-{output}")
        self._topic = address.place
        self._payload, self._qos = payload_of(address, schema), address.whole("qos", 1, 0, 1)
        self._gone = 0
        """messages that the broker has acknowledged or, with qos 0, that have left"""
        client.on_publish = self._published
        gateway.connect(client, address)

    def _published(self, client: Any, data: Any, number: int, reason: Any, properties: Any) -> None:
        self._gone += 1
        if self._qos:
            self.spoken.acknowledged += 1

    def say(self, values: Mapping[str, object]) -> None:
        told = self._client.publish(self._topic, self._payload.encode(values), self._qos)
        # Without a connection paho keeps it and says so (4); another refusal is one.
        if told.rc in (0, 4):
            self.spoken.given += 1
        else:
            self.spoken.refuse(_paho().error_string(told.rc))

    def close(self, patience: float) -> None:
        until = time.monotonic() + patience
        while self._gone < self.spoken.given and time.monotonic() < until:
            time.sleep(0.02)
        self._client.disconnect()
        self._client.loop_stop()
