"""Switched off, the fast path (lanes, whole trains at once, jumps over quiet instants, windows
looked at only when due) leaves the same run: every step, tuple and number, to the nanosecond."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import pytest
from tests.engine import batching, test_cores, test_meaning
from tests.engine import test_figure_6 as figure_6
from tests.engine.bounds import random_plan
from tests.engine.random_runs import PATTERNS, Shape, random_arrivals, random_query, random_vehicle
from tests.engine.reserving import small
from tests.engine.support import compiled, run, steps_of

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.errors import InputError, PlacementError
from headway.model.plan import Plan
from headway.schedule.online import ENGINE_POLICIES, POLICIES

Case = tuple[Plan, Sequence[Arrival]]


def seen(result: RunResult) -> object:
    outputs = {name: (one.rows, one.completed) for name, one in result.outputs.items()}
    kernel = result.kernel
    counts = (kernel.decisions, kernel.preemptions, kernel.timeouts, kernel.refused, kernel.now)
    return outputs, result.side.dropped, counts, steps_of(result)


def compare(case: Case, policy: str, *, charged: bool = True, partitioned: bool = False) -> int:
    """Runs the case with and without; gives how many events the fast path saved."""
    plan, arrivals = case
    fast, slow = (
        run(plan, arrivals, policy, charged=charged, partitioned=partitioned, fast_path=fast_path)
        for fast_path in (True, False)
    )
    assert seen(fast) == seen(slow)
    return len(slow.trace.events) - len(fast.trace.events)


# -------------------------------------------------------------------- random plans


def cases(seed: int, shape: Shape, count: int = 15) -> Iterator[Case]:
    draw = random.Random(seed)
    found = 0
    while found < count:
        query = random_query(draw, shape)
        try:
            plan = compiled(query, random_vehicle(draw, query, shape))
        except PlacementError:
            continue
        found += 1
        yield plan, random_arrivals(draw, query, draw.choice(PATTERNS))


@pytest.mark.parametrize("charged", [True, False])
@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_random_plans(seed: int, cores: int, charged: bool) -> None:
    names = ("s-edf", "s-edf", "s-edf-primitive", "fifo+")
    for number, case in enumerate(cases(seed, Shape(cores=cores))):
        partitioned = number % 3 == 0
        compare(case, names[number % 4], charged=charged, partitioned=partitioned)


@pytest.mark.parametrize("charged", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_random_plans_full_of_windows(seed: int, charged: bool) -> None:
    shape = Shape(kinds=("filter", "map", "join", "aggregate", "aggregate", "gather"))
    for case in cases(100 + seed, shape):
        compare(case, "s-edf", charged=charged)


# -------------------------------------------------------------------- the cases of other tests


@pytest.mark.parametrize("policy", POLICIES)
def test_the_cases_of_determinism(policy: str) -> None:
    for seed in range(900_000, 900_006):
        made = random_plan(seed, Shape(), patterns=("mixed",))
        if made is not None:
            plan, ((_, given),) = made
            compare((plan, given), policy)


@pytest.mark.parametrize("policy", ["s-edf", "fifo+"])
def test_figure_6(policy: str) -> None:
    compare((figure_6.plan(), figure_6.arrivals()), policy)


def test_the_cases_of_the_meaning() -> None:
    for seed in range(100, 130):
        query, given = test_meaning.random_case(seed, Shape())
        compare((compile_query(query), given), "s-edf", charged=False)


def test_the_cases_of_several_cores() -> None:
    for cores in test_cores.CORES:
        for partitioned in (False, True):
            draw = random.Random(cores)
            case = test_cores.chains(draw, cores), test_cores.arrivals(draw)
            compare(case, "s-edf", partitioned=partitioned)


def bursts(seed: int) -> Iterator[Case]:
    draw = random.Random(seed)
    while True:
        plan = batching.safe_plan(draw)
        if plan is not None:
            yield plan, batching.arrivals_of(draw, plan.query)


def malformed_and_late() -> Case:
    source = batching.sensor("s", 40, 10 * batching.MS, delay=5 * batching.MS, lateness=0)
    rows: list[object] = [(10_000 + number, number, float(number)) for number in range(40)]
    rows[3], rows[11], rows[20] = (10_003, "three", 3.0), None, (6_000, 20, 20.0)
    plan = batching.chains((source, 3, 10 * batching.US, 20 * batching.MS))
    return plan, [Arrival(11 * batching.MS, "s", row) for row in rows]  # type: ignore[arg-type]


def test_the_cases_of_batches_run_one_by_one() -> None:
    saved = 0
    for _, case in zip(range(25), bursts(7), strict=False):
        saved += compare(case, "s-edf")
    assert saved > 0
    compare(malformed_and_late(), "s-edf")


@pytest.mark.parametrize("policy", [name for name in ENGINE_POLICIES if name not in POLICIES])
@pytest.mark.parametrize("text", [small.TWO_STEPS, small.CROSSING])
def test_the_cases_of_reservations(text: str, policy: str) -> None:
    given = [(0.0, "radar"), (0.0, "v2v"), (1.0, "v2v"), (20.0, "radar"), (21.0, "v2v")]
    case = small.plan_of(text), small.arrivals(given)
    compare(case, policy)


# -------------------------------------------------------------------- that this can fail


def changed(edit: Callable[[list[Arrival]], None]) -> object:
    plan, arrivals = next(bursts(7))
    listed = list(arrivals)
    edit(listed)
    return seen(run(plan, listed, fast_path=False))


def test_the_comparison_sees_a_tuple_and_a_nanosecond() -> None:
    def later(listed: list[Arrival]) -> None:
        listed[-1] = listed[-1]._replace(time=listed[-1].time + 1)

    same = changed(lambda listed: None)
    assert changed(lambda listed: None) == same
    assert changed(list.pop) != same  # type: ignore[arg-type]
    assert changed(later) != same


def test_batches_are_a_part_of_it() -> None:
    plan, arrivals = next(bursts(7))
    with pytest.raises(InputError, match="batches are a part of the fast path"):
        Engine(plan=plan, batching=True, fast_path=False).run(arrivals)
