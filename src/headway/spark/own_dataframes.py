"""For users of Spark: a query over their own DataFrames, in their own session.

from headway.spark import batch, stream

with batch("query.yaml", {"speed": spark.read.…}) as outputs:
    outputs["alarm"].write.…            # a DataFrame like any other
    outputs.late.count()                # also failed, rejected, shed: what left its way

outputs = stream("query.yaml", {"speed": spark.readStream.…})
outputs["alarm"]                        # a streaming DataFrame, where no state is needed
running = outputs.start(output="out", checkpoint="checkpoint")   # all outputs
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Protocol, runtime_checkable

from pyspark.sql import DataFrame

from headway.compiler.passes import compile_query
from headway.errors import QueryError
from headway.files.load_queries import LoadedQuery, load_query, placed
from headway.fluent import QueryBuilder
from headway.model.plan import Plan
from headway.model.query import Query
from headway.sources.in_memory import ArrowStream, Rows
from headway.spark.batches.asked_batch import AskedBatch
from headway.spark.streams.asked_stream import AskedStream


@runtime_checkable
class HoldsPlan(Protocol):
    """What ``hw.compile`` gives."""

    @property
    def plan(self) -> Plan: ...


GivenQuery = Plan | HoldsPlan | Query | LoadedQuery | QueryBuilder | PathLike[str] | str
"""a text is the path of a YAML file"""


def batch(query: GivenQuery, data: Mapping[str, DataFrame | ArrowStream | Rows]) -> AskedBatch:
    """A query over DataFrames, one for each source: ``timestamp``, the source's columns (narrower
    types will do; times may be timestamps, without a zone UTC's, or whole microseconds), and if
    there are any ``vehicle``, ``arrived_at`` and ``position`` (a number that breaks ties of
    arrival). Tables of Arrow, pandas or Polars and lists of rows are taken too.

    Gives the outputs by name as DataFrames that nothing has computed yet (where tuples could be
    late for a join or a window, the sources are looked at first), what left its way as ``side``,
    ``late``, ``failed``, ``rejected`` and ``shed``, and ``release`` for what several of them share.
    The answers are those of the vehicle engine in any session: in ANSI mode or not, in any zone,
    through Spark Connect; no setting is changed. InputError for a query or data that do not fit.
    """
    return AskedBatch(_plan_of(query), data)


def stream(query: GivenQuery, data: Mapping[str, DataFrame]) -> AskedStream:
    """A query over streaming DataFrames, one for each source: ``timestamp``, the source's columns
    (narrower types will do), and if there are any ``vehicle``, ``arrived_at`` and ``position`` (a
    number that breaks ties of arrival). Each must come in order of arrival, vehicle by vehicle.

    Gives the outputs that need no state as streaming DataFrames, by name, and ``start`` for all of
    them. Works through Spark Connect for the former. InputError for a query or data that do not
    fit."""
    return AskedStream(_plan_of(query), data)


def _plan_of(query: GivenQuery) -> Plan:
    """InputError, with its place in the file where there is one, for a query that does not hold
    together."""
    if isinstance(query, Plan):
        return query
    if isinstance(query, str | PathLike):
        query = load_query(Path(query))
    if isinstance(query, LoadedQuery):
        with placed(query, None):
            return compile_query(query.query, None)
    if isinstance(query, QueryBuilder):
        query = query.build()
    if isinstance(query, Query):
        return compile_query(query, None)
    if isinstance(query, HoldsPlan):
        return query.plan
    raise QueryError(
        "this is no query",
        got=type(query).__name__,
        want="a query, a builder, a plan, what hw.compile gives, or the path of a YAML file",
    )
