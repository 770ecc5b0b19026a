"""Short ways to run plans in tests and to look at what happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headway.compiler.compilation import Compilation, plan_of
from headway.compiler.passes import PASSES
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.engine.trace import EventKind
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Query
from headway.model.vehicle import Vehicle
from headway.schedule.online import Policy


def compiled(query: Query, vehicle: Vehicle) -> Plan:
    """A plan whose placement is that of least traffic, whatever can be promised: to search on only
    costs time here."""
    compilation = Compilation(query=query, vehicle=vehicle, timed=True)
    for run_pass in PASSES:
        if run_pass.__name__ != "keep_promises":
            compilation = run_pass(compilation)
    return plan_of(compilation)


def run(
    plan: Plan,
    arrivals: Iterable[Arrival],
    policy: str | Policy = "s-edf",
    *,
    charged: bool = True,
    partitioned: bool = False,
    batching: bool = False,
    keep_trace: bool = True,
    fast_path: bool = True,
) -> RunResult:
    engine = Engine(
        plan=plan,
        policy=policy,
        charged=charged,
        partitioned=partitioned,
        batching=batching,
        keep_trace=keep_trace,
        fast_path=fast_path,
    )
    return engine.run(arrivals)


class Slot(NamedTuple):
    """One operator running for one job, from ``start`` to ``end``."""

    start: int
    end: int
    node: str
    place: str
    operator: str
    job: int
    unit: str


def slots_of(result: RunResult) -> list[Slot]:
    """Every operator that ran, a run of a whole train cut into its operators."""
    units = {unit.name: unit for unit in result.kernel.program.units}
    found = []
    for kind, start, end, node, place, what, job, first, ran in result.trace.events:
        if kind != EventKind.RUN:
            continue
        unit = units[what]
        if ran == 1:
            found.append(Slot(start, end, node, place, unit.operators[first], job, what))
            continue
        for index in range(first, first + ran):
            after = start + unit.costs[index]
            found.append(Slot(start, after, node, place, unit.operators[index], job, what))
            start = after
        assert start == end
    return found


def steps_of(result: RunResult) -> list[tuple[object, ...]]:
    """The trace with runs of whole trains cut into their operators, and jobs numbered as they first
    appear: the same however many operators the engine ran at once."""
    units = {unit.name: unit for unit in result.kernel.program.units}
    numbers: dict[int, int] = {}
    found: list[tuple[object, ...]] = []
    for kind, start, end, node, place, what, job, first, ran in result.trace.events:
        if what not in units or not place:
            found.append((EventKind(kind).name, start, end, node, place, what, job, first, ran))
            continue
        number = numbers.setdefault(job, len(numbers))
        for index in range(first, first + max(ran, 1)):
            until = end if index >= first + ran - 1 else start + units[what].costs[index]
            found.append((EventKind(kind).name, start, until, node, place, what, number, index))
            start = until
    return found


def completions(result: RunResult, output: str) -> list[tuple[int, int]]:
    """(timestamp in ns, completed) of an output's tuples, by timestamp."""
    return sorted((one.row[0] * MICROSECOND, one.completed) for one in result.outputs[output])


def in_order(arrivals: Iterable[Arrival]) -> Sequence[Arrival]:
    """By time; what comes at the same time stays in the order given."""
    return sorted(arrivals, key=lambda arrival: arrival.time)
