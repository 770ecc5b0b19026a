"""Random queries and random recordings of a small fleet: late, missing, NULL, NaN, ties.

Every stream has the columns of ``COLUMNS``, so any operator can follow any other.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.contract.recordings import Recording, Tuple
from tests.contract.users import HERE

from headway.model.expression import Column, PythonCall, Sql
from headway.model.operators import (
    Aggregate,
    Distinct,
    Filter,
    Gather,
    Input,
    Join,
    Map,
    Operator,
    Union,
    UserDefined,
)
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND
from headway.model.query import Decide, LoadShedder, Output, Query, Source
from headway.model.schema import DataType, schema

COLUMNS = schema(k="int", v="double")
NATIVE = ("filter", "map", "union", "join", "aggregate")
ALL = (*NATIVE, "python", "udo", "old", "gather", "timeout", "distinct")


@dataclass(frozen=True)
class Shape:
    """What a random query may hold."""

    kinds: Sequence[str] = ALL
    most_operators: int = 6
    most_sources: int = 3
    shedders: bool = True


def random_query(draw: random.Random, shape: Shape) -> Query:
    """Whatever nobody reads is an output, and sometimes an inner stream too."""
    sources = [_source(draw, f"s{i}", shape) for i in range(draw.randint(1, shape.most_sources))]
    streams = [source.name for source in sources]
    unread = dict.fromkeys(streams)
    steps: list[Operator] = []
    for index in range(draw.randint(1, shape.most_operators)):
        kind = draw.choice(shape.kinds)
        several = kind in ("join", "gather", "timeout", "union")
        first = (
            draw.choice(list(unread) or streams) if draw.random() < 0.7 else draw.choice(streams)
        )
        inputs = [first, draw.choice(streams)] if several else [first]
        steps.append(_operator(draw, kind, f"o{index}", inputs))
        for stream in inputs:
            unread.pop(stream, None)
        streams.append(f"o{index}")
        unread[f"o{index}"] = None
    outputs = list(unread)
    inner = [stream for stream in streams if stream not in unread]
    if inner and draw.random() < 0.4:
        outputs.append(draw.choice(inner))
    return Query(
        name="random",
        sources=tuple(sources),
        steps=tuple(steps),
        outputs=tuple(
            Output(name=f"out_{stream}", stream=stream, deadline=draw.randint(1, 9) * SECOND)
            for stream in outputs
        ),
    )


def _source(draw: random.Random, name: str, shape: Shape) -> Source:
    shedder = None
    if shape.shedders and draw.random() < 0.25:
        shedder = LoadShedder(
            at_most=draw.randint(1, 3),
            per=draw.choice((3, 7)) * MILLISECOND,
            value=Sql("v"),
            decide=draw.choice(tuple(Decide)),
        )
    lateness = draw.choice((0, 2, 5, 20)) * MILLISECOND
    return Source(name=name, schema=COLUMNS, lateness=lateness, shedder=shedder)


def _operator(draw: random.Random, kind: str, name: str, streams: Sequence[str]) -> Operator:
    only = (Input("input", streams[0]),)
    ports = tuple(Input(port, stream) for port, stream in zip("ab", streams, strict=False))
    if kind == "filter":
        where = draw.choice(("v >= 0", "v < 60", "k = 1 OR k IS NULL", "v IS NOT NULL"))
        return Filter(name=name, inputs=only, where=Sql(where))
    if kind == "map":
        value = draw.choice(("v + 1", "IF(k = 2, NULL, v)", "coalesce(v, 0) * 2"))
        return Map(name=name, inputs=only, columns=(Column("v", Sql(value)),), keep=True)
    if kind == "python":
        call = PythonCall(f"{HERE}:half", ("v", "timestamp"), DataType.DOUBLE)
        if draw.random() < 0.3:
            call = PythonCall(f"{HERE}:is_small", ("v", "timestamp"), DataType.BOOLEAN)
            return Filter(name=name, inputs=only, where=call)
        return Map(name=name, inputs=only, columns=(Column("v", call),), keep=True)
    if kind == "union":
        return Union(
            name=name,
            inputs=tuple(Input(f"input{i}", s) for i, s in enumerate(streams, start=1)),
        )
    if kind == "aggregate":
        window = draw.choice((3, 5, 10)) * MILLISECOND
        value = draw.choice(("max(v)", "min(v)", "sum(k) * 1.0D", "count(v) * 1.0D"))
        return Aggregate(
            name=name,
            inputs=only,
            window=window,
            every=draw.choice((window, window // 2, 2 * MILLISECOND)),
            by=("k",),
            columns=(Column("v", Sql(value)),),
        ) if draw.random() < 0.7 else _keyless(name, only, window)  # fmt: skip
    if kind == "distinct":
        keys = draw.choice((("k",), ("v",), ("k", "v"), ()))
        within = draw.choice((0, 1, 4, 10)) * MILLISECOND
        return Distinct(name=name, inputs=only, keys=keys, within=within)
    if kind in ("join", "timeout"):
        timeout = draw.choice((1, 4, 10)) * MILLISECOND if kind == "timeout" else None
        narrowed = draw.choice((None, Sql("a.v <= b.v OR a.k = 1")))
        return Join(
            name=name,
            inputs=ports,
            within=draw.choice((0, 1, 3)) * MILLISECOND + draw.choice((0, 999 * MICROSECOND)),
            keys=draw.choice(((("k", "k"),), (("v", "v"),), (("k", "k"), ("v", "v")))),
            where=narrowed,
            timeout=timeout,
            columns=(
                Column("k", Sql("coalesce(a.k, b.k)")),
                Column("v", Sql("coalesce(a.v, 0) + coalesce(b.v, 0)")),
            ),
        )
    if kind == "gather":
        return UserDefined(
            name=name,
            inputs=ports,
            timeout=draw.choice((0, 2, 6)) * MILLISECOND,
            implementation=f"{HERE}:{draw.choice(('Batch', 'Spread'))}",
            schema=COLUMNS,
            gather=draw.choice((Gather.ALL, Gather.TIME)),
        )
    implementation = {"udo": "Change", "old": "Remember"}[kind]
    return UserDefined(
        name=name, inputs=only, implementation=f"{HERE}:{implementation}", schema=COLUMNS
    )


def _keyless(name: str, inputs: tuple[Input, ...], window: int) -> Operator:
    """The window's own bounds as columns."""
    columns = (
        Column("k", Sql("CAST(count(*) AS int)")),
        Column("v", Sql("CAST(unix_micros(window_end) - unix_micros(window_start) AS double)")),
    )
    return Aggregate(name=name, inputs=inputs, window=window, every=window, columns=columns)


