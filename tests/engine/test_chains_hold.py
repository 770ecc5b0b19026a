"""No run shows an older value or a slower reaction than the compiler bounds, over random queries
with clocks, random vehicles and arrivals at the edge of what is declared."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tests.engine.random_runs import (
    PATTERNS,
    Shape,
    random_arrivals,
    random_query,
    random_vehicle,
    scaled,
)
from tests.engine.support import compiled, run

from headway.engine.chain_watch import ChainMeasure
from headway.errors import HeadwayError
from headway.model.expression import Column, Sql
from headway.model.operators import Input, Map, Operator, Sample
from headway.model.plan import Chain, Plan
from headway.model.quantities import MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.model.vehicle import Node, Vehicle

PLANS = int(os.environ.get("HEADWAY_BOUND_RUNS", "150")) // 5
SHAPE = Shape(kinds=("sample", "sample", "map", "union", "filter"), shedders=False)
MS = MILLISECOND


def random_plan(seed: int) -> tuple[Plan, random.Random] | None:
    """With its sources in the order of sensing, as reactions need."""
    draw = random.Random(seed)
    query = random_query(draw, SHAPE) if draw.random() < 0.6 else layered(draw)
    query = replace(query, sources=tuple(replace(one, delay=0) for one in query.sources))
    vehicle = random_vehicle(draw, query, SHAPE)
    for factor in (draw.choice((0.3, 1.0)), 0.1, 0.03):
        try:
            plan = compiled(scaled(query, factor), vehicle)
        except HeadwayError:
            continue
        assert plan.verdict is not None
        if any(chain.age.bound is not None for chain in plan.verdict.chains):
            return plan, draw
    return None


def layered(draw: random.Random) -> Query:
    """Tasks by the clock that read one or two others, as in a model of labels and tasks."""
    columns = schema(k="int", v="double")
    sources = []
    for number in range(draw.randint(1, 2)):
        period = draw.choice((2, 5, 10)) * MS
        sources.append(
            Source(name=f"s{number}", schema=columns, rate=Rate(1, period), gap=2 * period)
        )
    streams = [source.name for source in sources]
    steps: list[Operator] = []
    for number in range(draw.randint(1, 4)):
        read = draw.sample(streams, min(len(streams), draw.randint(1, 2)))
        every = draw.choice((2, 5, 10)) * MS
        sample = Sample(
            name=f"c{number}",
            inputs=tuple(Input(f"p{place}", one) for place, one in enumerate(read)),
            every=every,
            jitter=draw.choice((0, draw.randrange(every))),
            hold=draw.choice((2, 4)) * every,
            cost=Cost(draw.choice((50, 300, 900)) * 1000),
        )
        first = "p0_" if len(read) > 1 else ""
        back = Map(
            name=f"m{number}",
            inputs=(Input("input", sample.name),),
            columns=(Column("k", Sql(f"{first}k")), Column("v", Sql(f"{first}v"))),
            cost=Cost(10_000),
        )
        steps += [sample, back]
        streams.append(back.name)
    outputs = tuple(Output(name=f"out_{s}", stream=s, deadline=300 * MS) for s in streams[-2:])
    return Query(name="layers", sources=tuple(sources), steps=tuple(steps), outputs=outputs)


def observed(plan: Plan, draw: random.Random, pattern: str) -> Iterator[tuple[str, int, int]]:
    """(what, seen, bound)"""
    arrivals = random_arrivals(draw, plan.query, pattern)
    result = run(plan, arrivals, fast_path=draw.random() < 0.5, keep_trace=False)
    assert plan.verdict is not None
    pairs: Sequence[tuple[Chain, ChainMeasure]] = list(
        zip(plan.verdict.chains, result.chains, strict=True)
    )
    for chain, seen in pairs:
        if seen.age is not None and chain.age.bound is not None:
            yield "age", seen.age, chain.age.bound
        if seen.reaction is not None and chain.reaction.bound is not None:
            yield "reaction", seen.reaction, chain.reaction.bound


def test_no_run_is_beyond_the_bounds_of_its_chains() -> None:
    parts: dict[str, list[float]] = {"age": [], "reaction": []}
    plans, seed = 0, 4_000
    while plans < PLANS:
        made = random_plan(seed)
        seed += 1
        if made is None:
            continue
        plans += 1
        for pattern in PATTERNS:
            for what, seen, bound in observed(*made, pattern):
                assert seen <= bound, f"seed {seed - 1}, {pattern}: {what} {seen} > {bound}"
                parts[what].append(seen / bound)
    for what, found in parts.items():
        found.sort()
        print(f"{what}: {len(found)}, median {found[len(found) // 2]:.2f}, {found[-1]:.3f}")  # noqa: T201
    assert parts["age"][-1] > 0.9
    assert parts["reaction"][-1] > 0.75, "the arrivals are too tame to test anything"


def test_a_slower_source_than_declared_is_beyond_them() -> None:
    """The check can fail: the gap that is declared is not kept."""
    source = Source(name="s", schema=schema(k="int", v="double"), rate=Rate(1, 5 * MS), gap=5 * MS)
    sample = Sample(
        name="x", inputs=(Input("input", "s"),), every=5 * MS, hold=5 * MS, cost=Cost(MS)
    )
    query = Query(
        name="q",
        sources=(source,),
        steps=(sample,),
        outputs=(Output(name="out", stream="x", deadline=50 * MS),),
    )
    plan = compiled(query, Vehicle(name="one", nodes=(Node(name="n"),)))
    arrivals = random_arrivals(
        random.Random(1),
        replace(query, sources=(replace(source, rate=Rate(1, 20 * MS)),)),
        "phases",
    )
    assert plan.verdict is not None
    ((chain,), (seen,)) = plan.verdict.chains, run(plan, arrivals).chains
    assert seen.reaction is not None
    assert chain.reaction.bound == 11 * MS
    assert seen.reaction > chain.reaction.bound
