"""Random and hand-made plans for tests of batches, and what their runs gave."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tests.compiler.build import one_node
from tests.engine.kernels import kernel_of
from tests.engine.support import compiled, in_order

from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.engine.trace import EventKind
from headway.errors import PlacementError
from headway.model.expression import Column, Sql
from headway.model.operators import Filter, Input, Map, Operator, Union
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.model.user_operator import Row

COLUMNS = schema(k="int", v="double")
US, MS = MICROSECOND, MILLISECOND


# -------------------------------------------------------------------- queries


def sensor(
    name: str, count: int, period: int, *, delay: int = 0, lateness: int = 100 * MS
) -> Source:
    rate = Rate(count, period)
    return Source(
        name=name, schema=COLUMNS, rate=rate, delay=delay, lateness=lateness, gap=2 * period
    )


def chain(stream: str, operators: int, cost: int) -> list[Operator]:
    found: list[Operator] = []
    for place in range(operators):
        inputs, stream = (Input("input", stream),), f"{stream}_{place}"
        columns = (Column("v", Sql("v + 1")),)
        found.append(Map(name=stream, inputs=inputs, cost=Cost(cost), columns=columns, keep=True))
    return found


def chains(*parts: tuple[Source, int, int, int]) -> Plan:
    """For each (source, operators, cost of each, deadline) a train to an output of its own."""
    steps: list[Operator] = []
    outputs = []
    for source, operators, cost, deadline in parts:
        steps += chain(source.name, operators, cost)
        outputs.append(Output(name=f"out_{source.name}", stream=steps[-1].name, deadline=deadline))
    query = Query(
        name="chains",
        sources=tuple(part[0] for part in parts),
        steps=tuple(steps),
        outputs=tuple(outputs),
    )
    return compiled(query, one_node(query))


def burst(source: str, time: int, count: int, timestamp: int | None = None) -> list[Arrival]:
    at = time // US if timestamp is None else timestamp
    return [Arrival(time, source, (at, number, float(number))) for number in range(count)]


def random_query(draw: random.Random) -> Query:
    """Sources that send bursts, some in disorder, through filters, maps and unions; trains that
    follow trains."""
    sources = [
        sensor(
            f"s{index}",
            draw.choice((1, 5, 20, 40)),
            draw.choice((2, 5, 10)) * MS,
            delay=draw.choice((0, 0, 1, 5)) * MS,
            lateness=draw.choice((0, 2, 20)) * MS,
        )
        for index in range(draw.randint(1, 3))
    ]
    streams = [source.name for source in sources]
    unread = dict.fromkeys(streams)
    steps: list[Operator] = []
    for index in range(draw.randint(1, 8)):
        name, cost = f"o{index}", Cost(draw.choice((5, 10, 20, 50, 100, 400)) * US)
        kind = draw.choice(("filter", "filter", "map", "map", "map", "union"))
        stream = (
            draw.choice(list(unread) or streams) if draw.random() < 0.7 else draw.choice(streams)
        )
        only = (Input("input", stream),)
        if kind == "union" and len(streams) > 1:
            other = draw.choice([one for one in streams if one != stream])
            unread.pop(other, None)
            both = (Input("a", stream), Input("b", other))
            steps.append(Union(name=name, inputs=both, cost=cost))
        elif kind == "filter":
            where = Sql(draw.choice(("v >= 0", "v >= 30", "k = 1")))
            steps.append(Filter(name=name, inputs=only, cost=cost, where=where))
        else:
            columns = (Column("v", Sql("v + 1")),)
            steps.append(Map(name=name, inputs=only, cost=cost, columns=columns, keep=True))
        unread.pop(stream, None)
        streams.append(name)
        unread[name] = None
    return Query(
        name="bursts",
        sources=tuple(sources),
        steps=tuple(steps),
        outputs=tuple(
            Output(name=f"out_{s}", stream=s, deadline=draw.choice((2, 3, 5, 8, 12, 20, 50)) * MS)
            for s in unread
        ),
    )


def cheaper(operator: Operator) -> Operator:
    assert operator.cost is not None
    return replace(operator, cost=Cost(max(1, operator.cost.base // 2)))


def safe_plan(draw: random.Random) -> Plan | None:
    """A random plan whose promises hold, its costs lowered until they do."""
    query = random_query(draw)
    costs = draw.choice(((0, 0), (0, 0), (1000, 1000), (2000, 2600)))
    for _ in range(6):
        vehicle = one_node(query, decision_cost=costs[0], preemption_cost=costs[1])
        try:
            plan = compiled(query, vehicle)
        except PlacementError:
            plan = None
        if plan is not None and plan.verdict is not None and plan.verdict.safe:
            return plan
        query = replace(query, steps=tuple(cheaper(operator) for operator in query.operators))
    return None


def arrivals_of(draw: random.Random, query: Query, until: int = 40 * MS) -> Sequence[Arrival]:
    """Bursts within rates and delays; their tuples shuffled, so timestamps are in disorder."""
    found: list[Arrival] = []
    for source in query.sources:
        assert source.rate is not None
        rate, way = source.rate, draw.choice((0, 1, 2, 2))
        time = draw.choice((0, 0, draw.randint(0, rate.period // US) * US))
        while time <= until:
            for _ in range(rate.count):
                age = (0, source.delay, draw.randint(0, source.delay))[way]
                timestamp = max(0, -(-(time - age) // US))
                row = (timestamp, draw.randint(0, 2), float(draw.randint(0, 99)))
                found.append(Arrival(time, source.name, row))
            time += rate.period + draw.choice((0, 0, 0, draw.randint(0, 3000) * US))
    draw.shuffle(found)
    return in_order(found)


def run(plan: Plan, arrivals: Iterable[Arrival], *, batching: bool = False) -> RunResult:
    return Engine(plan=plan, batching=batching).run(arrivals)


def misses(result: RunResult) -> dict[str, int]:
    return {name: found for name, one in result.outputs.items() if (found := one.misses)}


def tuples(result: RunResult) -> dict[str, Counter[Row]]:
    return {name: Counter(record.rows) for name, record in result.outputs.items()}


def dropped(result: RunResult) -> Counter[tuple[str, str, str]]:
    return Counter((one.where, one.kind, repr(one.row)) for _, one in result.side.dropped)


def batches_in(result: RunResult) -> list[int]:
    """How many tuples each batch held."""
    return [event[8] for event in result.trace.events if event[0] == EventKind.BATCH]


def ran(result: RunResult) -> dict[str, list[int]]:
    """Unit -> how many tuples ended after n operators, by n."""
    return {unit.name: unit.ran for unit in kernel_of(result).program.units}
