"""Programs for ARM give the tuples of the Python engine, in qemu: nodes, schedules, expressions.

Nothing here hangs on how fast the emulator is: a node without windows gives the same tuples however
late it is, and all else runs in virtual time."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES
from tests.expressions.grammar import COLUMNS
from tests.native.cpp_compiler import pack_rows
from tests.native.expression_program import (
    Question,
    disagreements,
    questions,
    read_answers,
    source_of,
)
from tests.native.needed import emulator_of, needs_zig
from tests.native.test_edge_values import (
    NEAR_ONE_REAL,
    NEAR_TWO_REALS,
    edge_rows,
    exact_texts,
    listed,
)
from tests.native.trace_runs import Case, first_difference, native_lines, python_lines

from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.nodes.executables import slices_of
from headway.engine.nodes.native_recording import write_arrivals
from headway.front_door.compiling import compile
from headway.model.quantities import MICROSECOND
from headway.native.cpp_types import row_struct
from headway.native.native_build import build_car
from headway.native.toolchain import (
    RUNTIME,
    BuildMode,
    Target,
    compile_program,
    find_toolchain,
)
from headway.sources.recordings import RecordedArrival, read_recording

pytestmark = needs_zig
ARM = [Target.AARCH64, Target.ARMV7]
HELLO, COLLISION_WARNING = EXAMPLES / "hello", EXAMPLES / "collision_warning"
START = 1_700_000_000_000_000
FIRST_US = 1_000_000
"""so much of the recorded drive"""
ULPS = {"cbrt": 4, "log10": 2}
"""how far musl, the C library of these programs, is from the one of this machine: measured over
random numbers of all sizes; 1 where nothing else is said"""


@pytest.mark.parametrize("target", ARM)
def test_a_node(target: Target, tmp_path: Path) -> None:
    """The process as it would run on the board, over a recording."""
    emulator = emulator_of(target)
    plan = compile(HELLO / "query.yaml", HELLO / "vehicle.yaml").plan
    build_car(plan, tmp_path / "car", targets={"ecu": target})
    rows = [(START + 10_000 * place, 25.0 + place / 3) for place in range(40)]
    arrivals = [RecordedArrival(row[0], "speed", row, None) for row in rows]
    (part,) = slices_of(plan)
    write_arrivals(part, arrivals, tmp_path / "ecu.rows")
    ran = subprocess.run(
        [
            emulator,
            tmp_path / "car" / "ecu" / "bin" / "ecu",
            *("--input", tmp_path / "ecu.rows"),
            *("--output", tmp_path),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, 3), ran.stderr  # 3: an emulator may miss a deadline
    meant = Engine(plan=plan, charged=False).run(
        [Arrival(row[0] * MICROSECOND, "speed", row) for row in rows]
    )
    lines = (tmp_path / "alarm.jsonl").read_text(encoding="utf-8").splitlines()
    found = [tuple(json.loads(line)["row"].values()) for line in lines]
    assert found == meant.outputs["alarm"].rows
    assert 0 < len(found) < len(rows)
    report = json.loads((tmp_path / "ecu.report.json").read_text(encoding="utf-8"))
    assert (report["arrived"], report["no_room"]) == (len(rows), 0)


def test_the_collision_warning_in_virtual_time(tmp_path: Path) -> None:
    """Event by event, on the target with words of 32 bits: three ECUs, their buses, the fusion."""
    emulator_of(Target.ARMV7)
    plan = compile(COLLISION_WARNING / "query.yaml", COLLISION_WARNING / "vehicle_modern.yaml").plan
    recording = list(read_recording(COLLISION_WARNING / "recording", plan.query.sources, None))
    arrivals = [
        Arrival(at * MICROSECOND, source, row)
        for at, source, row, _ in recording
        if at < recording[0][0] + FIRST_US
    ]
    case = Case(plan=plan, arrivals=arrivals)
    (native,) = native_lines([case], tmp_path, mode=BuildMode.RELEASE, target=Target.ARMV7)
    python = python_lines(case)
    outputs = {line.split("|")[1] for line in python if line.startswith("output|")}
    assert outputs == {output.name for output in plan.query.outputs}
    assert python == native, first_difference(python, native)


def test_every_function_of_expressions(tmp_path: Path) -> None:
    target = Target.ARMV7
    emulator = emulator_of(target)
    near = [
        question
        for text in (*listed(NEAR_ONE_REAL), *listed(NEAR_TWO_REALS))
        for question in questions([text], COLUMNS, ulps=ulps_of(text))
    ]
    asked: list[Question] = [*questions(exact_texts(), COLUMNS), *near]
    rows, struct = edge_rows(), row_struct("Row", COLUMNS)
    (tmp_path / "main.cpp").write_text(source_of(asked, struct), encoding="utf-8")
    program = compile_program(
        [tmp_path / "main.cpp"], tmp_path / "main", find_toolchain(target), include=[RUNTIME]
    )
    ran = subprocess.run(
        [emulator, program.path], input=pack_rows(rows, struct), capture_output=True, check=True
    )
    given = read_answers(asked, rows, struct, ran.stdout)
    wrong = list(disagreements(asked, rows, COLUMNS, given))
    assert not wrong, f"{len(wrong)} of {len(asked)}:\n\n" + "\n\n".join(wrong[:5])


def ulps_of(text: str) -> int:
    return next((ulps for name, ulps in ULPS.items() if name in text), 1)
