"""A query and vehicles small enough to follow by eye: two sources, a join that waits, a window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headway.compiler import compile_query
from headway.model.expression import Column, Sql
from headway.model.operators import Aggregate, Input, Join, Union
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, SECOND
from headway.model.query import Output, Query, Source
from headway.model.schema import schema

COLUMNS = schema(v="int")


def _query(name: str, sources: int, step: Any) -> Plan:
    return compile_query(
        Query(
            name=name,
            sources=tuple(Source(name=f"s{place}", schema=COLUMNS) for place in range(sources)),
            steps=(step,),
            outputs=(Output(name="out", stream="x", deadline=SECOND),),
        )
    )


def window() -> Plan:
    """The sum over ten milliseconds of one source."""
    return _query(
        "window",
        1,
        Aggregate(
            name="x",
            inputs=(Input("input", "s0"),),
            window=10 * MILLISECOND,
            every=10 * MILLISECOND,
            columns=(Column("v", Sql("CAST(sum(v) AS int)")),),
        ),
    )


def both() -> Plan:
    """All tuples of two sources, in order of arrival."""
    return _query("both", 2, Union(name="x", inputs=(Input("a", "s0"), Input("b", "s1"))))


def waiting() -> Plan:
    """Pairs of two sources; one without a partner goes out alone after five milliseconds."""
    return _query(
        "waiting",
        2,
        Join(
            name="x",
            inputs=(Input("a", "s0"), Input("b", "s1")),
            within=2 * MILLISECOND,
            timeout=5 * MILLISECOND,
            columns=(Column("v", Sql("coalesce(a.v, 0) + coalesce(b.v, 0)")),),
        ),
    )


def table(*tuples: tuple[str, int, int], position: Sequence[int | None] | None = None) -> Any:
    """(vehicle, arrival and timestamp in milliseconds, value) as a source's table."""
    times = [at * 1000 for _, at, _ in tuples]
    places = range(len(tuples)) if position is None else position
    return pa.table(
        {
            "vehicle": pa.array([vehicle for vehicle, _, _ in tuples], pa.string()),
            "#at": pa.array(times, pa.int64()),
            "#position": pa.array(places, pa.int64()),
            "timestamp": pa.array(times, pa.int64()),
            "v": pa.array([value for _, _, value in tuples], pa.int32()),
        }
    )


def shown(output: Any) -> list[tuple[str, int, int]]:
    """(vehicle, timestamp in milliseconds, value)."""
    columns = [output.column(name).to_pylist() for name in ("vehicle", "timestamp", "v")]
    return [(vehicle, at // 1000, value) for vehicle, at, value in zip(*columns, strict=True)]
