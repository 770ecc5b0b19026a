"""Short ways to write queries and vehicles in tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from headway.compiler.compilation import Compilation
from headway.compiler.passes import PASSES
from headway.model.operators import Input, Map, Operator, Union, UserDefined
from headway.model.quantities import MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import Schema, schema
from headway.model.vehicle import Node, Vehicle

VALUE = schema(v="double")


def source(
    name: str,
    *,
    columns: Schema = VALUE,
    rate: Rate | None = None,
    delay: int = 0,
    gap: int | None = None,
) -> Source:
    return Source(
        name=name,
        schema=columns,
        rate=rate or Rate(1, 100 * MILLISECOND),
        delay=delay,
        gap=gap,
    )


def identity(
    name: str, inputs: Sequence[str], cost: int = 1, timeout: int | None = None
) -> Operator:
    """An operator that passes tuples on: a map, a union, or a gathering operator."""
    ports = tuple(Input(f"in{i}", stream) for i, stream in enumerate(inputs))
    if timeout is not None:
        return UserDefined(
            name=name,
            inputs=ports,
            cost=Cost(cost),
            timeout=timeout,
            most_outputs=1,
            implementation="tests.operators:PassOn",
            schema=VALUE,
        )
    if len(inputs) > 1:
        return Union(name=name, inputs=ports, cost=Cost(cost))
    return Map(name=name, inputs=ports, cost=Cost(cost), columns=(), keep=True)


def query_of(
    streams: Iterable[Sequence[str]],
    deadlines: Mapping[str, int],
    *,
    costs: Mapping[str, int] | int = 1,
    timeouts: Mapping[str, int] | None = None,
    rates: Mapping[str, Rate] | None = None,
    name: str = "test",
) -> Query:
    """A query of identity operators from (producer, consumer) pairs.

    ``deadlines`` name the outputs. What is never a consumer is a source.
    """
    inputs: dict[str, list[str]] = {}
    order: dict[str, None] = {}
    for producer, consumer in streams:
        order.setdefault(producer)
        order.setdefault(consumer)
        inputs.setdefault(consumer, []).append(producer)
    cost_of = costs if isinstance(costs, Mapping) else dict.fromkeys(order, costs)
    operators = [
        identity(o, inputs[o], cost_of.get(o, 1), (timeouts or {}).get(o))
        for o in order
        if o in inputs and o not in deadlines
    ]
    return Query(
        name=name,
        sources=tuple(source(s, rate=(rates or {}).get(s)) for s in order if s not in inputs),
        steps=tuple(operators),
        outputs=tuple(
            Output(name=o, stream=inputs[o][0], deadline=deadline)
            for o, deadline in deadlines.items()
        ),
    )


def one_node(query: Query, **node: float) -> Vehicle:
    """A vehicle with a single ECU that has all the sensors."""
    return Vehicle(
        name="one",
        nodes=(Node(name="ecu", **node),),  # type: ignore[arg-type]
        sensors=tuple((s.name, "ecu") for s in query.sources),
    )


def compiled_until(
    last: Callable[[Compilation], Compilation], query: Query, vehicle: Vehicle | None = None
) -> Compilation:
    """The compilation after that pass and all before it."""
    compilation = Compilation(
        query=query, vehicle=vehicle or one_node(query), timed=vehicle is not None
    )
    for run_pass in PASSES:
        compilation = run_pass(compilation)
        if run_pass is last:
            break
    return compilation
