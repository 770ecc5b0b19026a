"""A chain of five filters and maps: tuples per CPU second, engine against bytewax.

Both sides do the same to a row (three times "v + 1", twice "v > -1") and keep all results. The
engine also checks the rows' form and marks late ones. Single tuples come 10 µs apart and take 5 µs
of virtual time; in bursts 1,000 come at once and have to queue. Each is scheduled by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time

from peers import ask, python_of

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.model.expression import Column, Sql
from headway.model.operators import Filter, Input, Map, Operator
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.model.vehicle import Node, Vehicle

TUPLES = 200_000
BURST = 1_000
REPEATS = 5
COLUMNS = schema(v="double", k="int")


def plan_of(query: Query) -> Plan:
    sensors = tuple((source.name, "ecu") for source in query.sources)
    return compile_query(query, Vehicle(name="one", nodes=(Node(name="ecu"),), sensors=sensors))


def chain_plan(rate: Rate, deadline: int) -> Plan:
    steps: list[Operator] = []
    stream = "s"
    for place in range(5):
        inputs, cost = (Input("input", stream),), Cost(MICROSECOND)
        stream = f"o{place}"
        if place % 2:
            steps.append(Filter(name=stream, inputs=inputs, cost=cost, where=Sql("v > -1")))
        else:
            columns = (Column("v", Sql("v + 1")),)
            steps.append(Map(name=stream, inputs=inputs, cost=cost, columns=columns, keep=True))
    return plan_of(
        Query(
            name="chain",
            sources=(Source(name="s", schema=COLUMNS, rate=rate),),
            steps=tuple(steps),
            outputs=(Output(name="out", stream=stream, deadline=deadline),),
        )
    )


def singles(count: int) -> Iterator[Arrival]:
    for i in range(count):
        yield Arrival(i * 10 * MICROSECOND, "s", (i * 10, float(i), i % 7))


def bursts(count: int) -> Iterator[Arrival]:
    for i in range(count):
        burst = i // BURST * 6
        yield Arrival(burst * MILLISECOND, "s", (burst * 1000, float(i), i % 7))


def engine_speed(plan: Plan, arrivals: list[Arrival], **options: bool) -> tuple[float, RunResult]:
    """Tuples per CPU second, of the fastest of some runs."""
    best = 0.0
    for _ in range(REPEATS):
        engine = Engine(plan=plan, **options)
        start = process_time()
        result = engine.run(arrivals)
        best = max(best, len(arrivals) / (process_time() - start))
    summary = result.summary()
    assert summary.outputs[0].tuples == TUPLES, summary
    assert summary.outputs[0].misses == 0, summary
    return best, result


def bytewax_speed(batch: int) -> float:
    found = ask(python_of("bytewax"), "peer_bytewax.py", "chain_apart", TUPLES, batch, REPEATS)
    assert found["out"] == TUPLES, found
    return float(TUPLES / min(found["seconds"]))


def measure() -> dict[str, float]:
    """Tuples per second, by way of running."""
    one_by_one = chain_plan(Rate(1, 10 * MICROSECOND), MILLISECOND)
    by_bursts = chain_plan(Rate(BURST, 6 * MILLISECOND), 20 * MILLISECOND)
    single, burst = list(singles(TUPLES)), list(bursts(TUPLES))
    found = {}
    found["engine, each tuple scheduled"], result = engine_speed(
        one_by_one, single, keep_trace=False
    )
    assert result.kernel.decisions == TUPLES
    found["bytewax, batch 1"] = bytewax_speed(1)
    found["engine, each tuple scheduled, trace kept"], _ = engine_speed(one_by_one, single)
    found["engine, no costs"], _ = engine_speed(one_by_one, single, keep_trace=False, charged=False)
    found["engine, bursts, each tuple scheduled"], result = engine_speed(
        by_bursts, burst, keep_trace=False
    )
    assert result.kernel.decisions == TUPLES
    found["bytewax, batch 1,000"] = bytewax_speed(1_000)
    return found
