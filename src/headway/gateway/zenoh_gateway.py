"""Zenoh, through eclipse-zenoh.

Zenoh has no broker that acknowledges. So an output keeps its last messages for those who missed
them, and a source asks for what it missed and counts what could not be had any more; both need
Headway, or another advanced publisher and subscriber of Zenoh, at the other end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from headway.errors import EnvironmentMissing
from headway.gateway.addresses import Address
from headway.gateway.gateway_base import (
    COLUMNS,
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

PORT = 7447
HEARTBEAT_S = 0.5
ANSWER_MS = 3_000


class ZenohGateway(MessageGateway):
    name = "zenoh"
    summary = "keys of Zenoh, at a router or a peer"
    takes: ClassVar[Mapping[str, str]] = {
        **PAYLOAD,
        **STAMP,
        **COLUMNS,
        **ONCE,
        "mode": "client (default) or peer",
        "keep": "an output: last messages kept for those who missed them (default 10000)",
    }

    def listen(self, address: Address, inlet: Inlet) -> Listener:
        return _ZenohListener(address, inlet)

    def speak(self, address: Address, output: str, schema: Schema) -> Speaker:
        return _ZenohSpeaker(address, schema)


def open_session(address: Address) -> Any:
    """EnvironmentMissing if nobody answers."""
    zenoh = needed("zenoh", "eclipse-zenoh", extra="zenoh", reading="Zenoh")
    config = zenoh.Config()
    endpoint = f"tcp/{address.host}:{address.port or PORT}"
    settings = {
        "mode": address.one_of("mode", "client", "peer"),
        "connect/endpoints": [endpoint],
        "connect/timeout_ms": dict.fromkeys(("client", "peer", "router"), ANSWER_MS),
        "connect/exit_on_failure": dict.fromkeys(("client", "peer", "router"), True),
        "scouting/multicast/enabled": False,
        # What an output keeps is told from what it sent before by these.
        "timestamping/enabled": True,
    }
    for key, value in settings.items():
        config.insert_json5(key, json.dumps(value))
    try:
        return zenoh.open(config)
    except zenoh.ZError as error:
        raise EnvironmentMissing(
            f"Nobody answers by Zenoh at {address.text}: {error}. Start a router, or name another."
        ) from None


def _extensions() -> Any:
    """Publishers that keep messages and subscribers that ask for them."""
    return needed("zenoh.ext", "eclipse-zenoh", extra="zenoh", reading="Zenoh")


class _ZenohListener(Listener):
    def __init__(self, address: Address, inlet: Inlet) -> None:
        payload = payload_of(address, inlet.source.schema)
        self._session = open_session(address)
        ext = _extensions()

        def take(sample: Any) -> None:
            inlet.message(payload, sample.payload.to_bytes(), str(sample.key_expr))

        def missed(miss: Any) -> None:
            inlet.event(f"{miss.nb} messages were missed and could not be had again")

        self._subscriber = ext.declare_advanced_subscriber(
            self._session,
            address.place,
            take,
            history=ext.HistoryConfig(detect_late_publishers=True),
            recovery=ext.RecoveryConfig(heartbeat=True),
            subscriber_detection=True,
        )
        self._misses = self._subscriber.sample_miss_listener(missed)

    def close(self) -> None:
        self._session.close()  # and its subscriber


class _ZenohSpeaker(Speaker):
    def __init__(self, address: Address, schema: Schema) -> None:
        super().__init__()
        self._payload = payload_of(address, schema)
        self._session = open_session(address)
        ext = _extensions()

        self._publisher = ext.declare_advanced_publisher(
            self._session,
            address.place,
            cache=ext.CacheConfig(max_samples=address.whole("keep", 10_000, 1, 10_000_000)),
            sample_miss_detection=ext.MissDetectionConfig(heartbeat=HEARTBEAT_S),
            publisher_detection=True,
        )

    def say(self, values: Mapping[str, object]) -> None:
        self._publisher.put(self._payload.encode(values))
        self.spoken.given += 1

    def close(self, patience: float) -> None:
        self._session.close()
