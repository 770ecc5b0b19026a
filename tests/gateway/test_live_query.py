"""Queries fed by messages over every protocol: all tuples come through, also where a broker dies
half way and returns, and bad messages harm nobody."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import can
import pyarrow.parquet as pq
import pytest
from tests.gateway.brokers import MOSQUITTO, KafkaMock, Mosquitto, TestBroker, ZenohRouter
from tests.gateway.trial import Running, running, sender, trial_plan, tuple_of
from tests.waiting import PATIENCE_S, until

from headway.errors import DataError, EnvironmentMissing, InputError
from headway.gateway.gateway_base import address_of

MESSAGES = 200
DBC = """VERSION ""
BS_:
BU_: ECU
BO_ 291 Speed: 8 ECU
 SG_ Velocity : 0|16@1+ (0.125,0) [0|8000] "km/h" ECU
 SG_ Number : 16|32@1+ (1,0) [0|4294967295] "" ECU
"""
CAN_FILE = "dbc: car.dbc\nmessages: [Speed]\ncolumns: {v: Velocity, n: Number}\n"


def numbers_out(folder: Path) -> list[int]:
    found: list[int] = pq.read_table(folder / "fast.parquet")["n"].to_pylist()
    return found


def half_way(
    broker: TestBroker,
    folder: Path,
    source: str,
    output: str,
    *,
    ready: Callable[[Running], object],
    again: Callable[[], None],
    taken_before: int = MESSAGES // 4,
) -> None:
    """Half of the messages, the broker dies when so many have come, a quarter, it is back, the
    rest; then what came in and what went out."""
    with running(folder / "out", {"speed": source}, {"fast": output}) as run:
        until(lambda: ready(run))
        spoken = sender(source)
        for number in range(MESSAGES // 2):
            spoken.say(tuple_of(number))
        until(lambda: run.taken() >= taken_before)
        broker.kill()
        for number in range(MESSAGES // 2, MESSAGES * 3 // 4):
            spoken.say(tuple_of(number))
        again()
        for number in range(MESSAGES * 3 // 4, MESSAGES):
            spoken.say(tuple_of(number))
        until(lambda: run.taken() >= MESSAGES)
        spoken.close(PATIENCE_S)
    assert run.outcome is not None
    assert run.outcome.sources["speed"].refused == {}
    assert sorted(numbers_out(folder / "out")) == list(range(MESSAGES))
    out = run.outcome.outputs["fast"]
    assert out.spoken is not None
    assert (out.tuples, out.spoken.given, out.spoken.refused) == (MESSAGES, MESSAGES, 0)
    assert not out.error


@pytest.mark.skipif(MOSQUITTO is None, reason="there is no mosquitto")
def test_mqtt(tmp_path: Path) -> None:
    broker = Mosquitto(tmp_path)
    try:
        address = f"mqtt://127.0.0.1:{broker.port}/car/speed?once=10000"
        half_way(
            broker,
            tmp_path,
            address,
            f"mqtt://127.0.0.1:{broker.port}/car/fast?payload=cbor",
            ready=Running.connected,
            again=broker.start,
            # Mosquitto acknowledges before it writes: killed in between, it has lost what the
            # sender thinks is safe and nobody has got yet.
            taken_before=MESSAGES // 2,
        )
    finally:
        broker.close()


def test_zenoh(tmp_path: Path) -> None:
    broker = ZenohRouter(tmp_path)
    try:
        half_way(
            broker,
            tmp_path,
            f"zenoh://127.0.0.1:{broker.port}/car/speed?payload=protobuf",
            f"zenoh://127.0.0.1:{broker.port}/car/fast",
            ready=lambda run: run.listening(),
            again=broker.start,
        )
    finally:
        broker.close()


def test_kafka(tmp_path: Path) -> None:
    broker = KafkaMock(tmp_path)
    try:
        half_way(
            broker,
            tmp_path,
            f"kafka://127.0.0.1:{broker.port}/speed?begin=earliest&payload=cbor",
            f"kafka://127.0.0.1:{broker.port}/fast",
            ready=lambda run: run.listening(),
            again=broker.again,
        )
    finally:
        broker.close()


def test_can(tmp_path: Path) -> None:
    """A bus inside this process; a frame of which the DBC knows nothing is counted."""
    (tmp_path / "car.dbc").write_text(DBC)
    (tmp_path / "speed.can").write_text(CAN_FILE)
    address = f"can://virtual/one?file={tmp_path}/speed.can"
    output = f"can://virtual/two?file={tmp_path}/speed.can"
    seen = can.Bus(interface="virtual", channel="two")
    stranger = can.Bus(interface="virtual", channel="one")
    try:
        with running(tmp_path / "out", {"speed": address}, {"fast": output}) as run:
            until(run.listening)
            spoken = sender(address)
            stranger.send(can.Message(arbitration_id=5, data=b"x", is_extended_id=False))
            for number in range(MESSAGES):
                spoken.say(tuple_of(number))
            until(lambda: run.taken() >= MESSAGES)
            spoken.close(1)
            frames = [seen.recv(60) for _ in range(MESSAGES)]
    finally:
        seen.shutdown()
        stranger.shutdown()
    assert run.outcome is not None
    counts = run.outcome.sources["speed"]
    assert counts.refused == {"no message of the DBC has this address": 1}
    assert numbers_out(tmp_path / "out") == list(range(MESSAGES))
    assert all(frame is not None and frame.arbitration_id == 291 for frame in frames)
    sent = [int.from_bytes(frame.data[2:6], "little") for frame in frames if frame is not None]
    assert sent == list(range(MESSAGES))
    values = pq.read_table(tmp_path / "out" / "fast.parquet")["v"].to_pylist()
    assert values == [number / 8 for number in range(MESSAGES)]


def test_a_value_that_no_signal_holds_is_refused_and_why(tmp_path: Path) -> None:
    (tmp_path / "car.dbc").write_text(DBC)
    (tmp_path / "speed.can").write_text(CAN_FILE)
    spoken = sender(f"can://virtual/far?file={tmp_path}/speed.can")
    spoken.say(tuple_of(1))
    spoken.say(tuple_of(1) | {"v": 1e9})
    spoken.close(0)
    assert (spoken.spoken.given, spoken.spoken.refused) == (1, 1)
    assert "1000000000" in spoken.spoken.why


def test_a_can_output_says_what_does_not_go_together(tmp_path: Path) -> None:
    (tmp_path / "car.dbc").write_text(DBC)
    (tmp_path / "speed.can").write_text("dbc: car.dbc\nmessages: [Speed]\ncolumns: {v: Velocity}\n")
    with pytest.raises(DataError, match="got no column for the signals Number"):
        sender(f"can://virtual/one?file={tmp_path}/speed.can")
    with pytest.raises(InputError, match="frames need a mapping"):
        sender("can://virtual/one")
    (tmp_path / "speed.can").write_text(CAN_FILE)
    with pytest.raises(EnvironmentMissing, match="No CAN bus can be opened"):
        sender(f"can://nothing/one?file={tmp_path}/speed.can")


@pytest.mark.parametrize("scheme", ["mqtt", "zenoh"])
def test_nobody_answers(scheme: str) -> None:
    gateway, address = address_of(f"{scheme}://127.0.0.1:9/place")
    with pytest.raises(EnvironmentMissing) as caught:
        gateway.speak(address, "out", trial_plan().query.sources[0].schema)
    assert f"{scheme}://127.0.0.1:9/place" in str(caught.value)


def test_an_output_that_breaks_is_told_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full while an output is written."""
    from headway.gateway import live_query

    (tmp_path / "car.dbc").write_text(DBC)
    (tmp_path / "speed.can").write_text(CAN_FILE)

    def full(*anything: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(live_query, "output_table", full)
    address = f"can://virtual/three?file={tmp_path}/speed.can"
    with running(tmp_path / "out", {"speed": address}) as run:
        until(run.listening)
        spoken = sender(address)
        for number in range(5):
            spoken.say(tuple_of(number))
        until(lambda: run.taken() >= 5)
        spoken.close(1)
    assert run.outcome is not None
    out = run.outcome.outputs["fast"]
    assert out.tuples == 5
    assert out.error == "OSError: [Errno 28] No space left on device"
    assert json.dumps(run.outcome.data())
