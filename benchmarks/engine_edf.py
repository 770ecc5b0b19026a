"""Five periodic tasks under EDF for 20,000 ms: jobs per CPU second, engine against SimSo.

A task is a source and a train of operators of 1 ms each, so that the engine preempts wherever SimSo
does; phases make all absolute deadlines distinct, and every job must end at the same millisecond on
both sides. The engine keeps its trace, as SimSo does. As one operator per task (not preemptive) it
is measured too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time

from engine_chain import COLUMNS, REPEATS, plan_of
from peers import ask, python_of

from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.model.operators import Input, Map, Operator
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source

LENGTH = 20_000
"""ms"""


@dataclass(frozen=True)
class Task:
    """A periodic task; times in ms, its deadline is the next release."""

    name: str
    period: int
    wcet: int
    phase: int


TASKS = (
    Task("a", 10, 1, 0),
    Task("b", 20, 3, 1),
    Task("c", 25, 4, 2),
    Task("d", 40, 6, 3),
    Task("e", 50, 8, 4),
)


def tasks_plan(*, preemptive: bool) -> Plan:
    steps: list[Operator] = []
    outputs = []
    for task in TASKS:
        stream, cost = task.name, MILLISECOND if preemptive else task.wcet * MILLISECOND
        for place in range(task.wcet if preemptive else 1):
            inputs, stream = (Input("input", stream),), f"{task.name}{place}"
            steps.append(Map(name=stream, inputs=inputs, cost=Cost(cost), columns=(), keep=True))
        deadline = task.period * MILLISECOND
        outputs.append(Output(name=f"out_{task.name}", stream=stream, deadline=deadline))
    sources = (
        Source(name=task.name, schema=COLUMNS, rate=Rate(1, task.period * MILLISECOND))
        for task in TASKS
    )
    return plan_of(
        Query(name="edf", sources=tuple(sources), steps=tuple(steps), outputs=tuple(outputs))
    )


def releases() -> list[Arrival]:
    found = [
        Arrival(time * MILLISECOND, task.name, (time * 1000, 1.0, 1))
        for task in TASKS
        for time in range(task.phase, LENGTH, task.period)
    ]
    return sorted(found, key=lambda arrival: arrival.time)


def engine_speed(plan: Plan, arrivals: list[Arrival]) -> tuple[float, RunResult]:
    """Jobs per CPU second from the first release on: the model is built before, as SimSo's is."""
    best = 0.0

    def started() -> Iterator[Arrival]:
        nonlocal start
        start = process_time()
        yield from arrivals

    for _ in range(6 * REPEATS):
        start = 0.0
        result = Engine(plan=plan).run(started())
        best = max(best, len(arrivals) / (process_time() - start))
    return best, result


def measure() -> dict[str, float]:
    """Jobs per second, by way of running; preemptions too."""
    arrivals = releases()
    arguments = [f"{t.name}:{t.period}:{t.wcet}:{t.phase}" for t in TASKS]
    simso = ask(python_of("simso"), "peer_simso.py", LENGTH, 3, *arguments)
    speed, result = engine_speed(tasks_plan(preemptive=True), arrivals)
    for task in TASKS:
        ends = [time / MILLISECOND for time in result.outputs[f"out_{task.name}"].completed]
        theirs = simso["ends"][task.name]
        assert ends[: len(theirs)] == theirs, f"task {task.name} does not end as in SimSo"
        assert len(ends) - len(theirs) <= 1, task
    whole, _ = engine_speed(tasks_plan(preemptive=False), arrivals)
    jobs = sum(map(len, simso["ends"].values()))
    return {
        "SimSo EDF_mono": jobs / float(simso["seconds"]),
        "engine, operators of 1 ms, trace kept": speed,
        "engine, one operator a task, trace kept": whole,
    }
