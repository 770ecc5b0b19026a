"""The contract's queries, found by name: one for every operator kind and every way it can work.

All read the sources ``s0``, ``s1`` and ``s2`` of :mod:`tests.contract.random_queries`, so that many
can be merged into one query and run as one Spark job. A kind of another package brings its own.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tests.contract.random_queries import COLUMNS, Shape, random_query
from tests.contract.users import HERE

from headway.extensions import resolve
from headway.model.expression import Column, PythonCall, Sql
from headway.model.operator_kinds import KINDS
from headway.model.operators import (
    Aggregate,
    AssociationGate,
    Distinct,
    Filter,
    Fusion,
    Gather,
    Input,
    Join,
    Map,
    Operator,
    Sample,
    Union,
    UserDefined,
)
from headway.model.quantities import MILLISECOND, SECOND
from headway.model.query import Decide, LoadShedder, Output, Query, Source
from headway.model.schema import DataType, schema

MS = MILLISECOND
SURROUNDINGS = "headway.fusion.surroundings:SurroundingsFusion"
ONLY = (Input("input", "s0"),)
BOTH = (Input("a", "s0"), Input("b", "s1"))
SUM = (
    Column("k", Sql("coalesce(a.k, b.k)")),
    Column("v", Sql("coalesce(a.v, 0) + coalesce(b.v, 0)")),
)
LAST = Column("v", Sql("max(v)"))


def _udo(
    name: str,
    inputs: tuple[Input, ...] = ONLY,
    timeout: int | None = None,
    gather: Gather = Gather.ALL,
) -> Operator:
    return UserDefined(
        name="x",
        inputs=inputs,
        implementation=f"{HERE}:{name}",
        schema=COLUMNS,
        timeout=timeout,
        gather=gather,
    )


def _fusion(gather: Gather) -> Operator:
    return Fusion(
        name="x",
        inputs=BOTH,
        implementation=f"{HERE}:Batch",
        schema=COLUMNS,
        front=5 * MS,
        rear=9 * MS,
        timeout=3 * MS,
        gather=gather,
    )


def _surroundings(gate: AssociationGate | None, *, correlated: bool) -> tuple[Operator, ...]:
    """Headway's own type 2, with what a query may declare of it: made into sightings and back."""
    reports = [
        Map(
            name=f"to_{port.port}",
            inputs=(Input("input", port.stream),),
            columns=(
                Column("id", Sql("k")),
                Column("own", Sql("k = 1")),
                Column("x", Sql("v")),
                Column("y", Sql("v / 2")),
                Column("var_pos", Sql("CASE WHEN v > 50 THEN 400.0D ELSE 4.0D END")),
            ),
        )
        for port in BOTH
    ]
    fusion = Fusion(
        name="f",
        inputs=tuple(Input(port.port, f"to_{port.port}") for port in BOTH),
        implementation=SURROUNDINGS,
        schema=schema(id="int", x="double", conf="double"),
        front=5 * MS,
        rear=9 * MS,
        object_key="id",
        timeout=3 * MS,
        gate=gate,
        correlated=correlated,
    )
    back = (Column("k", Sql("id")), Column("v", Sql("x + conf")))
    return (*reports, fusion, Map(name="x", inputs=(Input("input", "f"),), columns=back))


