"""How compile time grows with the query: 1,000 and 10,000 operators, no placement to decide.

    python benchmarks/bench_compile.py [operators ...]

The query is a layered random graph of filters, maps, unions and joins, in groups of about 50
operators on two sensors each, with some streams between groups; the vehicle is one ECU, so that
the placement is trivial. Each size is compiled three times and the fastest counts. The growth of
the time is set against that of n·log n. Times are processor time, so that neighbours on the machine
count little.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from math import log
from random import Random
from time import process_time

from headway.compiler.compilation import Compilation, plan_of
from headway.compiler.passes import PASSES
from headway.model.codec import plan_to_json
from headway.model.expression import Column, Sql
from headway.model.operators import Filter, Input, Join, Map, Operator, Union
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.model.vehicle import Node, Vehicle

GROUP = 50
LAYERS = 8
REPEATS = 3
COLUMNS = schema(x="double [m]", v="double [m/s]", id="int")


def query_of(operators: int, random: Random) -> Query:
    """A random query of about that many operators."""
    sources: list[Source] = []
    steps: list[Operator] = []
    outputs: list[Output] = []
    earlier: list[str] = []
    for group in range(max(1, operators // GROUP)):
        own = [f"s{group}a", f"s{group}b"]
        sources += [
            Source(
                name=name,
                schema=COLUMNS,
                rate=Rate(1, random.choice((50, 100, 200)) * MILLISECOND),
                delay=random.randrange(5) * MILLISECOND,
            )
            for name in own
        ]
        layers = [own]
        read: set[str] = set()
        for layer in range(LAYERS):
            width = GROUP // LAYERS + (layer < GROUP % LAYERS)
            layers.append([])
            for number in range(width):
                near = layers[-2] if random.random() < 0.8 else layers[random.randrange(layer + 1)]
                streams = [random.choice(near)]
                if earlier and random.random() < 0.03:
                    streams = [random.choice(earlier)]
                step = operator(f"g{group}l{layer}n{number}", streams[0], near, random)
                read.update(step.streams)
                steps.append(step)
                layers[-1].append(step.name)
        outputs += [
            Output(name=f"out_{name}", stream=name, deadline=SECOND)
            for names in layers
            for name in names
            if name not in read
        ]
        earlier += layers[3]
    return Query(name="large", sources=tuple(sources), steps=tuple(steps), outputs=tuple(outputs))


def operator(name: str, stream: str, near: list[str], random: Random) -> Operator:
    kind = random.choices(("filter", "map", "union", "join"), (35, 40, 15, 10))[0]
    cost = Cost(MICROSECOND * random.randint(1, 3) // 10 + 1)
    other = random.choice([*(s for s in near if s != stream), stream])
    one = (Input("input", stream),)
    two = (Input("a", stream), Input("b", other))
    if other == stream and kind in ("union", "join"):
        kind = "map"
    if kind == "filter":
        where = Sql(f"v > {random.randrange(50)} AND x IS NOT NULL")
        return Filter(name=name, inputs=one, cost=cost, where=where, selectivity=0.5)
    if kind == "map":
        columns = (Column("x", Sql("x + 1.5")), Column("id", Sql("id % 1000")))
        return Map(name=name, inputs=one, cost=cost, columns=columns, keep=True)
    if kind == "union":
        return Union(name=name, inputs=two, cost=cost, selectivity=0.5)
    pairs = (Column("x", Sql("a.x - b.x")), Column("v", Sql("a.v")), Column("id", Sql("a.id")))
    return Join(
        name=name,
        inputs=two,
        cost=cost,
        within=MILLISECOND,
        keys=(("id", "id"),),
        columns=pairs,
        partners=("a", 1),
        selectivity=0.2,
    )


def vehicle_of(query: Query) -> Vehicle:
    sensors = tuple((source.name, "ecu") for source in query.sources)
    return Vehicle(name="one_node", nodes=(Node(name="ecu"),), sensors=sensors)


def measure(operators: int) -> dict[str, float]:
    """Seconds by pass, of the fastest of some runs; ``json`` is the plan's way into a file."""
    query = query_of(operators, Random(operators))
    vehicle = vehicle_of(query)
    best: dict[str, float] = {}
    for _ in range(REPEATS):
        times: dict[str, float] = {}
        compilation = Compilation(query=query, vehicle=vehicle, timed=True)
        for run_pass in PASSES:
            start = process_time()
            compilation = run_pass(compilation)
            times[run_pass.__name__] = process_time() - start
        start = process_time()
        plan_to_json(plan_of(compilation))
        times["json"] = process_time() - start
        if not best or sum(times.values()) < sum(best.values()):
            best = times
    kept = (
        sum(promise.kept for promise in compilation.verdict.promises) if compilation.verdict else 0
    )
    print(
        f"{operators:>7} operators: {sum(best.values()):7.2f} s  "
        f"({len(query.sources)} sources, {len(compilation.tasks)} tasks, "
        f"{kept} of {len(query.outputs)} deadlines promised)"
    )
    print("         " + "  ".join(f"{name} {time:.2f}" for name, time in best.items()))
    return best


def main() -> None:
    sizes = [int(argument) for argument in sys.argv[1:]] or [1_000, 10_000]
    totals = [(size, sum(measure(size).values())) for size in sizes]
    for (small, before), (large, after) in pairwise(totals):
        expected = large * log(large) / (small * log(small))
        print(
            f"{small} -> {large}: {after / before:.1f} times the time; "
            f"n·log n grows {expected:.1f} times"
        )


if __name__ == "__main__":
    main()
