"""Holds runs against the compiler's latency bounds: the check itself, and the search for bad
cases."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

from tests.engine.random_runs import (
    PATTERNS,
    Shape,
    random_arrivals,
    random_query,
    random_vehicle,
    scaled,
)
from tests.engine.support import compiled, run

from headway.compiler import compile_query
from headway.engine.jobs import Arrival
from headway.engine.operators.join import JoinOperator
from headway.engine.results import RunResult
from headway.errors import HeadwayError
from headway.model.graph import graph_of
from headway.model.operators import Aggregate, Join
from headway.model.plan import Plan
from headway.model.query import Query
from headway.model.user_operator import Row

Partners = dict[str, tuple[int, int]]
"""join -> the most partners that a tuple of its first and of its second port found"""


@dataclass(frozen=True)
class Observation:
    """The worst tuple of an output in a run."""

    output: str
    latency: int
    bound: int

    @property
    def tightness(self) -> float:
        return self.latency / self.bound if self.bound else 1.0

    @property
    def violated(self) -> bool:
        return self.latency > self.bound


@dataclass
class Checked:
    """A query and vehicle with several patterns of arrivals run against its bounds."""

    seed: int
    plan: Plan
    patterns: list[tuple[str, Sequence[Arrival]]]
    observed: list[list[Observation]] = field(default_factory=list)
    """of each pattern; empty when the run broke what the query declares of its joins"""

    @property
    def violations(self) -> list[tuple[str, Observation]]:
        return [
            (name, one)
            for (name, _), seen in zip(self.patterns, self.observed, strict=True)
            for one in seen
            if one.violated
        ]


def random_plan(
    seed: int, shape: Shape, *, patterns: Sequence[str] = PATTERNS
) -> tuple[Plan, list[tuple[str, Sequence[Arrival]]]] | None:
    """A plan with a bound for some output and arrivals that keep to what it declares; None if
    not."""
    draw = random.Random(seed)
    query = random_query(draw, shape)
    vehicle = random_vehicle(draw, query, shape)
    given = [(name, random_arrivals(draw, query, name)) for name in patterns]
    query = with_partners(query, [arrivals for _, arrivals in given])
    for factor in (draw.choice((0.3, 1.0, 2.0)), 0.3, 0.1, 0.03):
        try:
            plan = compiled(scaled(query, factor), vehicle)
        except HeadwayError:
            continue
        assert plan.verdict is not None
        if any(promise.bound is not None for promise in plan.verdict.promises):
            return plan, given
    return None


def check_seed(seed: int, shape: Shape = Shape(), policy: str = "s-edf") -> Checked | None:  # noqa: B008
    """Runs all patterns of arrivals of one random plan."""
    made = random_plan(seed, shape)
    if made is None:
        return None
    checked = Checked(seed, *made)
    for _, arrivals in checked.patterns:
        with counting_partners() as partners:
            result = run(checked.plan, arrivals, policy)
        kept = keeps_partners(checked.plan.query, partners)
        checked.observed.append(observe(checked.plan, result, arrivals) if kept else [])
    return checked


def observe(plan: Plan, result: RunResult, arrivals: Sequence[Arrival]) -> list[Observation]:
    """The longest latency of each output that has a bound.

    Windows close when later tuples come, so behind an aggregate nothing is looked at once a source
    has been silent for longer than its gap: the recording ends.
    """
    assert plan.verdict is not None
    graph = graph_of(plan.query)
    last = {arrival.source: arrival.time for arrival in arrivals}
    end = min(last[name] + (source.gap or 0) for name, source in graph.sources.items())
    windowed: set[str] = set()
    for name in graph.order:
        operator = graph.operators[name]
        if isinstance(operator, Aggregate) or windowed & set(operator.streams):
            windowed.add(name)
    found = []
    for promise in plan.verdict.promises:
        if promise.bound is None:
            continue
        ends = graph.outputs[promise.output].stream in windowed
        latencies = [
            one.latency
            for one in result.outputs[promise.output]
            if not ends or one.completed <= end
        ]
        if latencies:
            found.append(Observation(promise.output, max(latencies), promise.bound))
    return found


# -------------------------------------------------------------------- what joins declare


@contextmanager
def counting_partners() -> Iterator[Partners]:
    """Counts, for every join that runs meanwhile, the partners of each tuple."""
    original: Any = JoinOperator._pair
    counts: dict[str, tuple[Counter[int], Counter[int]]] = {}
    rows: list[Row] = []

    def counted(self: JoinOperator, pair: tuple[Row, Row], *rest: Any) -> bool:
        matched: bool = original(self, pair, *rest)
        if matched:
            rows.extend(pair)  # kept alive, so that no two have the same id
            for count, row in zip(
                counts.setdefault(self.name, (Counter(), Counter())), pair, strict=True
            ):
                count[id(row)] += 1
        return matched

    most: Partners = {}
    with patch.object(JoinOperator, "_pair", counted):
        yield most
    for name, (left, right) in counts.items():
        most[name] = (max(left.values()), max(right.values()))


def with_partners(query: Query, patterns: Sequence[Sequence[Arrival]]) -> Query:
    """Declares for joins as many partners as their tuples find in the meaning of the query; some
    declare nothing, and get what their inputs allow."""
    plan = compile_query(query)
    most: Partners = {}
    for arrivals in patterns:
        with counting_partners() as partners:
            run(plan, arrivals, charged=False)
        for name, (left, right) in partners.items():
            known = most.get(name, (1, 1))
            most[name] = (max(known[0], left), max(known[1], right))
    steps = []
    for operator in query.operators:
        if isinstance(operator, Join):
            counts = most.get(operator.name, (1, 1))
            if operator.partners is None and int(operator.name[1:]) % 2:
                operator = replace(operator, most_outputs=max(counts))
            elif operator.partners is not None:
                port = operator.partners[0]
                side = [one.port for one in operator.inputs].index(port)
                operator = replace(operator, partners=(port, counts[side]))
        steps.append(operator)
    return replace(query, steps=tuple(steps))


def keeps_partners(query: Query, partners: Partners) -> bool:
    """Whether a run kept to the declared partners."""
    for operator in query.operators:
        if not isinstance(operator, Join) or operator.name not in partners:
            continue
        left, right = partners[operator.name]
        if operator.partners is None:
            if operator.most_outputs is not None and max(left, right) > operator.most_outputs:
                return False
        else:
            port, most = operator.partners
            if (left, right)[[one.port for one in operator.inputs].index(port)] > most:
                return False
    return True
