"""The native engine's answers, beside the vehicle engine's: all that a run gives, in order."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tests.contract.cases import CASES, merged
from tests.contract.native_users import twin_of, with_twins
from tests.contract.recordings import Recording

from headway.engine.engine import Engine
from headway.engine.result_tables import SideRows
from headway.engine.results import RunResult
from headway.errors import Problem
from headway.model.operators import Operator
from headway.model.plan import Plan
from headway.model.query import Query, Source
from headway.native.native_engine import NativeEngine
from headway.native.native_gaps import query_problems
from headway.native.toolchain import BuildMode

MODE = BuildMode(os.environ.get("HEADWAY_CONTRACT_MODE", BuildMode.DEBUG))
"""how programs are compiled: quickly, or with the compiler's sanitizers"""


def refusal(operators: Iterable[Operator], sources: Iterable[Source] = ()) -> str:
    """Why native code does not run these; empty if it does. User-defined operators that have a twin
    in C++ are run by that."""
    others = [operator for operator in operators if not twin_of(operator)]
    problems: list[Problem] = list(query_problems(sources, others))
    return "; ".join(problem.what for problem in problems)


NATIVE_CASES = [name for name, case in CASES.items() if not refusal(case)]
REFUSED_CASES = {name: why for name, case in CASES.items() if (why := refusal(case))}


def without_refused(query: Query) -> Query:
    """The query without the operators that native code refuses, and without what they feed."""
    gone: set[str] = set()
    steps = []
    for operator in query.operators:
        if refusal([operator]) or not gone.isdisjoint(operator.streams):
            gone.add(operator.name)
        else:
            steps.append(operator)
    read = {stream for operator in steps for stream in operator.streams}
    outputs = [one for one in query.outputs if one.stream not in gone]
    shown = {one.stream for one in outputs}
    # What was read by a refused operator only has no use: it becomes an output.
    outputs += [
        replace(query.outputs[0], name=operator.name, stream=operator.name)
        for operator in steps
        if operator.name not in read | shown
    ]
    used = read | {one.stream for one in outputs}
    sources = tuple(source for source in query.sources if source.name in used)
    return replace(query, sources=sources, steps=tuple(steps), outputs=tuple(outputs))


@dataclass(frozen=True)
class Gave:
    """What a run gave: the tuples of each output in order, what left its way, the counts."""

    outputs: dict[str, list[str]]
    side: list[tuple[Any, ...]]
    counts: dict[str, int]


def gave(plan: Plan, result: RunResult) -> Gave:
    rows, kernel = SideRows(plan), result.kernel
    return Gave(
        outputs={
            name: [
                f"{row!r} at {at}" for row, at in zip(record.rows, record.completed, strict=True)
            ]
            for name, record in result.outputs.items()
        },
        side=[(one.kind.value, *rows.row(at, one)) for at, one in result.side.dropped],
        counts={
            "arrived": kernel.arrived,
            "timeouts": kernel.timeouts,
            "decisions": kernel.decisions,
            "preemptions": kernel.preemptions,
        },
    )


def both(
    plan: Plan, recording: Recording, *, charged: bool = False
) -> list[tuple[str, Gave, Gave]]:
    """(vehicle, the vehicle engine's, the native engine's), without costs or with them."""
    found = []
    with with_twins(plan) as compiled:
        native = NativeEngine(plan=compiled, charged=charged, mode=MODE, keep_trace=False)
    for vehicle in recording.vehicles:
        arrivals = recording.arrivals(plan, vehicle)
        python = Engine(plan=plan, charged=charged, keep_trace=False).run(arrivals)
        found.append((vehicle, gave(plan, python), gave(plan, native.run(arrivals))))
    return found


def differences(expected: Gave, got: Gave) -> list[str]:
    """The first difference of each output, of the side and of the counts."""
    found = []
    for name, rows in expected.outputs.items():
        found += _first(name, rows, got.outputs[name])
    found += _first("side", expected.side, got.side)
    if expected.counts != got.counts:
        found.append(f"counts: {got.counts} instead of {expected.counts}")
    return found


def _first(name: str, expected: list[Any], got: list[Any]) -> list[str]:
    for place, (left, right) in enumerate(zip(expected, got, strict=False)):
        if left != right:
            return [f"{name}, {place}: {right} instead of {left}"]
    if len(expected) != len(got):
        return [f"{name}: {len(got)} instead of {len(expected)}"]
    return []


def cases_query(names: Iterable[str], sources: tuple[Source, ...]) -> Query:
    return merged([(name, CASES[name]) for name in names], sources)
