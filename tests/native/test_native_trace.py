"""The compiled scheduler in virtual time and the Python kernel: the same trace, event by event, the
same tuples at the same times, the same drops and counts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.engine import bursts, test_cores
from tests.engine import test_figure_6 as figure_6
from tests.engine.random_runs import PATTERNS, Shape, random_arrivals, random_query, random_vehicle
from tests.engine.reserving import small
from tests.engine.support import compiled
from tests.native.needed import needs_compiler, needs_sanitizers
from tests.native.trace_runs import Case, first_difference, native_lines, python_lines

from headway.engine.jobs import Arrival
from headway.errors import PlacementError
from headway.model.plan import Plan
from headway.native.toolchain import Mode

WINDOWS = ("filter", "map", "join", "aggregate", "aggregate", "gather")

pytestmark = needs_compiler


def check(cases: Sequence[Case], folder: Path, mode: Mode = Mode.DEBUG) -> None:
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
    check(given, tmp_path, Mode.SANITIZED)


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
        plan = bursts.safe_plan(draw)
        if plan is not None:
            given.append(Case(plan=plan, arrivals=bursts.arrivals_of(draw, plan.query)))
    source = bursts.sensor("s", 40, 10 * bursts.MS, delay=5 * bursts.MS, lateness=0)
    rows: list[object] = [(10_000 + number, number, float(number)) for number in range(40)]
    rows[3], rows[11], rows[20] = (10_003, "three", 3.0), None, (6_000, 20, 20.0)
    plan = bursts.chains((source, 3, 10 * bursts.US, 20 * bursts.MS))
    arrivals = [Arrival(11 * bursts.MS, "s", row) for row in rows]  # type: ignore[arg-type]
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


def test_reservations(tmp_path: Path) -> None:
    check(reserving(), tmp_path)


# -------------------------------------------------------------------- that this can fail


def test_the_comparison_sees_a_nanosecond_and_a_tuple() -> None:
    plan, arrivals = figure_6.plan(), list(figure_6.arrivals())
    same = python_lines(Case(plan=plan, arrivals=arrivals))
    assert python_lines(Case(plan=plan, arrivals=arrivals[:-1])) != same
    later = [*arrivals[:-1], arrivals[-1]._replace(time=arrivals[-1].time + 1)]
    assert python_lines(Case(plan=plan, arrivals=later)) != same
    assert python_lines(Case(plan=plan, arrivals=arrivals, policy="fifo+")) != same
