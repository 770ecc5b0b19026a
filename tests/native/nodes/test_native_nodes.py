"""Native nodes as real processes, alone and among Python ones: the same tuples as in one process, a
death and a return, strangers, applications, and how they end.

Nothing here measures speed: what must happen is waited for, and what is compared does not hang on
when it happened.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.invoke import EXAMPLES
from tests.engine.nodes.pairs import Collected
from tests.engine.nodes.study import study_arrivals, study_plan, write_recording
from tests.native.needed import needs_compiler
from tests.native.nodes.compiled_tests import HERE
from tests.waiting import PATIENCE_S, until

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.nodes.executables import build_executables, slices_of
from headway.engine.nodes.launcher import EndedNode, Launcher
from headway.engine.nodes.liveness import PeerTiming
from headway.engine.nodes.native_recording import write_arrivals
from headway.engine.nodes.node_key import KEY_FILE, read_key
from headway.engine.nodes.node_records import EventLog
from headway.engine.nodes.node_slice import DEPLOYMENT
from headway.engine.nodes.peers import Peers
from headway.front_door.compiling import compile
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND
from headway.native.native_build import build_car
from headway.native.toolchain import Target
from headway.sources.recordings import RecordedArrival

pytestmark = needs_compiler
CALM = ("--heartbeat", "100 ms", "--missed", "6000")
"""A busy machine is not to be taken for a dead one."""
OUTPUTS = ("pairs", "counts")


def plan_without_python() -> Plan:
    """The study's plan, but for its operator in Python."""
    whole = study_plan(within=35 * MILLISECOND)
    query = replace(
        whole.query,
        steps=tuple(step for step in whole.query.steps if step.name != "gathered"),
        outputs=tuple(output for output in whole.query.outputs if output.name != "both"),
    )
    pins = tuple(pin for pin in whole.vehicle.pins if pin[0] != "gathered")
    return compile_query(query, replace(whole.vehicle, pins=pins))


PLAN = plan_without_python()
NODES = ("front", "rear", "centre")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("car") / "build"
    build_car(PLAN, folder, targets=dict.fromkeys(NODES, Target.NATIVE), tcp=True)
    return folder


def mixed(build: Path, folder: Path, python: str) -> Path:
    """The same build with one of its nodes in Python."""
    shutil.copytree(build, folder)
    (bundle,) = [one for one in build_executables(PLAN) if one.part.node == python]
    (folder / bundle.name).write_bytes(bundle.content)
    deployment = json.loads((folder / DEPLOYMENT).read_text(encoding="utf-8"))
    entry = deployment["nodes"][python]
    entry["executable"] = bundle.name
    del entry["target"]
    (folder / DEPLOYMENT).write_text(json.dumps(deployment), encoding="utf-8")
    return folder


