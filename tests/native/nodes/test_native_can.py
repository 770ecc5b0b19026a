"""Tuples on a CAN bus: split as the plan counts them, joined again, losses counted. A pair of
sockets stands for the bus; SocketCAN itself needs a kernel that has it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.native.needed import needs_compiler
from tests.native.nodes.compiled_tests import compiled

from headway.model.schema import schema
from headway.model.vehicle import Bus, BusKind, frame_times
from headway.native.toolchain import BuildMode

SAMPLE = schema(
    flag="boolean", whole="int", large="bigint", single="float", real="double", text="string(8)",
    moment="timestamp",
)  # fmt: skip
RANK, IDENTIFIERS = 5, 32


@needs_compiler
def test_tuples_are_split_and_joined(tmp_path: Path) -> None:
    program = compiled("can_stories.cpp", tmp_path, mode=BuildMode.DEBUG)
    ran = subprocess.run([program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    classic, fast, torn, torn_fast = map(json.loads, ran.stdout.splitlines())
    for told, kind in ((classic, BusKind.CAN), (fast, BusKind.CAN_FD)):
        bus = Bus(name="bus", kind=kind, bit_rate=500_000, nodes=("a", "b"))
        counted = len(frame_times(SAMPLE.size_bytes, bus))
        assert len(told["lengths"]) == counted
        assert told["frames"] == counted * told["sent"]
        assert told["came"] == told["sent"]
        assert told["faults"] == 0
        assert RANK * IDENTIFIERS <= told["identifier"] < RANK * IDENTIFIERS + 8
    assert sum(classic["lengths"]) == SAMPLE.size_bytes
    for told in (torn, torn_fast):
        assert 0 < told["came"] < told["sent"]
        assert told["faults"] > 0
    # Of single frames each is a tuple, and the numbers tell of all that are lost, by eights.
    assert torn_fast["sent"] - torn_fast["came"] == torn_fast["lost"]
    assert torn_fast["faults"] == torn_fast["lost"]
    for told in (classic, fast, torn, torn_fast):
        assert told["right"] is True
        assert (told["marks"], told["mark"], told["ends"]) == (1, 1234, 1)
