"""Kills brokers half way through 10,000 messages, and counts what came through.

A query with one source and one output runs live; its source is fed, its output listened to, over
the same broker. After half of the messages the broker dies (SIGKILL; for MQTT also SIGTERM, at
which mosquitto saves what it holds; the mock of Kafka goes down), a quarter is sent while it is
dead, it comes back, the rest follows.

    python benchmarks/kill_brokers.py [--messages 10000] [mqtt mqtt-term zenoh kafka]

Brokers are started from ``tests/gateway/brokers.py``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.gateway.brokers import BrokerProcess, KafkaMock, Mosquitto, TestBroker, ZenohRouter
from tests.gateway.trial import running, sender, tuple_of
from tests.waiting import until

KINDS: dict[str, type[TestBroker]] = {
    "mqtt": Mosquitto,
    "mqtt-term": Mosquitto,
    "zenoh": ZenohRouter,
    "kafka": KafkaMock,
}


def trial(kind: str, messages: int, folder: Path) -> dict[str, Any]:
    broker = KINDS[kind](folder)
    scheme = kind.partition("-")[0]
    source = f"{scheme}://127.0.0.1:{broker.port}/{'speed' if scheme == 'kafka' else 'car/speed'}"
    sent = source + ("?keep=1000000" if scheme == "zenoh" else "")
    asked = {"mqtt": "?once=1000000", "kafka": "?begin=earliest"}.get(scheme, "")
    began = time.monotonic()
    try:
        output = sent.replace("speed", "fast")
        with running(folder / "out", {"speed": source + asked}, {"fast": output}) as run:
            until(run.listening)
            spoken = sender(sent)
            for number in range(messages // 2):
                spoken.say(tuple_of(number))
            until(lambda: run.taken() >= messages // 4)
            if kind == "mqtt-term":
                assert isinstance(broker, BrokerProcess)
                broker.ask_to_end()
            else:
                broker.kill()
            for number in range(messages // 2, messages * 3 // 4):
                spoken.say(tuple_of(number))
            dead = run.taken()
            broker.again() if isinstance(broker, KafkaMock) else broker.start()
            for number in range(messages * 3 // 4, messages):
                spoken.say(tuple_of(number))
            limit = time.monotonic() + 120
            while run.taken() < messages and time.monotonic() < limit:
                time.sleep(0.5)
            spoken.close(60)
    finally:
        broker.close()
    assert run.outcome is not None
    numbers = pq.read_table(folder / "out" / "fast.parquet")["n"].to_pylist()
    out = run.outcome.outputs["fast"].spoken
    assert out is not None
    return {
        "broker": kind,
        "sent": spoken.spoken.given,
        "acknowledged": spoken.spoken.acknowledged,
        "taken when it was dead": dead,
        "overlooked as doubles": run.outcome.sources["speed"].again,
        "outputs": len(numbers),
        "missing": messages - len(set(numbers)),
        "double": len(numbers) - len(set(numbers)),
        "outputs sent": out.given,
        "outputs acknowledged": out.acknowledged,
        "seconds": round(time.monotonic() - began, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help=", ".join(KINDS))
    parser.add_argument("--messages", type=int, default=10_000)
    given = parser.parse_args()
    for kind in given.kinds or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            found = trial(kind, given.messages, Path(folder))
        print(", ".join(f"{name}: {value}" for name, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