def random_recording(
    draw: random.Random, query: Query, *, vehicles: int = 2, most: int = 25
) -> Recording:
    """Tuples of all vehicles and sources, in order of arrival within each; some sources silent."""
    found: list[Tuple] = []
    start = draw.choice((0, 1_700_000_000_000_000, -5_000))
    for number in range(vehicles):
        for source in query.sources:
            if draw.random() < 0.1:
                continue
            arrived = start + draw.randint(0, 5) * 1000
            for _ in range(draw.randint(1, most)):
                # Mostly on a grid, so that instants are shared and borders of windows are met.
                arrived += draw.choice((0, 0, 500, 1000, 1000, 2500, draw.randint(0, 24) * 500))
                age = draw.choice((0, 0, 1000, 3000, draw.randint(0, 24) * 500, -2000))
                age += draw.choice((0, 0, 0, 0, draw.randint(-9, 9)))
                row = (arrived - age, draw.choice((0, 1, 2, None)), _value(draw))
                found.append(Tuple(f"car{number}", source.name, arrived, row))
    return Recording(tuple(found))


def _value(draw: random.Random) -> float | None:
    special = (None, float("nan"), 0.0, -0.0, float("inf"))
    return draw.choice(special) if draw.random() < 0.25 else float(draw.randint(0, 9) * 10)
