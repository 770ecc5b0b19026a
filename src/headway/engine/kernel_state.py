"""What a kernel remembers between two jobs, as JSON-able data: operators, what is being gathered,
the entrances of the sources, timers.

Both runs that can go on elsewhere keep it: the one in which nothing takes time
(:mod:`headway.engine.stepwise`) and a node in wall-clock time
(:mod:`headway.engine.nodes.run_keeper`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headway.engine.jobs import FRESH_TUPLE, HEAD_RESULT, GatheredBatch, TimedCall, Work
from headway.engine.kernel import Kernel, Precision
from headway.engine.program import Unit
from headway.model.user_operator import State


def kernel_state(kernel: Kernel, timers: Iterable[TimedCall]) -> State:
    """``timers``: those that run."""
    return {
        "now": kernel.now,
        "number": kernel.number,
        "roots": kernel.roots,
        "ingests": {
            name: {"announced": ingest.announced, **ingest.snapshot()}
            for name, ingest in kernel.ingests.items()
        },
        "operators": {name: one.snapshot() for name, one in kernel.program.stateful.items()},
        "gathering": {
            unit.head.name: {"oldest": list(unit.oldest), **unit.gathering.snapshot()}
            for unit in kernel.program.units
            if unit.gathering is not None and unit.oldest is not None
        }
        | {
            unit.head.name: unit.sampling.snapshot()
            for unit in kernel.program.units
            if unit.sampling is not None and unit.sampling.size()
        },
        "events": [
            [time, kind, number, *_packed(kernel, function, argument)]
            for time, kind, number, function, argument in sorted(timers, key=_order)
        ],
    }


def restore_kernel(kernel: Kernel, state: State) -> list[TimedCall]:
    """Takes up what :func:`kernel_state` gave; the timers, in order."""
    program = kernel.program
    kernel.now, kernel.number, kernel.roots = state["now"], state["number"], state["roots"]
    for name, ingest in kernel.ingests.items():
        ingest.restore(state["ingests"][name])
        ingest.announced = state["ingests"][name]["announced"]
    for name, operator in program.stateful.items():
        operator.restore(state["operators"][name])
    for unit in program.units:
        if unit.flights is not None:
            unit.flights.clear()
        if unit.gathering is not None:
            kept = state["gathering"].get(unit.head.name)
            unit.gathering.restore(kept or {"batch": {}})
            unit.oldest = (kept["oldest"][0], kept["oldest"][1]) if kept else None
        if unit.sampling is not None:
            unit.sampling.restore(state["gathering"].get(unit.head.name) or {})
    kernel.gather_timers = {}
    units = {unit.head.name: unit for unit in program.units}
    return [_unpacked(kernel, units, *packed) for packed in state["events"]]


def _packed(kernel: Kernel, function: Callable[[Any], None], argument: Any) -> tuple[Any, ...]:
    if function == kernel.release_shed:
        return "shed", argument
    if function == kernel.gather_timeout:
        unit, number, root = argument
        # One that nobody waits for is kept too: it moves the time when it is over.
        runs = kernel.gather_timers.get(unit.index) == number
        return "gather", unit.head.name, number, root, runs
    if function == kernel.instant:
        return "instant", argument.head.name
    unit, operator, token = argument
    return "expire", operator.name, token


def _unpacked(
    kernel: Kernel,
    units: dict[str, Unit],
    time: int,
    kind: int,
    number: int,
    what: str,
    name: str,
    *more: int,
) -> TimedCall:
    if what == "shed":
        return time, kind, number, kernel.release_shed, name
    unit = units[name]
    if what == "instant":
        return time, kind, number, kernel.instant, unit
    if what == "gather":
        timer, root, runs = more
        if runs:
            kernel.gather_timers[unit.index] = timer
        return time, kind, number, kernel.gather_timeout, (unit, timer, root)
    (token,) = more
    operator = kernel.program.stateful[name]
    return time, kind, number, kernel.expire, (unit, operator, token)


def _order(event: TimedCall) -> tuple[int, int, int]:
    return event[:3]


# -------------------------------------------------------------------- jobs and counts


def packed_work(work: Work) -> Any:
    """What a job is given, as JSON-able data."""
    if isinstance(work, GatheredBatch):
        rows = {port: [list(row) for row in listed] for port, listed in work.rows.items()}
        return {"rows": rows, "timed_out": work.timed_out}
    return "head" if work is HEAD_RESULT else "fresh"


def unpacked_work(packed: Any) -> Work:
    if isinstance(packed, dict):
        rows = {port: [tuple(row) for row in listed] for port, listed in packed["rows"].items()}
        return GatheredBatch(rows, packed["timed_out"])
    return HEAD_RESULT if packed == "head" else FRESH_TUPLE


_COUNTS = ("arrived", "timeouts", "decisions", "preemptions", "refused")


def kernel_counts(kernel: Kernel) -> State:
    """What a report tells of the run so far."""
    watches = {name: one.watch for name, one in kernel.ingests.items() if one.watch is not None}
    return {
        **{name: getattr(kernel, name) for name in _COUNTS},
        "precision": {name: [one.done, one.asked] for name, one in kernel.precision.items()},
        "rates": {name: [one.beyond, one.state()] for name, one in watches.items()},
        "results": {n: one.beyond for n, one in kernel.program.stateful.items() if one.beyond},
    }


def restore_counts(kernel: Kernel, state: State) -> None:
    for name in _COUNTS:
        setattr(kernel, name, state[name])
    kernel.precision = {name: Precision(*counts) for name, counts in state["precision"].items()}
    for name, (beyond, arrivals) in state["rates"].items():
        watch = kernel.ingests[name].watch
        assert watch is not None
        watch.beyond = beyond
        watch.restore(arrivals)
    for name, beyond in state["results"].items():
        kernel.program.stateful[name].beyond = beyond