CASES: dict[str, tuple[Operator, ...]] = {
    "filter": (Filter(name="x", inputs=ONLY, where=Sql("v < 60 OR k IS NULL")),),
    "filter by a function": (
        Filter(
            name="x",
            inputs=ONLY,
            where=PythonCall(f"{HERE}:is_small", ("v", "timestamp"), DataType.BOOLEAN),
        ),
    ),
    "map, keeping": (
        Map(name="x", inputs=ONLY, columns=(Column("v", Sql("v * 2 + k")),), keep=True),
    ),
    "map by functions": (
        Map(
            name="x",
            inputs=ONLY,
            columns=(
                Column("k", Sql("k + 1")),
                Column("v", PythonCall(f"{HERE}:half", ("v", "timestamp"), DataType.DOUBLE)),
            ),
        ),
    ),
    "union": (Union(name="x", inputs=(Input("input1", "s0"), Input("input2", "s2"))),),
    "union of a stream with itself": (
        Union(name="x", inputs=(Input("input1", "s0"), Input("input2", "s0"))),
    ),
    "join at one instant": (
        Join(name="x", inputs=BOTH, within=0, keys=(("k", "k"),), columns=SUM),
    ),
    "join within a time": (
        Join(name="x", inputs=BOTH, within=3 * MS, keys=(("v", "v"),), columns=SUM),
    ),
    "join without keys": (
        Join(name="x", inputs=BOTH, within=MS, where=Sql("a.v < b.v"), columns=SUM),
    ),
    "join of a stream with itself": (
        Join(
            name="x",
            inputs=(Input("a", "s0"), Input("b", "s0")),
            within=2 * MS,
            keys=(("k", "k"),),
            columns=SUM,
        ),
    ),
    "join by a function": (
        Join(
            name="x",
            inputs=BOTH,
            within=3 * MS,
            keys=(("k", "k"),),
            where=PythonCall(f"{HERE}:is_small", ("a.v", "b.timestamp"), DataType.BOOLEAN),
            columns=(
                Column("k", Sql("a.k")),
                Column("v", PythonCall(f"{HERE}:half", ("b.v", "a.timestamp"), DataType.DOUBLE)),
            ),
        ),
    ),
    "join with a timeout": (
        Join(name="x", inputs=BOTH, within=2 * MS, keys=(("k", "k"),), timeout=4 * MS, columns=SUM),
    ),
    "tumbling windows": (
        Aggregate(name="x", inputs=ONLY, window=5 * MS, every=5 * MS, by=("k",), columns=(LAST,)),
    ),
    "sliding windows": (
        Aggregate(name="x", inputs=ONLY, window=7 * MS, every=3 * MS, by=("k",), columns=(LAST,)),
    ),
    "windows of a join": (
        Join(name="j", inputs=BOTH, within=3 * MS, keys=(("k", "k"),), columns=SUM),
        Aggregate(
            name="x",
            inputs=(Input("input", "j"),),
            window=5 * MS,
            every=5 * MS,
            by=("k",),
            columns=(Column("v", Sql("avg(v)")),),
        ),
    ),
    "windows of windows": (
        Aggregate(name="w", inputs=ONLY, window=3 * MS, every=3 * MS, by=("k",), columns=(LAST,)),
        Aggregate(
            name="x",
            inputs=(Input("input", "w"),),
            window=9 * MS,
            every=9 * MS,
            by=("v",),
            columns=(Column("k", Sql("CAST(count(*) AS int)")),),
        ),
        Map(
            name="y",
            inputs=(Input("input", "x"),),
            columns=(Column("k", Sql("k")), Column("v", Sql("v"))),
        ),
    ),
    "distinct": (Distinct(name="x", inputs=ONLY, keys=("k",), within=3 * MS),),
    "distinct by two columns, at one instant": (
        Distinct(name="x", inputs=ONLY, keys=("k", "v"), within=0),
    ),
    "distinct without keys": (Distinct(name="x", inputs=ONLY, within=2 * MS),),
    "distinct of several sources, then by a function": (
        Union(name="u", inputs=(Input("input1", "s0"), Input("input2", "s2"))),
        Distinct(name="d", inputs=(Input("input", "u"),), keys=("k",), within=4 * MS),
        Map(
            name="x",
            inputs=(Input("input", "d"),),
            columns=(
                Column("k", Sql("k")),
                Column("v", PythonCall(f"{HERE}:half", ("v", "timestamp"), DataType.DOUBLE)),
            ),
        ),
    ),
    "distinct between windows and a join": (
        Aggregate(name="w", inputs=ONLY, window=4 * MS, every=2 * MS, by=("k",), columns=(LAST,)),
        Distinct(name="d", inputs=(Input("input", "w"),), keys=("v",), within=6 * MS),
        Join(
            name="x",
            inputs=(Input("a", "d"), Input("b", "s1")),
            within=4 * MS,
            keys=(("k", "k"),),
            columns=SUM,
        ),
    ),
    "sample": (Sample(name="x", inputs=ONLY, every=3 * MS, hold=7 * MS),),
    "sample, displaced": (
        Sample(name="x", inputs=ONLY, every=3 * MS, offset=MS, jitter=2 * MS, hold=5 * MS),
    ),
    "sample of two, renamed": (
        Sample(name="s", inputs=BOTH, every=2 * MS, hold=4 * MS),
        Map(
            name="x",
            inputs=(Input("input", "s"),),
            columns=(Column("k", Sql("a_k")), Column("v", Sql("coalesce(a_v, 0) - b_v"))),
        ),
    ),
    "sample of a sample at one instant": (
        Sample(name="s", inputs=ONLY, every=2 * MS, hold=3 * MS),
        Sample(name="x", inputs=(Input("input", "s"),), every=4 * MS, hold=5 * MS),
    ),
    "windows of a sample": (
        Sample(name="s", inputs=ONLY, every=2 * MS, hold=3 * MS),
        Aggregate(
            name="x",
            inputs=(Input("input", "s"),),
            window=5 * MS,
            every=5 * MS,
            by=("k",),
            columns=(LAST,),
        ),
    ),
    "sample of windows": (
        Aggregate(name="w", inputs=ONLY, window=5 * MS, every=5 * MS, by=("k",), columns=(LAST,)),
        Sample(name="x", inputs=(Input("input", "w"),), every=4 * MS, hold=9 * MS),
    ),
    "udo": (_udo("Change"),),
    "udo, then windows": (
        _udo("Remember"),
        Aggregate(
            name="w",
            inputs=(Input("input", "x"),),
            window=5 * MS,
            every=5 * MS,
            by=("k",),
            columns=(LAST,),
        ),
    ),
    "udo, gathering all": (_udo("Batch", BOTH, timeout=3 * MS),),
    "udo, gathering for a time": (_udo("Batch", BOTH, timeout=3 * MS, gather=Gather.TIME),),
    "udo after windows and a timeout": (
        Aggregate(name="w", inputs=ONLY, window=4 * MS, every=2 * MS, by=("k",), columns=(LAST,)),
        Join(
            name="j",
            inputs=(Input("a", "w"), Input("b", "s1")),
            within=4 * MS,
            keys=(("k", "k"),),
            timeout=2 * MS,
            columns=SUM,
        ),
        _udo("Change", (Input("input", "j"),)),
    ),
    "fusion, gathering all": (_fusion(Gather.ALL),),
    "fusion, gathering for a time": (_fusion(Gather.TIME),),
    "fusion with a gate": _surroundings(AssociationGate(0.9, 2), correlated=False),
    "fusion with a gate, correlated": _surroundings(AssociationGate(0.95, 1), correlated=True),
}  # fmt: skip

