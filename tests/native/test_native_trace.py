"""The compiled scheduler in virtual time and the Python kernel: the same trace, event by event, the
same tuples at the same times, the same drops and counts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.engine import batching, test_cores
from tests.engine import test_figure_6 as figure_6
from tests.engine.random_runs import (
    PATTERNS,
    Shape,
    random_arrivals,
    random_query,
    random_vehicle,
    scaled,
)
from tests.engine.reserving import small, test_properties
from tests.engine.support import compiled
from tests.example_plans import example_plan
from tests.native.needed import needs_compiler, needs_sanitizers
from tests.native.trace_runs import Case, first_difference, native_lines, python_lines

from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.trace import EventKind
from headway.errors import HeadwayError, PlacementError
from headway.files import load_query
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Criticality
from headway.native.toolchain import BuildMode
from headway.sources.recordings import read_recording

WINDOWS = ("filter", "map", "join", "aggregate", "aggregate", "gather")
COLLISION_WARNING = Path(__file__).parents[2] / "examples" / "collision_warning"

pytestmark = needs_compiler


def check(cases: Sequence[Case], folder: Path, mode: BuildMode = BuildMode.DEBUG) -> None:
    compiled_runs = native_lines(cases, folder, mode=mode)
    for case, native in zip(cases, compiled_runs, strict=True):
        python = python_lines(case)
        assert python == native, first_difference(python, native)


# -------------------------------------------------------------------- random plans


def plans(seed: int, shape: Shape) -> Iterator[tuple[Plan, Sequence[Arrival]]]:
    draw = random.Random(seed)
    while True:
        query = random_query(draw, shape)
        try:
            plan = compiled(query, random_vehicle(draw, query, shape))
        except PlacementError:
            continue
        yield plan, random_arrivals(draw, query, draw.choice(PATTERNS))


def cases(seed: int, shape: Shape, count: int) -> list[Case]:
    """Several nodes, buses and policies; some on cores of their own, some where nothing costs."""
    policies = ("s-edf", "s-edf", "s-edf-primitive", "fifo+", "s-edf", "static", "op-edf")
    return [
        Case(
            plan=plan,
            arrivals=arrivals,
            policy=policies[number % len(policies)],
            charged=number % 8 != 7,
            partitioned=number % 3 == 0,
        )
        for number, (plan, arrivals) in zip(range(count), plans(seed, shape), strict=False)
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cores", [1, 2])
def test_random_plans(seed: int, cores: int, tmp_path: Path) -> None:
    shape = Shape(cores=cores)
    check(cases(7_000 + 10 * cores + seed, shape, 25), tmp_path)


@pytest.mark.parametrize("seed", range(2))
def test_random_plans_full_of_windows(seed: int, tmp_path: Path) -> None:
    check(cases(7_100 + seed, Shape(kinds=WINDOWS), 25), tmp_path)


@needs_sanitizers
def test_random_plans_under_sanitizers(tmp_path: Path) -> None:
    shape = Shape(cores=2)
    given = [*cases(7_200, Shape(kinds=WINDOWS), 12), *cases(7_201, shape, 12), *reserving()]
    check(given, tmp_path, BuildMode.SANITIZED)


# -------------------------------------------------------------------- the cases of other tests


def test_figure_6(tmp_path: Path) -> None:
    plan, arrivals = figure_6.plan(), figure_6.arrivals()
    policies = ("s-edf", "s-edf-primitive", "fifo+", "mc+", "static", "op-edf")
    check([Case(plan=plan, arrivals=arrivals, policy=one) for one in policies], tmp_path)


def test_several_cores(tmp_path: Path) -> None:
    given = []
    for cores in test_cores.CORES:
        for partitioned in (False, True):
            draw = random.Random(cores)
            plan, arrivals = test_cores.chains(draw, cores), test_cores.arrivals(draw)
            given.append(Case(plan=plan, arrivals=arrivals, partitioned=partitioned))
    check(given, tmp_path)


def test_bursts_and_what_is_malformed(tmp_path: Path) -> None:
    draw, given = random.Random(7), list[Case]()
    while len(given) < 12:
        plan = batching.safe_plan(draw)
        if plan is not None:
            given.append(Case(plan=plan, arrivals=batching.arrivals_of(draw, plan.query)))
    source = batching.sensor("s", 40, 10 * batching.MS, delay=5 * batching.MS, lateness=0)
    rows: list[object] = [(10_000 + number, number, float(number)) for number in range(40)]
    rows[3], rows[11], rows[20] = (10_003, "three", 3.0), None, (6_000, 20, 20.0)
    plan = batching.chains((source, 3, 10 * batching.US, 20 * batching.MS))
    arrivals = [Arrival(11 * batching.MS, "s", row) for row in rows]  # type: ignore[arg-type]
    check([*given, Case(plan=plan, arrivals=arrivals)], tmp_path)


def reserving() -> list[Case]:
    draw, given = random.Random(5), list[Case]()
    for text in (small.TWO_STEPS, small.CROSSING):
        plan = small.plan_of(text)
        for policy in ("rop-edf-1", "rop-edf-2"):
            for _ in range(4):
                arrivals = small.arrivals(
                    (draw.randint(0, 200) / 2, draw.choice(("radar", "v2v"))) for _ in range(60)
                )
                given.append(Case(plan=plan, arrivals=arrivals, policy=policy))
    return given


def random_reserving(count: int) -> Iterator[Case]:
    """Hard and soft outputs on several nodes, some sources beyond their rates."""
    draw, shape = random.Random(77), Shape()
    while count:
        query = scaled(random_query(draw, shape), 0.1)
        kinds = [draw.choice(tuple(Criticality)) for _ in query.outputs]
        pairs = zip(query.outputs, kinds, strict=True)
        outputs = tuple(replace(one, criticality=kind) for one, kind in pairs)
        query = replace(query, outputs=outputs)
        try:
            case = Case(
                plan=compiled(query, random_vehicle(draw, query, shape)),
                arrivals=random_arrivals(
                    draw, query, draw.choice(PATTERNS), beyond=draw.choice((1, 3, 8))
                ),
                policy=("rop-edf-1", "rop-edf-2")[count % 2],
            )
            Engine(plan=case.plan, policy=case.policy)
        except HeadwayError:
            continue  # no way between nodes, or hard tasks that do not fit
        count -= 1
        yield case


def test_reservations(tmp_path: Path) -> None:
    pairs = zip(test_properties.cases(12), ("rop-edf-1", "rop-edf-2") * 6, strict=True)
    chains = [Case(plan=plan, arrivals=all_, policy=policy) for (plan, all_, _), policy in pairs]
    given = [*reserving(), *chains, *random_reserving(12)]
    check(given, tmp_path)
    kinds = {line.split("|")[1] for case in given for line in python_lines(case)}
    told = {str(int(kind)) for kind in (EventKind.OVERRUN, EventKind.REPLENISH, EventKind.SHED)}
    assert told <= kinds  # there was something to compare


def test_the_collision_warning(tmp_path: Path) -> None:
    """Three ECUs and one, over the recorded drive of the example."""
    query = load_query(COLLISION_WARNING / "query.yaml").query
    recording = read_recording(COLLISION_WARNING / "recording", query.sources, None)
    arrivals = [Arrival(at * MICROSECOND, source, row) for at, source, row, _ in recording]
    given = []
    for name in ("vehicle.yaml", "one_ecu.yaml"):
        plan = example_plan("collision_warning", name)
        policies = ("s-edf", "fifo+")
        given += [Case(plan=plan, arrivals=arrivals, policy=policy) for policy in policies]
    check(given, tmp_path)


# -------------------------------------------------------------------- that this can fail


def test_the_comparison_sees_a_nanosecond_and_a_tuple() -> None:
    plan, arrivals = figure_6.plan(), list(figure_6.arrivals())
    same = python_lines(Case(plan=plan, arrivals=arrivals))
    assert python_lines(Case(plan=plan, arrivals=arrivals[:-1])) != same
    later = [*arrivals[:-1], arrivals[-1]._replace(time=arrivals[-1].time + 1)]
    assert python_lines(Case(plan=plan, arrivals=later)) != same
    assert python_lines(Case(plan=plan, arrivals=arrivals, policy="fifo+")) != same