def rows_of(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The tuples of each output, in an order of their own."""
    found = {}
    for output in OUTPUTS:
        lines = (folder / f"{output}.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
        found[output] = sorted(tuple(json.loads(line)["row"].values()) for line in lines)
    return found


def meant_by(arrivals: list[Arrival]) -> dict[str, list[tuple[Any, ...]]]:
    result = Engine(plan=PLAN, charged=False).run(arrivals)
    return {output: sorted(result.outputs[output].rows) for output in OUTPUTS}


def reports(ended: Mapping[str, EndedNode]) -> dict[str, dict[str, Any]]:
    found = {}
    for node, one in ended.items():
        assert one.code in (0, 3), one.errors  # 3: a busy machine may miss a deadline
        assert one.report is not None
        found[node] = one.report
    return found


@pytest.mark.parametrize("python", ["", "rear", "centre"])
def test_the_same_tuples_as_one_process(build: Path, tmp_path: Path, python: str) -> None:
    """By datagrams between native nodes, by TCP to and from a Python one."""
    car = mixed(build, tmp_path / "mixed", python) if python else build
    arrivals = study_arrivals(60, every=20_000, apart=3_000)
    write_recording(tmp_path / "recording", arrivals)
    out = tmp_path / "out"
    with Launcher(build=car, outputs=out, inputs=tmp_path / "recording", options=CALM) as launcher:
        launcher.start()
        found = reports(launcher.wait(PATIENCE_S))
    assert rows_of(out) == meant_by(arrivals)
    assert found["centre"]["received"] == found["front"]["sent"] + found["rear"]["sent"] > 0
    for report in found.values():
        assert report["gaps"] == report["bad_frames"] == report["overflowed"] == 0
        assert not report["dropped"]


def test_a_node_that_is_killed_and_started_again(build: Path, tmp_path: Path) -> None:
    """What reached the dead node is missing, in one piece, and nothing else is."""
    arrivals = study_arrivals(400, every=20_000, apart=3_000)
    write_recording(tmp_path / "recording", arrivals)
    out = tmp_path / "out"
    with Launcher(
        build=build, outputs=out, inputs=tmp_path / "recording", options=CALM
    ) as launcher:
        launcher.start()
        until(lambda: (out / "pairs.jsonl").exists() and (out / "pairs.jsonl").stat().st_size)
        launcher.kill("rear")
        launcher.restart("rear")
        found = reports(launcher.wait(PATIENCE_S))
    own = [arrival for arrival in arrivals if arrival.source == "own"]
    rest = found["rear"]["arrived"]
    skipped = found["rear"]["missed_while_down"]
    assert rest + skipped == len(own)
    back = len(own) - rest
    rows = rows_of(out)
    # How many it had sent when it died is not known; that they are the first ones is.
    lost = {arrival.row: place for place, arrival in enumerate(own)}
    matching = [
        before
        for before in range(back + 1)
        if rows
        == meant_by([a for a in arrivals if not (a.row in lost and before <= lost[a.row] < back)])
    ]
    assert matching
    noted = [entry["event"] for entry in launcher.events("centre") if entry.get("peer") == "rear"]
    assert noted[0] == "peer found"


def test_a_python_node_that_is_killed_is_sent_again_what_native_ones_have_kept(
    build: Path, tmp_path: Path
) -> None:
    """Of it nothing is missing: it has no source of its own, and the others keep what it has not
    acknowledged."""
    arrivals = study_arrivals(200, every=20_000, apart=3_000)
    write_recording(tmp_path / "recording", arrivals)
    out = tmp_path / "out"
    with Launcher(
        build=mixed(build, tmp_path / "mixed", "centre"),
        outputs=out,
        inputs=tmp_path / "recording",
        options=CALM,
    ) as launcher:
        launcher.start()
        until(lambda: (out / "pairs.jsonl").exists() and (out / "pairs.jsonl").stat().st_size)
        launcher.kill("centre")
        launcher.restart("centre")
        found = reports(launcher.wait(PATIENCE_S))
    assert found["centre"]["resumed"]["believed"]
    assert rows_of(out) == meant_by(arrivals)
    assert found["centre"]["received"] == found["front"]["sent"] + found["rear"]["sent"]


def test_strangers_do_no_harm(build: Path, tmp_path: Path) -> None:
    arrivals = study_arrivals(40, every=20_000, apart=3_000)
    write_recording(tmp_path / "recording", arrivals)
    out = tmp_path / "out"
    with Launcher(
        build=build, outputs=out, inputs=tmp_path / "recording", options=CALM
    ) as launcher:
        launcher.start()
        address = launcher.address("centre")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            for size in (1, 27, 28, 60, 500, 5_000):
                datagrams.sendto(b"HWAY" * (size // 4 + 1), address)
        with socket.create_connection(address) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" + b"x" * 100)
            stranger.settimeout(PATIENCE_S)
            assert stranger.recv(100) == b""  # it is shown the door
        found = reports(launcher.wait(PATIENCE_S))
    assert rows_of(out) == meant_by(arrivals)
    assert found["centre"]["bad_frames"] >= 7


def test_peers_that_say_good_bye_and_end_nothing_are_given_up(build: Path, tmp_path: Path) -> None:
    """To a process of this node that was killed they may have ended everything."""
    others = [part for part in slices_of(PLAN) if part.node != "centre"]
    car = mixed(mixed(build, tmp_path / "front", "front"), tmp_path / "both", "rear")
    with Launcher(
        build=car,
        outputs=tmp_path / "out",
        options=("--heartbeat", "100 ms", "--missed", "6000", "--give-up", "100 ms"),
    ) as launcher:
        launcher.nodes = ["centre"]
        launcher.start()
        peers = [
            Peers(
                part.node,
                fingerprint=part.fingerprint,
                key=read_key(build / KEY_FILE),
                streams=part.wire_streams(),
                sends={"centre": [stream for stream, _ in part.sends]},
                senders=(),
                addresses={"centre": launcher.address("centre")},
                handler=Collected(),
                log=EventLog(part.node),
                timing=PeerTiming(),
            )
            for part in others
        ]
        for one in peers:
            one.start()
        until(lambda: [e["event"] for e in launcher.events("centre")].count("peer found") == 2)
        for one in peers:
            one.finish()
        assert launcher.wait(PATIENCE_S)["centre"].code == 0
        events = [(e["event"], e.get("peer")) for e in launcher.events("centre")]
    for part in others:
        assert ("peer finished", part.node) in events
        assert ("peer given up", part.node) in events
    assert "peer lost" not in dict(events)


def test_a_signal_ends_them_with_their_reports(build: Path, tmp_path: Path) -> None:
    write_recording(tmp_path / "recording", study_arrivals(30_000))
    out = tmp_path / "out"
    with Launcher(
        build=build, outputs=out, inputs=tmp_path / "recording", options=CALM
    ) as launcher:
        launcher.start()
        until(lambda: (out / "pairs.jsonl").exists() and (out / "pairs.jsonl").stat().st_size)
        launcher.stop()
        found = reports(launcher.wait(PATIENCE_S))
    assert all(report["stopped"] for report in found.values())
    assert 0 < found["front"]["arrived"] < 30_000
    latency = found["centre"]["outputs"]["pairs"]["latency_ns"]
    assert 0 < latency["p50"] <= latency["p99"] <= latency["p99.99"] <= latency["longest"]


# ---------------------------------------------------------------- one node, with an application


@pytest.fixture(scope="module")
def hello(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Path]:
    plan = compile(EXAMPLES / "hello" / "query.yaml", EXAMPLES / "hello" / "vehicle.yaml").plan
    folder = tmp_path_factory.mktemp("hello") / "build"
    build_car(
        plan,
        folder,
        targets={"ecu": Target.NATIVE},
        apps={"ecu": [HERE / "alarm_counter.cpp"]},
    )
    return plan, folder


def run_hello(
    hello: tuple[Plan, Path], folder: Path, arrivals: list[RecordedArrival], **variables: str
) -> tuple[int, dict[str, Any], str]:
    plan, build = hello
    (part,) = slices_of(plan)
    write_arrivals(part, arrivals, folder / "ecu.rows")
    ran = subprocess.run(
        [build / "ecu" / "bin" / "ecu", "--input", str(folder / "ecu.rows"), "--json"],
        env={**os.environ, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ran.returncode, json.loads(ran.stdout) if ran.stdout else {}, ran.stderr


START = 1_700_000_000_000_000


def test_an_application_gets_what_is_put_out(hello: tuple[Plan, Path], tmp_path: Path) -> None:
    arrivals = [
        RecordedArrival(START + 10_000 * n, "speed", (START + 10_000 * n, 25.0 + n), None)
        for n in range(10)
    ]
    code, report, said = run_hello(hello, tmp_path, arrivals)
    assert code in (0, 3)
    assert "4 alarms up to 122.4" in said
    assert report["outputs"]["alarm"]["tuples"] == 4
    assert report["arrived"] == 10


def test_an_application_feeds_a_source(hello: tuple[Plan, Path], tmp_path: Path) -> None:
    code, report, said = run_hello(hello, tmp_path, [], FED_BY_THE_APPLICATION="yes")
    assert code in (0, 3)
    assert "1 alarms up to 144.0" in said
    assert report["arrived"] == 2


def test_a_missed_hard_deadline_is_no_success(hello: tuple[Plan, Path], tmp_path: Path) -> None:
    """The tuple arrives a second after it was sensed, and its output has a deadline of 5 ms."""
    arrivals = [RecordedArrival(START + 1_000_000, "speed", (START, 40.0), None)]
    code, report, said = run_hello(hello, tmp_path, arrivals)
    assert code == 3
    assert report["hard_missed"] == ["alarm"]
    assert "1 hard deadlines missed" in said
    assert report["outputs"]["alarm"]["latency_ns"]["longest"] > 1000 * MILLISECOND


def test_what_has_not_its_form_is_rejected_and_counted(
    hello: tuple[Plan, Path], tmp_path: Path
) -> None:
    arrivals = [
        RecordedArrival(START, "speed", (START, "fast"), None),
        RecordedArrival(START + 10_000, "speed", (START + 10_000, None), None),
    ]
    code, report, _ = run_hello(hello, tmp_path, arrivals)
    assert code == 0
    assert report["dropped"] == {"rejected": 1}
    assert report["arrived"] == 2


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (b"", "it is no recording for a native node"),
        (b"HWAY", "it is no recording for a native node"),
    ],
)
def test_a_damaged_recording_is_refused(
    hello: tuple[Plan, Path], tmp_path: Path, spoil: bytes, said: str
) -> None:
    plan, build = hello
    (part,) = slices_of(plan)
    path = tmp_path / "ecu.rows"
    write_arrivals(part, [RecordedArrival(START, "speed", (START, 1.0), None)], path)
    path.write_bytes(path.read_bytes()[:-1] + spoil)
    ran = subprocess.run(
        [build / "ecu" / "bin" / "ecu", "--input", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert said in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--speed", "-1"], "--speed: got -1"),
        (["--heartbeat", "soon"], "--heartbeat: got soon"),
        (["--nonsense", "1"], "an option that does not exist"),
        (["--input"], "nothing behind it"),
        (["--subscriber", "127.0.0.1:9"], "built without connections"),
        ([], "speed: nobody sends this source"),
    ],
)
def test_wrong_options_are_told(hello: tuple[Plan, Path], arguments: list[str], said: str) -> None:
    _, build = hello
    ran = subprocess.run(
        [build / "ecu" / "bin" / "ecu", *arguments], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert said in ran.stderr


@pytest.mark.parametrize(
    ("option", "said"),
    [("--deployment", "cannot read the addresses"), ("--key", "cannot read the key")],
)
def test_a_node_with_peers_needs_the_files_of_its_build(
    build: Path, option: str, said: str
) -> None:
    ran = subprocess.run(
        [build / "rear" / "bin" / "rear", option, "/nowhere"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 2
    assert said in ran.stderr


def test_a_key_that_others_can_read_is_not_used(build: Path, tmp_path: Path) -> None:
    key = tmp_path / "nodes.key"
    key.write_bytes(bytes(32))
    key.chmod(0o644)
    ran = subprocess.run(
        [build / "rear" / "bin" / "rear", "--key", str(key)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 2
    assert "others can read the key" in ran.stderr
