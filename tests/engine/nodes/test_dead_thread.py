"""A node whose I/O thread has died is a dead node, and says so."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import pytest
from tests.engine.nodes.pairs import Pair
from tests.engine.nodes.study import study_arrivals, study_plan, write_recording
from tests.waiting import PATIENCE_S

from headway.engine.nodes.executables import build_executables, write_build
from headway.engine.nodes.node_command import main
from headway.engine.nodes.node_slice import slice_to_json
from headway.engine.nodes.peers import Peers


def test_the_handler_is_told_and_the_sockets_are_closed() -> None:
    pair = Pair()

    def fails(now: int) -> None:
        raise RuntimeError("out of order")

    pair.got.tick = fails  # type: ignore[method-assign]
    pair.right.start()
    pair.right.join(PATIENCE_S)
    assert [str(error) for error in pair.got.failures] == ["out of order"]
    assert pair.right.failure is pair.got.failures[0]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(pair.address)
    pair.right.finish()  # does not wait for anything
    pair.left.finish()


@pytest.mark.parametrize("when", ["at once", "at the good-bye"])
def test_the_node_ends_with_a_message_and_exit_code_1(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = study_plan()
    built = {one.part.node: one for one in build_executables(plan)}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    write_build(plan, list(built.values()), tmp_path)
    deployment = json.loads((tmp_path / "deployment.json").read_text())
    deployment["nodes"]["front"]["address"] = f"127.0.0.1:{port}"
    (tmp_path / "deployment.json").write_text(json.dumps(deployment))
    write_recording(tmp_path / "recording", study_arrivals(5))

    def fails(*_: object) -> None:
        raise OSError(24, "Too many open files")

    if when == "at once":
        monkeypatch.setattr(Peers, "turn", fails)
    else:
        monkeypatch.setattr(Peers, "_all_done", lambda self: True)
        monkeypatch.setattr(Peers, "_say_goodbye", fails)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    front = built["front"]
    options = ["--input", str(tmp_path / "recording"), "--output", str(tmp_path / "out")]
    assert main(slice_to_json(front.part), tmp_path / front.name, options) == 1
    said = capsys.readouterr().err
    assert "node 'front': the thread of its connections has died" in said
    assert "Too many open files" in said
    lines = (tmp_path / "out" / "front.events.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["event"] == "failed"
    assert not (tmp_path / "out" / "front.report.json").exists()
