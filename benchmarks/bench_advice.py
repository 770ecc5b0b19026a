"""How often the advice for a late query contains a change that holds, and whether all of it does.

    python benchmarks/bench_advice.py [--cases 30] [--seed 1]

Random small queries that keep their promises are made late in a way that is easy to undo: a pin to
the wrong node, a rate that allows a burst, a window or timeout that is too long. For each the
advice is asked for; every change it shows is written into the files, which are then compiled again.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from advice_cases import random_case

import headway as hw
from headway.compiler.passes import compile_query
from headway.errors import InputError
from headway.model.operators import Aggregate, Input
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, SECOND, Cost, Rate
from headway.model.query import Output, Query
from headway.model.vehicle import Vehicle

KINDS = ("a pin", "an even rate", "a smaller window")
MARGIN = 1.15
"""how much later than what can be promised the deadlines of the good query are"""


def kept(query: Query, vehicle: Vehicle) -> Plan | None:
    """The plan, if all promises are kept."""
    try:
        plan = compile_query(query, vehicle)
    except InputError:
        return None
    return plan if plan.verdict is not None and plan.verdict.safe else None


def fitted(query: Query, vehicle: Vehicle) -> tuple[Query, Plan] | None:
    """The query with deadlines a bit above what can be promised of it."""
    loose = [replace(output, deadline=10 * SECOND) for output in query.outputs]
    plan = kept(replace(query, outputs=tuple(loose)), vehicle)
    if plan is None or plan.verdict is None:
        return None
    bounds = {promise.output: promise.bound or 0 for promise in plan.verdict.promises}
    outputs = [
        replace(output, deadline=int(bounds[output.name] * MARGIN) // 1_000 * 1_000 + 1_000)
        for output in query.outputs
    ]
    tight = replace(query, outputs=tuple(outputs))
    again = kept(tight, vehicle)
    return None if again is None else (tight, again)


def spoilt(kind: str, draw: random.Random) -> tuple[Query, Vehicle] | None:
    """A query made late by one thing that is easily undone."""
    query, vehicle = random_case(draw)
    if kind == "a smaller window":
        query, vehicle = _with_window(query, vehicle)
    good = fitted(query, vehicle)
    if good is None:
        return None
    query, plan = good
    if kind == "a pin":
        movable = [step.name for step in query.operators]
        name = draw.choice(movable)
        others = [n.name for n in vehicle.nodes if n.name != dict(plan.placement)[name]]
        vehicle = replace(vehicle, pins=((name, draw.choice(others)),))
    elif kind == "an even rate":
        one = draw.choice(query.sources)
        assert one.rate is not None
        burst = Rate(one.rate.count * 50, one.rate.period * 50)
        sources = [replace(s, rate=burst) if s.name == one.name else s for s in query.sources]
        query = replace(query, sources=tuple(sources))
    else:
        longer = [
            replace(step, window=4 * step.window, every=4 * step.window)
            if isinstance(step, Aggregate)
            else step
            for step in query.operators
        ]
        query = replace(query, steps=tuple(longer))
    try:
        verdict = compile_query(query, vehicle).verdict
    except InputError:
        return None
    return None if verdict is None or verdict.safe else (query, vehicle)


def _with_window(query: Query, vehicle: Vehicle) -> tuple[Query, Vehicle]:
    """With an aggregate behind the first source, and promised gaps."""
    sources = tuple(replace(source, gap=200 * MILLISECOND) for source in query.sources)
    window = 100 * MILLISECOND
    mean = Aggregate(
        name="mean",
        inputs=(Input("in", query.sources[0].name),),
        cost=Cost(300_000),
        window=window,
        every=window,
        by=(),
        columns=hw.parse_query(_AGGREGATE).query.steps[0].columns,  # type: ignore[union-attr]
    )
    output = Output(name="out_mean", stream="mean", deadline=SECOND)
    made = replace(
        query, sources=sources, steps=(*query.steps, mean), outputs=(*query.outputs, output)
    )
    return made, vehicle


_AGGREGATE = """
query: q
sources: {s: {schema: {v: int}, rate: 1 per 1 s, gap: 1 s}}
operators: {mean: {aggregate: {most: max(v)}, from: s, by: [], window: 1 s}}
outputs: {o: {from: mean, deadline: 9 s}}
"""


def cases(count: int, seed: int) -> Iterator[tuple[str, int, Query, Vehicle]]:
    """As many of each kind."""
    number = seed
    for turn in range(count):
        kind = KINDS[turn % len(KINDS)]
        while True:
            number += 1
            made = spoilt(kind, random.Random(number))
            if made is not None:
                yield kind, number, *made
                break


def undoes(kind: str, what: str) -> bool:
    """Whether a change is of the kind that was spoilt."""
    words = {"a pin": "pin ", "an even rate": "comes evenly", "a smaller window": "a window of"}
    return words[kind] in what


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    helped = easy = shown = held = 0
    compiled_in = advised_in = 0.0
    for kind, number, query, vehicle in cases(given.cases, given.seed):
        with tempfile.TemporaryDirectory() as folder:
            paths = Path(folder, "query.yaml"), Path(folder, "vehicle.yaml")
            texts = hw.query_to_yaml(query), hw.vehicle_to_yaml(vehicle)
            for path, text in zip(paths, texts, strict=True):
                path.write_text(text)
            started = time.process_time()
            compiled = hw.compile(*paths)
            between = time.process_time()
            advice = hw.advise(compiled)
            compiled_in += between - started
            advised_in += time.process_time() - between
            holding = 0
            for turn in range(1, len(advice.fixes) + 1):
                for path, text in zip(paths, texts, strict=True):
                    path.write_text(text)
                advice.write(turn)
                holding += hw.compile(*paths).safe
        titles = [fix.what for fix in advice.fixes]
        shown += len(titles)
        held += holding
        helped += holding > 0
        by_kind = any(undoes(kind, title) for title in titles)
        easy += by_kind
        sign = "=" if by_kind else "+" if holding else "-"
        print(f"{sign} {kind}, case {number}: {' | '.join(titles) or 'nothing'}", flush=True)
    print(
        f"{given.cases} late queries: {helped} with a change that holds, {easy} with one of the "
        f"kind that was spoilt; {held} of {shown} changes shown hold when they are written; "
        f"{compiled_in / given.cases:.2f} s of processor time to compile, "
        f"{advised_in / given.cases:.2f} s for the advice, each"
    )


if __name__ == "__main__":
    main()
