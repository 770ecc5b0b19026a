"""Speeds of compiled programs: five stream programs, scheduling decisions, simulated jobs.

A run is measured inside the library: tuples lie ready as structs, every one is scheduled, outputs
are counted. Times are of the processor, and of several runs the median counts.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import median
from time import process_time

import numpy as np
import stream_plans
from engine_decisions import TRAINS, trains_plan
from engine_edf import TASKS, tasks_plan
from stream_cases import results_of

from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.errors import HeadwayError
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, SECOND
from headway.native.arriving_rows import ArrivingTable, Entrances
from headway.native.compiled_program import CompiledProgram, vehicle_program
from headway.native.cpp_program import write_program
from headway.native.library import Keeps, NativeArrivals
from headway.native.native_engine import NativeEngine
from headway.native.source_files import write_tree
from headway.native.toolchain import RUNTIME, compile_program, find_toolchain

HERE = Path(__file__).resolve().parent


def seconds_of(
    program: CompiledProgram, arrivals: NativeArrivals, keeps: Keeps, repeats: int
) -> tuple[float, int]:
    """CPU seconds of the median run, and the results of all outputs."""
    found = []
    for _ in range(repeats):
        with program.load() as library:
            library.start(keeps)
            pieces = iter([arrivals])
            start = process_time()
            library.run(pieces)
            found.append(process_time() - start)
            counts = library.counts()
    return median(found), counts.results


def laid_out(program: CompiledProgram, tables: dict[str, ArrivingTable]) -> NativeArrivals:
    with program.load() as library:
        entrances = Entrances(program.graph.sources.values(), library.layouts)
        return entrances.of_tables(tables)


# ---------------------------------------------------------------- five programs


def native_speeds(case: str, tuples: int, repeats: int) -> dict[str, float]:
    """Tuples per CPU second: counted, kept as rows, and from Arrow tables to Python tuples."""
    plan = stream_plans.PLANS[case]()
    program = vehicle_program(plan)
    tables = stream_plans.tables_of(plan, case, tuples)
    arrivals = laid_out(program, tables)
    found = {}
    for what, keeps in {"native": Keeps(0), "native, rows kept": Keeps.OUTPUTS}.items():
        seconds, out = seconds_of(program, arrivals, keeps, repeats)
        assert out == results_of(case, tuples), (case, out)
        found[what] = tuples / seconds
    start = process_time()
    result = NativeEngine(plan=plan, keep_trace=False).run_tables(tables)
    found["native, tables to tuples"] = tuples / (process_time() - start)
    assert sum(map(len, result.outputs.values())) == results_of(case, tuples)
    return found


def python_speed(case: str, tuples: int, repeats: int) -> float:
    """The Python engine, each tuple scheduled."""
    plan, arrivals = stream_plans.PLANS[case](), stream_plans.arrivals_of(case, tuples)
    found = []
    for _ in range(repeats):
        engine = Engine(plan=plan, keep_trace=False)
        start = process_time()
        result = engine.run(arrivals)
        found.append(process_time() - start)
    assert sum(map(len, result.outputs.values())) == results_of(case, tuples), case
    return tuples / median(found)


class BareLoop:
    """``bare_loop.cpp``, compiled as the programs are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._plain = self._compiled("plain", {}, ())

    def _compiled(self, name: str, files: dict[str, str], definitions: tuple[str, ...]) -> Path:
        folder = self._folder / name
        write_tree(folder, {**files, "bare_loop.cpp": (HERE / "bare_loop.cpp").read_text()})
        made = compile_program(
            [Path("bare_loop.cpp")],
            self._folder / f"bare_{name}",
            find_toolchain(),
            include=(Path(), RUNTIME),
            definitions=definitions,
            folder=folder,
        )
        return made.path

    def speed(self, case: str, tuples: int, repeats: int) -> float:
        program = self._plain
        if case == "fusion":
            layout = vehicle_program(stream_plans.PLANS[case]()).layout
            files = dict(write_program(layout).files)
            program = self._compiled("fusion", files, ("WITH_FUSION", "HEADWAY_GROWS"))
        done = subprocess.run(
            [str(program), case, str(tuples), str(repeats)],
            check=True,
            capture_output=True,
            text=True,
        )
        found = json.loads(done.stdout)
        assert found["out"] == results_of(case, tuples), found
        return float(tuples / median(found["seconds"]))


def bare_loop() -> BareLoop:
    return BareLoop(Path(tempfile.mkdtemp(prefix="headway-bare-")))


def can_be_compiled(case: str) -> str:
    """Nothing, or why this case has no native program."""
    try:
        vehicle_program(stream_plans.PLANS[case]())
    except HeadwayError as error:
        return str(error)
    return ""


# ---------------------------------------------------------------- decisions


def decision_ns(queued: int, decisions: int, repeats: int) -> tuple[float, float]:
    """Nanoseconds of a tuple's whole way when so many wait with it (it arrives, gets its place in
    the queue, is chosen, its train runs, a filter that passes nothing, its job ends); and what is
    left of it without the way of one that finds the node idle: the decision."""
    trains = min(queued, TRAINS)
    program = vehicle_program(trains_plan(trains))
    found = []
    for burst in (queued, 1):
        arrivals = laid_out_tuples(program, list(_bursts(burst, trains, decisions)))
        seconds, out = seconds_of(program, arrivals, Keeps(0), repeats)
        assert out == 0
        found.append(seconds / len(arrivals) * 1e9)
    whole, alone = found
    return whole, whole - alone


def _bursts(queued: int, trains: int, decisions: int) -> Iterator[Arrival]:
    """As in ``engine_decisions.py``: so many at one instant, with deadlines in no order."""
    draw = Random(queued)
    for number in range(1, max(2, decisions // queued) + 1):
        for _ in range(queued):
            timestamp = number * 1_000_000 - draw.randrange(100_000)
            yield Arrival(number * SECOND, f"s{draw.randrange(trains)}", (timestamp, 1.0, 1))


def laid_out_tuples(program: CompiledProgram, arrivals: list[Arrival]) -> NativeArrivals:
    with program.load() as library:
        entrances = Entrances(program.graph.sources.values(), library.layouts)
        return entrances.laid_out(arrivals)


# ---------------------------------------------------------------- simulation


def simulated_jobs(length: int, repeats: int) -> tuple[float, dict[str, list[float]]]:
    """The task set of ``engine_edf.py`` for so many ms, trace kept, as SimSo keeps its own: jobs
    per CPU second, and the ends of all jobs (ms) by task."""
    plan = tasks_plan(preemptive=True)
    program = vehicle_program(plan)
    releases = [
        Arrival(time * MILLISECOND, task.name, (time * 1000, 1.0, 1))
        for task in TASKS
        for time in range(task.phase, length, task.period)
    ]
    releases.sort(key=lambda arrival: arrival.time)
    arrivals = laid_out_tuples(program, releases)
    seconds, out = seconds_of(program, arrivals, Keeps.OUTPUTS | Keeps.TRACE, repeats)
    assert out == len(releases)
    return len(releases) / seconds, _ends(plan, program, arrivals)


def _ends(plan: Plan, program: CompiledProgram, arrivals: NativeArrivals) -> dict[str, list[float]]:
    with program.load() as library:
        library.start(Keeps.OUTPUTS)
        library.run(iter([arrivals]))
        return {
            task.name: (library.output_rows(place).completed / np.int64(MILLISECOND)).tolist()
            for place, task in enumerate(TASKS)
            if plan.query.outputs[place].name == f"out_{task.name}"
        }
