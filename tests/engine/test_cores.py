"""Several cores: global (one queue) and partitioned (a core for each unit)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from tests.compiler.build import one_node, query_of
from tests.engine.kernels import kernel_of
from tests.engine.support import Slot, compiled, in_order, run, slots_of

from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Rate
from headway.schedule.online import POLICIES

CORES = (1, 2, 3, 4)
MS = MILLISECOND


def chains(draw: random.Random, cores: int, tasks: int = 6) -> Plan:
    """Independent chains of one to three operators."""
    streams: list[tuple[str, str]] = []
    costs: dict[str, int] = {}
    deadlines: dict[str, int] = {}
    for task in range(tasks):
        operators = [f"t{task}_{i}" for i in range(draw.randint(1, 3))]
        streams += pairwise([f"s{task}", *operators, f"out{task}"])
        costs |= {name: draw.randint(1, 5) * 100 * MICROSECOND for name in operators}
        deadlines[f"out{task}"] = draw.randint(2, 30) * MS
    rates = {f"s{task}": Rate(1, SECOND) for task in range(tasks)}
    query = query_of(streams, deadlines, costs=costs, rates=rates)
    return compiled(query, one_node(query, cores=cores))


def arrivals(draw: random.Random, tasks: int = 6, count: int = 60) -> Sequence[Arrival]:
    found = []
    for number in range(count):
        time = draw.randint(0, 100) * 100 * MICROSECOND
        row = (time // MICROSECOND, float(number))
        found.append(Arrival(time, f"s{draw.randrange(tasks)}", row))
    return in_order(found)


def overlaps(slots: Sequence[Slot]) -> list[tuple[Slot, Slot]]:
    """Neighbours in time of which the second starts before the first ends."""
    ordered = sorted(slots)
    return [(one, two) for one, two in pairwise(ordered) if two.start < one.end]


def by(slots: Sequence[Slot], what: str) -> dict[object, list[Slot]]:
    found: dict[object, list[Slot]] = {}
    for slot in slots:
        found.setdefault(getattr(slot, what), []).append(slot)
    return found


def idle_while_ready(result: RunResult, given: Sequence[Arrival], cores: int) -> list[int]:
    """Instants at which a core is idle while a job waits. In independent trains a job is a tuple:
    those that have come and are neither done nor running wait."""
    slots = slots_of(result)
    ends = [max(slot.end for slot in own) for own in by(slots, "job").values()]
    wrong = []
    for now in sorted({slot.start for slot in slots} | {slot.end for slot in slots}):
        running = sum(slot.start <= now < slot.end for slot in slots)
        come = sum(arrival.time <= now for arrival in given)
        waiting = come - sum(end <= now for end in ends) - running
        if running < cores and waiting > 0:
            wrong.append(now)
    return wrong


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("cores", CORES)
@pytest.mark.parametrize("partitioned", [False, True])
def test_one_core_one_operator_one_job_one_core(cores: int, partitioned: bool, policy: str) -> None:
    draw = random.Random(cores)
    plan, given = chains(draw, cores), arrivals(draw)
    result = run(plan, given, policy, partitioned=partitioned)
    slots = slots_of(result)
    for place in by(slots, "place").values():
        assert overlaps(place) == []
    assert sum(len(record) for record in result.outputs.values()) == len(given)
    if policy == "s-edf":  # a job is a tuple's whole way
        for job in by(slots, "job").values():
            assert overlaps(job) == []
    assert len(by(slots, "place")) <= cores


@pytest.mark.parametrize("cores", CORES)
@pytest.mark.parametrize("seed", range(5))
def test_global_never_idles_while_a_job_is_ready(seed: int, cores: int) -> None:
    draw = random.Random(seed)
    plan, given = chains(draw, cores), arrivals(draw)
    result = run(plan, given)
    assert len({slot.place for slot in slots_of(result)}) == cores
    assert idle_while_ready(result, given, cores) == []


def test_the_check_for_idling_can_fail() -> None:
    """Partitioned, a core idles while another has jobs waiting."""
    seen = 0
    for seed in range(5):
        draw = random.Random(seed)
        plan, given = chains(draw, 3), arrivals(draw)
        seen += bool(idle_while_ready(run(plan, given, partitioned=True), given, 3))
    assert seen >= 3


@pytest.mark.parametrize("cores", CORES[1:])
@pytest.mark.parametrize("seed", range(5))
def test_partitioned_units_stay_on_their_core(seed: int, cores: int) -> None:
    draw = random.Random(seed)
    plan, given = chains(draw, cores), arrivals(draw)
    slots = slots_of(run(plan, given, partitioned=True))
    places = {unit: {slot.place for slot in own} for unit, own in by(slots, "unit").items()}
    assert all(len(where) == 1 for where in places.values())
    assert len(set.union(*places.values())) == cores


@pytest.mark.parametrize("seed", range(5))
def test_more_cores_finish_sooner(seed: int) -> None:
    """Independent jobs that are all there at the start: no later on two cores than on one."""
    ends = []
    for cores in CORES:
        draw = random.Random(seed)
        plan = chains(draw, cores)
        given = [Arrival(0, f"s{n % 6}", (0, float(n))) for n in range(24)]
        result = run(plan, given)
        work = sum(slot.end - slot.start for slot in slots_of(result))
        longest = max(unit.cost for unit in kernel_of(result).program.units)
        assert result.kernel.now <= work // cores + longest
        ends.append(result.kernel.now)
    assert ends == sorted(ends, reverse=True)
    assert ends[1] < ends[0]


def test_on_two_cores_two_jobs_run_at_once() -> None:
    query = query_of(
        [("s1", "a"), ("s2", "b"), ("a", "out_a"), ("b", "out_b")],
        {"out_a": 10 * MS, "out_b": 20 * MS},
        costs={"a": 3 * MS, "b": 2 * MS},
    )
    given = [Arrival(0, "s1", (0, 1.0)), Arrival(0, "s2", (0, 1.0)), Arrival(0, "s2", (0, 2.0))]
    for partitioned in (False, True):
        plan = compiled(query, one_node(query, cores=2))
        slots = slots_of(run(plan, given, partitioned=partitioned))
        timeline = sorted((slot.operator, slot.start // MS, slot.end // MS) for slot in slots)
        assert timeline == [("a", 0, 3), ("b", 0, 2), ("b", 2, 4)]
        assert len({slot.place for slot in slots}) == 2
