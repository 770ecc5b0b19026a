"""Random queries and vehicles of the model, of every construct, for round trips."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from headway.model.expression import Column, Expression, PythonCall, Sql
from headway.model.operators import (
    ONLY_PORT,
    Aggregate,
    AssociationGate,
    Distinct,
    Filter,
    Fusion,
    Gather,
    Input,
    Join,
    Map,
    Union,
    UserDefined,
)
from headway.model.quantities import Cost, OptionalPart, Rate
from headway.model.query import (
    Component,
    ComponentUse,
    Criticality,
    Decide,
    LoadShedder,
    Output,
    Port,
    Query,
    Source,
    Step,
)
from headway.model.schema import DataType, Field, Schema
from headway.model.vehicle import Bus, BusCharge, BusKind, Gateway, Link, Node, Vehicle

names = st.sampled_from(
    ["on", "yes", "null", "true", "y", "_", "e1", "filter", "from", "x" * 63]
) | (st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True))
streams = st.lists(names, min_size=1, max_size=3).map(".".join)
times = st.integers(0, 10**15)
positive_times = st.integers(1, 10**15)
lengths = st.integers(1, 10**15)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(
    lambda text: bool(text.strip())
)
sql_texts = texts | st.sampled_from(
    [
        "x > 1",
        "1",
        "1.50",
        "1e5",
        "0" * 25,
        "1e999",
        "true",
        "~",
        "null",
        "'it''s'",
        "a: b",
        "- x",
        "# x",
        "a\nb\n",
        "a\n b",
    ]
)
paths = st.tuples(streams, streams).map(":".join)
shares = st.floats(0, 1, exclude_min=True)
numbers = st.floats(0, 1e300, exclude_min=True)
units = st.none() | st.from_regex(r"[a-z/ 0-9µ²]{1,20}", fullmatch=True)
types = st.sampled_from(list(DataType))


def pairs(keys: st.SearchStrategy[str], values: st.SearchStrategy[Any], least: int = 0) -> Any:
    return st.dictionaries(keys, values, min_size=least, max_size=4).map(lambda d: tuple(d.items()))


def _field(name: str, kind: DataType, unit: str | None, length: int | None) -> Field:
    return Field(name, kind, unit, length if kind is DataType.STRING else None)


schemas = st.lists(
    st.builds(_field, names, types, units, st.none() | st.integers(0, 99999)),
    max_size=4,
    unique_by=lambda field: field.name,
).map(lambda fields: Schema(tuple(fields)))
expressions: st.SearchStrategy[Expression] = st.builds(Sql, sql_texts) | st.builds(
    PythonCall, paths, st.lists(streams, max_size=3).map(tuple), types, units
)
columns = pairs(names, expressions).map(lambda items: tuple(Column(*item) for item in items))
costs = st.builds(Cost, times, times, st.integers(1, 10**6), st.booleans())
parameters = pairs(
    names,
    st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)


def ports(least: int, most: int = 4) -> Any:
    return st.dictionaries(names, streams, min_size=least, max_size=most).map(
        lambda found: tuple(Input(*item) for item in found.items())
    )


single = streams.map(lambda stream: (Input(ONLY_PORT, stream),))
several = st.lists(streams, min_size=1, max_size=4).map(
    lambda found: tuple(Input(f"{ONLY_PORT}{n}", s) for n, s in enumerate(found, start=1))
)
COMMON: dict[str, Any] = {
    "name": st.just("unnamed"),
    "cost": st.none() | costs,
    "selectivity": st.floats(0, 1e9),
    "most_outputs": st.integers(1, 10**6),
    "timeout": st.none() | times,
}
CLASS: dict[str, Any] = COMMON | {
    "inputs": ports(1),
    "implementation": paths,
    "schema": schemas,
    "gather": st.sampled_from(Gather),
    "parameters": parameters,
    "optional": st.none() | st.builds(OptionalPart, positive_times, positive_times),
}
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(Filter, inputs=single, where=expressions, **COMMON),
    st.builds(Map, inputs=single, columns=columns, keep=st.booleans(), **COMMON),
    st.builds(Union, inputs=several, **COMMON),
    st.builds(
        Join,
        inputs=ports(2, 2),
        within=times,
        keys=st.lists(st.tuples(names, names), max_size=3).map(tuple),
        where=st.none() | expressions,
        columns=columns,
        partners=st.none() | st.tuples(names, st.integers(1, 1000)),
        **COMMON,
    ),
    st.builds(
        Aggregate,
        inputs=single,
        window=lengths,
        every=lengths,
        by=st.lists(names, max_size=3).map(tuple),
        columns=columns,
        **COMMON,
    ),
    st.builds(
        Distinct,
        inputs=single,
        keys=st.lists(names, max_size=3).map(tuple),
        within=times,
        **COMMON,
    ),
    st.builds(UserDefined, **CLASS),
    st.builds(
        Fusion,
        front=lengths,
        rear=lengths,
        object_key=st.none() | names,
        sensor_key=st.none() | names,
        gate=st.none() | st.builds(AssociationGate, st.floats(0.5, 0.999), st.integers(1, 9)),
        correlated=st.booleans(),
        **CLASS,
    ),
    st.builds(ComponentUse, name=st.just("unnamed"), component=names, inputs=ports(0)),
)


def named(values: st.SearchStrategy[Any], most: int = 4) -> Any:
    """Values with a ``name`` each, all different."""

    def rename(found: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(type(v)(**{**vars(v), "name": name}) for name, v in found.items())

    return st.dictionaries(names, values, max_size=most).map(rename)


rates = st.builds(Rate, st.integers(1, 10**9 - 1), lengths, times)
shedders = st.builds(
    LoadShedder,
    at_most=st.integers(1, 10**9 - 1),
    per=lengths,
    value=expressions,
    decide=st.sampled_from(Decide),
)
sources = st.builds(
    Source,
    name=st.just("unnamed"),
    schema=schemas,
    rate=st.none() | rates,
    gap=st.none() | lengths,
    delay=times,
    lateness=times,
    offset=st.none() | times,
    shedder=st.none() | shedders,
)
outputs = st.builds(
    Output,
    name=st.just("unnamed"),
    stream=streams,
    deadline=st.none() | times,
    criticality=st.sampled_from(Criticality),
    weight=numbers,
)
components = st.builds(
    Component,
    name=st.just("unnamed"),
    inputs=named(st.builds(Port, name=st.just("unnamed"), schema=schemas), 3),
    steps=named(steps, 3),
    outputs=pairs(names, streams),
)
queries = st.builds(
    Query,
    name=names,
    sources=named(sources, 3),
    steps=named(steps),
    outputs=named(outputs, 3),
    components=named(components, 2),
)

bits = st.integers(1, 10**17)
nodes = st.builds(
    Node,
    name=st.just("unnamed"),
    rate=numbers,
    cores=st.integers(1, 64),
    capacity=shares,
    decision_cost=times,
    preemption_cost=times,
)
some_names = st.lists(names, max_size=4).map(tuple)
buses = st.builds(
    Bus,
    name=st.just("unnamed"),
    kind=st.sampled_from(BusKind),
    bit_rate=bits,
    nodes=some_names,
    data_bit_rate=st.none() | bits,
    identifier_bits=st.sampled_from([11, 29]),
    capacity=shares,
)
vehicles = st.builds(
    Vehicle,
    name=names,
    nodes=named(nodes),
    buses=named(buses),
    gateways=named(st.builds(Gateway, name=st.just("unnamed"), buses=some_names, delay=times)),
    links=named(
        st.builds(
            Link,
            name=st.just("unnamed"),
            ends=st.tuples(names, names),
            speed=bits,
            capacity=shares,
        )
    ),
    sensors=pairs(names, names),
    pins=pairs(streams, names),
    bus_charge=st.sampled_from(BusCharge),
)