for _kind in KINDS.values():
    if _kind.cases:
        CASES |= {f"{_kind.kind}: {name}": case for name, case in resolve(_kind.cases).items()}

SOURCES: dict[str, tuple[Source, ...]] = {
    "plain": tuple(
        Source(name=name, schema=COLUMNS, lateness=lateness * MS)
        for name, lateness in (("s0", 2), ("s1", 0), ("s2", 20))
    ),
    "shed": tuple(
        Source(
            name=name,
            schema=COLUMNS,
            lateness=4 * MS,
            shedder=LoadShedder(at_most=2, per=3 * MS, value=Sql("v"), decide=decide)
            if decide
            else None,
        )
        for name, decide in (("s0", Decide.ARRIVAL), ("s1", Decide.WINDOW_END), ("s2", None))
    ),
}


def query_of(cases: Iterable[str], sources: str) -> Query:
    """Cases merged into one query: the outputs are named after them."""
    return merged([(name, CASES[name]) for name in cases], SOURCES[sources])


def random_queries(seed: int, count: int, kinds: Sequence[str]) -> Query:
    """Random queries merged into one, over sources drawn once."""
    draw = random.Random(seed)
    shape = Shape(kinds=kinds, most_sources=3)
    sources = random_query(draw, replace(shape, most_operators=1)).sources
    while len(sources) < 3:
        sources = random_query(draw, replace(shape, most_operators=1)).sources
    found = []
    for number in range(count):
        query = random_query(draw, shape)
        found.append((f"random {number}", tuple(query.operators)))
    return merged(found, sources)


def merged(cases: Sequence[tuple[str, tuple[Operator, ...]]], sources: Sequence[Source]) -> Query:
    """Steps get the number of their case in front; what nobody reads is an output."""
    steps: list[Operator] = []
    outputs: list[Output] = []
    taken = {source.name for source in sources}
    read: set[str] = set()
    for number, (_, operators) in enumerate(cases):
        own = {operator.name: f"c{number}_{operator.name}" for operator in operators}
        inside: set[str] = set()
        for operator in operators:
            inputs = tuple(
                Input(port.port, own.get(port.stream, port.stream)) for port in operator.inputs
            )
            inside.update(port.stream for port in operator.inputs)
            read.update(port.stream for port in inputs)
            steps.append(replace(operator, name=own[operator.name], inputs=inputs))
        outputs += [
            Output(name=own[name], stream=own[name], deadline=(number + 1) * SECOND)
            for name in own
            if name not in inside
        ]
    used = tuple(source for source in sources if source.name in taken & read)
    return Query(name="contract", sources=used, steps=tuple(steps), outputs=tuple(outputs))
