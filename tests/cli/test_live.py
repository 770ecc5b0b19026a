"""``headway live``: what it says, what it writes, and how it ends. The protocols themselves are
tried in ``tests/gateway``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
from tests.cli.invoke import headway
from tests.gateway.brokers import ZenohRouter
from tests.gateway.trial import sender, tuple_of
from tests.waiting import until

from headway.engine.live_state import read_live
from headway.errors import FileError

QUERY = """
query: trial
sources:
  speed: {schema: {v: "double [km/h]", n: int}, rate: 1 per 1 ms, lateness: 1 h}
operators:
  fast: {filter: n >= 10, from: speed, cost: 10 us}
outputs:
  fast: {from: fast, deadline: 1 h}
"""


def test_a_run_until_it_is_asked_to_stop(tmp_path: Path) -> None:
    """SIGINT: what came before it is finished and written."""
    query, out = tmp_path / "query.yaml", tmp_path / "out"
    query.write_text(QUERY)
    broker = ZenohRouter(tmp_path)
    address = f"zenoh://127.0.0.1:{broker.port}/car/speed"
    command = [sys.executable, "-m", "headway", "live", str(query), "--source", f"speed={address}"]
    command += ["--output", str(out), "--json"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    try:
        spoken = sender(f"{address}?keep=1000")  # for a query that starts later
        for number in range(30):
            spoken.say(tuple_of(number))

        def given() -> bool:
            assert process.poll() is None, process.communicate()
            try:
                state = read_live(out)
            except FileError:
                return False
            return [one.tuples for one in state.outputs] == [20]

        until(given, every=0.1)
        process.send_signal(signal.SIGINT)
        text, problems = process.communicate()
        spoken.close(1)
    finally:
        process.kill()
        broker.close()
    assert (process.returncode, problems) == (0, "")
    data = json.loads(text)
    assert data["sources"] == {"speed": {"taken": 30, "refused": {}, "again": 0}}
    assert data["outputs"]["fast"]["tuples"] == 20
    assert data["outputs"]["fast"]["missed"] == 0
    assert not data["interrupted"]
    assert pq.read_table(out / "fast.parquet")["n"].to_pylist() == list(range(10, 30))
    assert sorted(data["files"]) == sorted(path.name for path in out.iterdir())


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    query.write_text(QUERY)
    assert headway("live", str(query)).err == "--output: no folder for the results; name one\n"
    out = ["--output", str(tmp_path / "out")]
    done = headway("live", str(query), *out)
    assert (done.code, done.err) == (
        2,
        "source 'speed' has no address; add --source speed=ADDRESS\n",
    )
    twice = headway("live", str(query), *out, "--source", "speed", "--source", "speed=")
    assert twice.err.count("no name and address") == 2
    assert "speed has two addresses" in headway(
        "live", str(query), *out, *["--source", "speed=mqtt://h/t"] * 2
    ).err  # fmt: skip
    late = headway("live", str(query), *out, "--source", "speed=mqtt://h/t", "--stop-after", "x")
    assert late.err.startswith("--stop-after: not a duration; got x")
    assert not (tmp_path / "out").exists()


def test_the_proto_file_of_a_source_and_an_output(tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    query.write_text(QUERY)
    for name in ("speed", "fast"):
        done = headway("live", str(query), "--proto", name)
        assert (done.code, "optional double v = 2;  // km/h" in done.out) == (0, True)
    assert "one of speed, fast" in headway("live", str(query), "--proto", "slow").err
