"""Sources named on the command line: topics of Kafka, CAN logs."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.running import HELLO, headway, summary_of
from tests.spark.sources import test_can
from tests.spark.sources.test_kafka import Broker
from typer.testing import Result

pytestmark = pytest.mark.usefixtures("spark")
MASTER = ("--master", "local[2]")
STREAM = (*MASTER, "--mode", "stream", "--available-now", "--late-ok")
BEGIN = 1_767_225_600_000_000


def run(given: str | Path, output: Path, *options: str) -> Result:
    return headway("run", HELLO, "--input", given, "--output", output, *options)


def values(output: Path) -> list[float]:
    found = pq.read_table(output / "alarm.parquet").column("v").to_pylist()
    return sorted(round(v / 3.6, 6) for v in found)


# -------------------------------------------------------------------- Kafka


@pytest.fixture(scope="module")
def broker() -> Broker:
    return Broker()


def test_topics_as_a_stream_and_as_a_batch(broker: Broker, tmp_path: Path) -> None:
    broker.send("speed", {"timestamp": BEGIN, "v": 31.0}, {"timestamp": BEGIN + 1, "v": 10.0}, b"?")
    address, output = f"kafka://{broker.servers}", tmp_path / "out"
    assert (done := run(address, output, *STREAM)).exit_code == 0, done.output
    assert values(output) == [31.0]
    broker.send("speed", {"timestamp": BEGIN + 2, "v": 32.0})
    assert (done := run(address, output, *STREAM)).exit_code == 0, done.output
    assert values(output) == [31.0, 32.0], "each message once"
    assert summary_of(output)["outputs"][0]["tuples"] == 2, "of both processes"
    assert "speed/0:2: 1 × not JSON" in done.stdout
    assert (done := run(address, tmp_path / "batch", *MASTER)).exit_code == 0, done.output
    assert values(tmp_path / "batch") == [31.0, 32.0]


def test_a_topic_of_another_name(broker: Broker, tmp_path: Path) -> None:
    broker.send("car.speed", {"timestamp": BEGIN, "v": 33.0})
    address = f"kafka://{broker.servers}"
    named = ("--topic", "speed=car.speed", "--input-option", "maxOffsetsPerTrigger=1")
    done = run(address, tmp_path / "out", *STREAM, *named)
    assert done.exit_code == 0, done.output
    assert values(tmp_path / "out") == [33.0]
    wrong = run(address, tmp_path / "no", *STREAM, "--topic", "sped=car.speed")
    assert wrong.exit_code == 2
    assert "--topic: there is no source 'sped'; there are speed" in wrong.output


def test_addresses_that_are_none(tmp_path: Path) -> None:
    wrong = run("kafka://nowhere", tmp_path / "out", *STREAM)
    assert wrong.exit_code == 2
    assert (
        "--input: no address of Kafka; got kafka://nowhere; write kafka://HOST:PORT" in wrong.output
    )
    silent = run("kafka://127.0.0.1:1", tmp_path / "out", *STREAM)
    assert silent.exit_code == 2
    assert "No broker of Kafka answers at 127.0.0.1:1: 127.0.0.1:1: Connection refused" in (
        silent.output
    )
    files = run(HELLO.parent / "recording", tmp_path / "out", *MASTER, "--topic", "speed=x")
    assert "--topic is for Kafka; got --input" in files.output
    car = run("kafka://h:1", tmp_path / "out", "--engine", "vehicle")
    assert "--input: the vehicle engine reads recordings; got kafka://h:1" in car.output
    assert not (tmp_path / "out").exists()


# -------------------------------------------------------------------- CAN


def pointer(folder: Path, name: str, log: str) -> None:
    lines = [f"log: {folder / log}", f"dbc: {folder / 'car.dbc'}", "columns: {v: SPEED}",
             "vehicle: A1", 'start: "2026-01-01T00:00:00Z"']  # fmt: skip
    path = folder / "recording" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_can_logs_on_all_engines(tmp_path: Path) -> None:
    (tmp_path / "car.dbc").write_text(test_can.DBC, encoding="utf-8")
    test_can.write_log(tmp_path / "a.asc", [29, 31, 32])
    pointer(tmp_path, "speed.can", "a.asc")
    engines = {"car": ("--engine", "vehicle", "--zero-cost"), "batch": MASTER, "stream": STREAM}
    for name, options in engines.items():
        done = run(tmp_path / "recording", tmp_path / name, *options)
        assert done.exit_code == 0, done.output
        assert values(tmp_path / name) == [31.0, 32.0], name
        assert set(pq.read_table(tmp_path / name / "alarm.parquet")["vehicle"].to_pylist()) == {
            "A1"
        }


def test_a_stream_of_can_logs(tmp_path: Path) -> None:
    """A file that points into a log is a file of the stream."""
    (tmp_path / "car.dbc").write_text(test_can.DBC, encoding="utf-8")
    for number, speeds in enumerate(([31], [29, 32])):
        test_can.write_log(tmp_path / f"{number}.asc", speeds)
        pointer(tmp_path, f"speed/{number}.can", f"{number}.asc")
        done = run(tmp_path / "recording", tmp_path / "out", *STREAM)
        assert done.exit_code == 0, done.output
    assert values(tmp_path / "out") == [31.0, 32.0]
