"""Runs plans in the Python kernel and compiled, many plans in one program, and gives what happened
in both as the same lines."""

from __future__ import annotations

import os
import struct
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from tests.engine.support import run
from tests.native.needed import host
from tests.native.row_layouts import layout_of

from headway.engine.jobs import Arrival
from headway.engine.kernel import Kernel
from headway.engine.operators.operator_base import DropKind
from headway.engine.results import RunResult
from headway.model.operators import UserDefined
from headway.model.plan import Plan
from headway.model.query import Step
from headway.model.schema import Schema
from headway.model.user_operator import Row
from headway.native.arrow_rows import RowLayout, rows_of_tuples, tuples_of_rows
from headway.native.cpp_program import write_program
from headway.native.program_layout import ProgramLayout, vehicle_layout
from headway.native.toolchain import BuildMode, Family, Target, compile_program, find_toolchain

HERE = Path(__file__).parent
RUNTIME = Path(__file__).parents[2] / "src/headway/native/runtime"
KINDS = (DropKind.LATE, DropKind.FAILED, DropKind.REJECTED, DropKind.SHED)
"""as the runtime numbers them"""
MALFORMED = 0x8000
QUICKLY_COMPILED = ("-O0", "-g0")
"""after the flags of a mode: most of the time goes into compiling (ziglang would begin with its
libraries)"""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A plan and how it is run."""

    plan: Plan
    arrivals: Sequence[Arrival]
    policy: str = "s-edf"
    charged: bool = True
    partitioned: bool = False

    def to_compile(self, name: str) -> Case:
        """The same plan of a query of that name, that of a namespace; with classes in C++."""
        steps = tuple(map(_with_native, self.plan.query.steps))
        query = replace(self.plan.query, name=name, steps=steps)
        return replace(self, plan=replace(self.plan, query=query))


def _with_native(step: Step) -> Step:
    """A test's own operator has a twin of the same name."""
    if not isinstance(step, UserDefined) or step.implementation is None or step.native is not None:
        return step
    name = step.implementation.partition(":")[2]
    return replace(step, native=f"tests/native/random_users.hpp:random_users::{name}")


# -------------------------------------------------------------------- the Python kernel


def python_lines(case: Case, *, fast_path: bool = True) -> list[str]:
    result = run(
        case.plan,
        case.arrivals,
        case.policy,
        charged=case.charged,
        partitioned=case.partitioned,
        fast_path=fast_path,
    )
    return [
        *("event|" + "|".join(map(_told, event)) for event in result.trace.events),
        *_outputs(case, result),
        *_dropped(result),
        *_counts(result),
    ]


def _told(value: object) -> str:
    return str(int(value)) if isinstance(value, int) else str(value)


def _outputs(case: Case, result: RunResult) -> list[str]:
    layouts = _layouts(case)
    lines = []
    for name, record in sorted(result.outputs.items()):
        schema, layout = layouts[name]
        # There and back: values as the columns hold them.
        rows = tuples_of_rows(rows_of_tuples(record.rows, schema, layout), layout)
        pairs = zip(rows, record.completed, strict=True)
        lines += [f"output|{name}|{completed}|{row!r}" for row, completed in pairs]
    return lines


def _layouts(case: Case) -> dict[str, tuple[Schema, RowLayout]]:
    """By output."""
    schemas = dict(case.plan.schemas)
    found = {output.name: schemas[output.stream] for output in case.plan.query.outputs}
    return {name: (schema, layout_of(schema)) for name, schema in found.items()}


def _dropped(result: RunResult) -> list[str]:
    ports = {
        name: {one.port: place for place, one in enumerate(operator.inputs)}
        for name, operator in _kernel(result).program.graph.operators.items()
    }
    lines = []
    for now, one in result.side.dropped:
        port = 255 if not one.port else ports[one.where][one.port]
        malformed = one.kind is DropKind.REJECTED and not one.reason.startswith("beyond")
        timestamp = -1 if malformed else one.row[0]  # it has no row in C++
        lines.append(f"drop|{one.where}|{KINDS.index(one.kind)}|{now}|{timestamp}|{port}")
    return lines


def _kernel(result: RunResult) -> Kernel:
    kernel = result.kernel
    assert isinstance(kernel, Kernel)
    return kernel


def _counts(result: RunResult) -> list[str]:
    kernel = _kernel(result)
    numbers = (
        kernel.arrived, kernel.decisions, kernel.preemptions, kernel.timeouts, kernel.refused,
        kernel.now, 0,
    )  # fmt: skip
    lines = ["counts|" + "|".join(map(str, numbers))]
    for name, ingest in kernel.ingests.items():
        lines.append(f"beyond|{name}|{ingest.watch.beyond if ingest.watch else 0}")
    consumed, produced = Counter(kernel.consumed), Counter(kernel.produced)
    for unit in kernel.program.units:
        for index, name in enumerate(unit.operators):
            consumed[name] += sum(unit.ran[index + 1 :])
            if index + 1 < len(unit.operators):
                produced[name] += sum(unit.ran[index + 2 :])
    names = sorted(kernel.program.graph.operators)
    return lines + [f"ran|{name}|{consumed[name]}|{produced[name]}" for name in names]


