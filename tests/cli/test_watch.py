"""``headway watch``: the page's server, the terminal, and what machines read."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.invoke import headway
from tests.engine.test_live_state import STATE
from tests.waiting import PATIENCE_S

from headway.cli.watch_server import Latest, WatchServer
from headway.engine.live_state import LIVE, LiveState, write_live
from headway.report.watch_page import prometheus, watch_html


class Given:
    """A run whose state a test sets."""

    def __init__(self, state: LiveState) -> None:
        self.state, self.silence = state, 0.0

    def look(self) -> LiveState:
        return self.state


@pytest.fixture
def served() -> Iterator[tuple[Given, Latest, int]]:
    given = Given(STATE)
    latest = Latest(given)
    server = WatchServer(latest, watch_html("q on v", None), 0)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield given, latest, int(server.address.rstrip("/").rpartition(":")[2])
    server.stop()
    latest.close()
    thread.join()


def ask(port: int, path: str, host: str = "localhost") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", path, headers={"Host": f"{host}:{port}"})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_what_is_served(served: tuple[Given, Latest, int]) -> None:
    given, latest, port = served
    status, page = ask(port, "/")
    assert status == 200
    assert "q on v" in page
    assert not re.search(r'(src|href)="?https?:', page), "nothing comes from elsewhere"
    assert json.loads(ask(port, "/state.json")[1])["outputs"][0]["output"] == "alarm"
    assert ask(port, "/health") == (200, "running\n")
    assert ask(port, "/metrics") == (200, prometheus(STATE))
    assert ask(port, "/nothing")[0] == 404
    assert ask(port, "/state.json", host="example.org")[0] == 403
    given.state = replace(STATE, running=False)
    number = latest.next(0, 60)[0]
    latest.next(number, 60)
    assert ask(port, "/health") == (503, "ended\n")


def test_events_come_as_states_change(served: tuple[Given, Latest, int]) -> None:
    given, _, port = served
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", "/events", headers={"Host": f"localhost:{port}"})
    stream = connection.getresponse()
    given.state = replace(STATE, passed=777)
    for _ in range(100):
        line = stream.readline().decode()
        if line.startswith("data: ") and json.loads(line[6:])["passed"] == 777:
            return
    raise AssertionError("the new state did not come")


def test_prometheus_can_read_it() -> None:
    text = prometheus(STATE)
    assert 'headway_output_misses_total{output="alarm"} 1' in text
    assert 'headway_output_latency_seconds{output="alarm",quantile="0.99"} 3e-09' in text
    assert 'headway_operator_late_total{operator="f",node="n"} 1' in text
    assert 'headway_node_load_ratio{node="n"} 0.5' in text
    assert "headway_decisions_total 8" in text
    line = re.compile(r"(# (HELP|TYPE) \w+ .+|\w+(\{(\w+=\"[^\"]*\",?)*\})? [-+0-9.e]+)")
    assert [one for one in text.splitlines() if not line.fullmatch(one)] == []


def test_a_run_in_the_terminal_and_as_json(tmp_path: Path) -> None:
    write_live(tmp_path, replace(STATE, running=False))
    shown = headway("watch", tmp_path, "--terminal")
    assert shown.code == 0
    assert "✗ 1 deadlines were missed." in shown.out
    assert "m lost" in shown.out
    found = json.loads(headway("watch", tmp_path, "--json").out)
    assert found["counts"] == {"decisions": 8}


def test_where_nothing_runs(tmp_path: Path) -> None:
    outcome = headway("watch", tmp_path, "--terminal", "--wait", "0")
    assert outcome.code == 2
    assert f"{tmp_path / LIVE}: no run can be watched here" in outcome.err
    assert "a run by the wall clock" in outcome.err


def test_a_port_that_is_taken(served: tuple[Given, Latest, int], tmp_path: Path) -> None:
    write_live(tmp_path, STATE)
    outcome = headway("watch", tmp_path, "--port", str(served[2]))
    assert outcome.code == 2
    assert "the port cannot be used" in outcome.err
