"""The collision warning as three native processes: the tuples of the Python engine, all of them."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from tests.native.needed import needs_compiler
from tests.native.nodes.calm_drive import calm_arrivals, calm_plan, write_drive
from tests.waiting import PATIENCE_S

from headway.engine.engine import Engine
from headway.engine.nodes.executables import slices_of
from headway.engine.nodes.launcher import Launcher
from headway.engine.nodes.native_recording import write_rows
from headway.engine.nodes.node_slice import DEPLOYMENT
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND
from headway.model.vehicle import frame_times
from headway.native.native_build import build_car
from headway.native.toolchain import Target

pytestmark = needs_compiler
NODES = ("node1", "node2", "node3")
CALM = ("--heartbeat", "100 ms", "--missed", "6000")
SLOWLY = 0.1
"""the clock runs so that a busy machine has 0.4 s where the drive leaves 40 ms"""
ASSISTANT = Path(__file__).parents[3] / "examples" / "brake_assistant" / "brake_assistant.cpp"


@pytest.fixture(scope="module")
def car(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Path]:
    """With the brake assistant of the examples on the node that warns."""
    folder = tmp_path_factory.mktemp("collision_warning")
    plan = calm_plan(folder / "query")
    build_car(
        plan,
        folder / "build",
        targets=dict.fromkeys(NODES, Target.NATIVE),
        apps={"node3": [ASSISTANT]},
    )
    return plan, folder / "build"


def test_the_same_tuples_as_the_python_engine(car: tuple[Plan, Path], tmp_path: Path) -> None:
    """Every output, to the last bit of the filters' estimates."""
    plan, build = car
    arrivals = calm_arrivals(plan)
    meant = Engine(plan=plan, charged=False).run(arrivals)
    write_drive(tmp_path / "drive", plan, arrivals)
    out = tmp_path / "out"
    with Launcher(
        build=build, outputs=out, inputs=tmp_path / "drive", speed=SLOWLY, options=CALM
    ) as launcher:
        launcher.start()
        ended = launcher.wait(PATIENCE_S)
    for output in plan.query.outputs:
        lines = (out / f"{output.name}.jsonl").read_text(encoding="utf-8").splitlines()
        found = sorted((tuple(json.loads(line)["row"].values()) for line in lines), key=repr)
        assert found
        assert found == sorted(meant.outputs[output.name].rows, key=repr)
    assert f"{len(meant.outputs['output2'].rows)} rows of output2" in ended["node3"].errors
    for one in ended.values():
        assert one.code in (0, 3), one.errors
        assert one.report is not None
        assert one.report["no_room"] == one.report["gaps"] == 0


# ---------------------------------------------------------------- over CAN


class StandInBus:
    """Both buses and their gateway: what one node puts on the bus all others hear."""

    def __init__(self, nodes: Sequence[str]) -> None:
        pairs = {node: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for node in nodes}
        self.ends = {node: theirs for node, (_, theirs) in pairs.items()}
        self._ours = [ours for ours, _ in pairs.values()]
        self.frames: list[bytes] = []
        self._thread = threading.Thread(target=self._carry, daemon=True)

    def __enter__(self) -> StandInBus:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(PATIENCE_S)
        for end in (*self._ours, *self.ends.values()):
            end.close()

    def _carry(self) -> None:
        """Until all nodes have hung up."""
        open_ends = list(self._ours)
        while open_ends:
            readable, _, _ = select.select(open_ends, [], [])
            for end in readable:
                frame = end.recv(256)
                if not frame:
                    open_ends.remove(end)
                    continue
                self.frames.append(frame)
                for other in open_ends:
                    if other is not end:
                        with suppress(OSError):
                            other.send(frame)


def test_the_same_tuples_over_a_stand_in_for_the_buses(
    car: tuple[Plan, Path], tmp_path: Path
) -> None:
    """What crosses a bus of the plan goes there, as many frames as the plan counts, and not by
    IP."""
    plan, build = car
    arrivals = calm_arrivals(plan)
    meant = Engine(plan=plan, charged=False).run(arrivals)
    write_drive(tmp_path / "drive", plan, arrivals)
    buses = {"node1": "bus1", "node2": "bus1", "node3": "bus2"}
    with Launcher(build=build, outputs=tmp_path / "out") as launcher:  # for its ports
        deployment = launcher.outputs / DEPLOYMENT
    processes = {}
    with StandInBus(NODES) as bus:
        for part in slices_of(plan):
            write_rows(part, tmp_path / "drive", tmp_path / f"{part.node}.rows")
            end = bus.ends[part.node]
            processes[part.node] = subprocess.Popen(
                [build / part.node / "bin" / part.node, "--wait",
                 "--deployment", str(deployment), "--output", str(tmp_path),
                 "--input", str(tmp_path / f"{part.node}.rows"), "--speed", str(SLOWLY),
                 "--can", f"{buses[part.node]}=fd:{end.fileno()}"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=[end.fileno()],
            )  # fmt: skip
            end.close()
        for process in processes.values():
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["ready"]
        start = time.monotonic_ns() + 100 * MILLISECOND
        for process in processes.values():
            assert process.stdin is not None
            process.stdin.write(json.dumps({"epoch": arrivals[0].time, "start": start}) + "\n")
            process.stdin.flush()
        for process in processes.values():
            assert process.wait(PATIENCE_S) in (0, 3)
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()
    for output in plan.query.outputs:
        lines = (tmp_path / f"{output.name}.jsonl").read_text(encoding="utf-8").splitlines()
        found = sorted((tuple(json.loads(line)["row"].values()) for line in lines), key=repr)
        assert found == sorted(meant.outputs[output.name].rows, key=repr)
    sent = {
        node: json.loads((tmp_path / f"{node}.report.json").read_text(encoding="utf-8"))["sent"]
        for node in NODES
    }
    media = {bus.name: bus for bus in plan.vehicle.buses}
    counted = 0
    for crossing in {one.stream: one for one in plan.crossings}.values():
        frames = len(frame_times(crossing.size_bytes, media[crossing.hops[0].name]))
        counted += frames * sent[crossing.sender]
    told = [frame for frame in bus.frames if int.from_bytes(frame[:4], sys.byteorder) % 32 < 16]
    assert len(told) == counted > 0