# -------------------------------------------------------------------- compiled


def write_arrivals(case: Case, path: Path) -> None:
    sources = list(case.plan.query.sources)
    places = {source.name: place for place, source in enumerate(sources)}
    parts = []
    for time, name, row in case.arrivals:
        schema = sources[places[name]].schema
        try:
            (laid_out,) = rows_of_tuples([row], schema, layout_of(schema))
        except (TypeError, ValueError):
            parts.append(struct.pack("<qH", time, places[name] | MALFORMED))
            continue
        parts.append(struct.pack("<qH", time, places[name]) + laid_out.tobytes())
    path.write_bytes(b"".join(parts))


def native_lines(
    cases: Sequence[Case],
    folder: Path,
    *,
    mode: BuildMode = BuildMode.DEBUG,
    target: Target = Target.NATIVE,
) -> list[list[str]]:
    """Compiles all cases as one program, and runs it: the lines of each, as of the Python
    kernel."""
    told = told_by(cases, folder, mode=mode, target=target, definitions=["HEADWAY_GROWS"])
    return [_in_order(case, lines) for case, lines in zip(cases, told, strict=True)]


def _vehicle(case: Case) -> ProgramLayout:
    return vehicle_layout(
        case.plan, case.policy, charged=case.charged, partitioned=case.partitioned
    )


def told_by(
    cases: Sequence[Case],
    folder: Path,
    *,
    mode: BuildMode = BuildMode.DEBUG,
    target: Target = Target.NATIVE,
    definitions: Sequence[str] = (),
    layout_of_case: Callable[[Case], ProgramLayout] = _vehicle,
    header: str = "trace_driver.hpp",
    call: str = "driver::run",
) -> list[list[str]]:
    """All that the compiled cases tell, in its order; ``call`` of the header runs each. A program
    for another ``target`` runs in its emulator."""
    includes, calls = [f'#include "{header}"'], []
    for number, unnamed in enumerate(cases):
        case = unnamed.to_compile(f"plan_{number}")
        written = write_program(layout_of_case(case))
        home = folder / f"plan_{number}"
        home.mkdir(parents=True)
        for name, text in written.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        write_arrivals(case, home / "arrivals")
        includes.append(f'#include "plan_{number}/program.hpp"')
        space = written.namespace
        calls.append(
            f"  {call}({space}::PROGRAM, {space}::OPERATOR_BYTES, "
            f'"plan_{number}/arrivals", "plan_{number}/told");'
        )
    text = "\n".join([*includes, "", "int main() {", *calls, "}", ""])
    (folder / "main.cpp").write_text(text)
    toolchain = host() if target is Target.NATIVE else find_toolchain(target)
    compile_program(
        [folder / "main.cpp"],
        folder / "main",
        toolchain,
        mode=mode,
        include=[RUNTIME, HERE, folder],
        definitions=definitions,
        extra=() if toolchain.family is Family.ZIG else QUICKLY_COMPILED,
    )
    # What a program lays out lives as long as its process: no leak.
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    emulated = [] if target.emulator is None else [target.emulator]
    done = subprocess.run(
        [*emulated, folder / "main"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [
        (folder / f"plan_{number}" / "told").read_text().splitlines()
        for number in range(len(cases))
    ]


def _in_order(case: Case, lines: Sequence[str]) -> list[str]:
    """As :func:`python_lines` has them: the events, the outputs one after the other, the drops, the
    counts (an operator of several trains once)."""
    events = [line for line in lines if line.startswith("event|")]
    drops = [line for line in lines if line.startswith("drop|")]
    by_output: dict[str, list[str]] = {}
    for name, completed, _, row in outputs_of(case, lines):
        by_output.setdefault(name, []).append(f"output|{name}|{completed}|{row!r}")
    counts = [line for line in lines if line.startswith(("counts|", "beyond|"))]
    ran: dict[str, tuple[int, int]] = {}
    for line in lines:
        if line.startswith("ran|"):
            _, name, consumed, produced = line.split("|")
            before = ran.get(name, (0, 0))
            ran[name] = (before[0] + int(consumed), before[1] + int(produced))
    return [
        *events,
        *(line for name in sorted(by_output) for line in by_output[name]),
        *drops,
        *counts,
        *(f"ran|{name}|{ran[name][0]}|{ran[name][1]}" for name in sorted(ran)),
    ]


def outputs_of(case: Case, lines: Sequence[str]) -> Iterator[tuple[str, int, bool, Row]]:
    """(output, completed, late, row), in the order in which they came."""
    layouts = _layouts(case)
    for line in lines:
        if line.startswith("output|"):
            _, name, completed, late, row_bytes = line.split("|")
            layout = layouts[name][1]
            (row,) = tuples_of_rows(np.frombuffer(bytes.fromhex(row_bytes), layout.dtype), layout)
            yield name, int(completed), late == "1", row


def first_difference(left: Sequence[str], right: Sequence[str]) -> str:
    """Where two runs part, for a message."""
    for place, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            before = "\n".join(left[max(0, place - 5) : place])
            return f"after\n{before}\nPython {one}\nnative {other}"
    return f"{len(left)} lines of Python, {len(right)} native; the last: {[*left, *right][-1]}"
