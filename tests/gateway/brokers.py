"""Brokers that tests start, kill and start again: mosquitto, a Zenoh router, a mock of Kafka."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path

from tests.waiting import until


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


class TestBroker(ABC):
    """``port`` stays the same over its deaths."""

    __test__ = False

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.start()

    @abstractmethod
    def start(self) -> None:
        """Returns when it answers."""

    @abstractmethod
    def kill(self) -> None:
        """SIGKILL, or what comes nearest."""

    def close(self) -> None:
        self.kill()


class BrokerProcess(TestBroker):
    """One that is a process of its own."""

    _process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]: ...

    def start(self) -> None:
        log = (self.folder / "broker.log").open("ab")
        with log:
            self._process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        until(lambda: answers(self.port) or self._process_ended())

    def _process_ended(self) -> bool:
        assert self._process is not None
        ended = self._process.poll() is not None
        assert not ended, (self.folder / "broker.log").read_text()
        return ended

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def ask_to_end(self) -> None:
        """SIGTERM: it may save what it holds."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()


MOSQUITTO = shutil.which(
    "mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
)


class Mosquitto(BrokerProcess):
    """Keeps sessions and messages on its disk."""

    def command(self) -> list[str]:
        assert MOSQUITTO is not None
        settings = self.folder / "mosquitto.conf"
        user = "user root\n" if os.geteuid() == 0 else ""
        settings.write_text(
            f"{user}listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
            "set_tcp_nodelay true\nautosave_interval 1\nautosave_on_changes true\n"
            f"persistence_location {self.folder}/\nmax_queued_messages 0\n"
        )
        return [MOSQUITTO, "-c", str(settings)]


ROUTER = """
import json, sys, threading, zenoh
config = zenoh.Config()
config.insert_json5("mode", json.dumps("router"))
config.insert_json5("listen/endpoints", json.dumps([f"tcp/127.0.0.1:{sys.argv[1]}"]))
config.insert_json5("scouting/multicast/enabled", "false")
config.insert_json5("timestamping/enabled", "true")
session = zenoh.open(config)
threading.Event().wait()
"""


class ZenohRouter(BrokerProcess):
    def command(self) -> list[str]:
        return [sys.executable, "-c", ROUTER, str(self.port)]


class KafkaMock(TestBroker):
    """The mock inside librdkafka, in this process: it can be down and up again, and keeps what it
    has acknowledged."""

    def start(self) -> None:
        import confluent_kafka

        folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
        (library,) = folder.glob("librdkafka-*.so*")
        self._library = kafka = ctypes.CDLL(str(library))
        kafka.rd_kafka_new.restype = ctypes.c_void_p
        kafka.rd_kafka_conf_new.restype = ctypes.c_void_p
        kafka.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
        kafka.rd_kafka_mock_cluster_new.argtypes = [ctypes.c_void_p, ctypes.c_int]
        kafka.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        kafka.rd_kafka_mock_cluster_bootstraps.argtypes = [ctypes.c_void_p]
        kafka.rd_kafka_mock_cluster_destroy.argtypes = [ctypes.c_void_p]
        kafka.rd_kafka_destroy.argtypes = [ctypes.c_void_p]
        for name in ("rd_kafka_mock_broker_set_down", "rd_kafka_mock_broker_set_up"):
            getattr(kafka, name).argtypes = [ctypes.c_void_p, ctypes.c_int32]
        reason = ctypes.create_string_buffer(512)
        kafka.rd_kafka_new.argtypes = [
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_size_t,
        ]
        self._client = kafka.rd_kafka_new(0, kafka.rd_kafka_conf_new(), reason, len(reason))
        assert self._client, reason.value
        self._cluster = kafka.rd_kafka_mock_cluster_new(self._client, 1)
        servers = kafka.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        self.port = int(servers.rpartition(":")[2])

    def kill(self) -> None:
        assert self._library.rd_kafka_mock_broker_set_down(self._cluster, 1) == 0

    def again(self) -> None:
        assert self._library.rd_kafka_mock_broker_set_up(self._cluster, 1) == 0

    def close(self) -> None:
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._client)
