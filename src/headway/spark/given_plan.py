"""What users of the library call a query, as a plan."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Protocol, runtime_checkable

from headway.compiler.passes import compile_query
from headway.errors import QueryError
from headway.files.load_queries import LoadedQuery, load_query, placed
from headway.fluent import QueryBuilder
from headway.model.plan import Plan
from headway.model.query import Query


@runtime_checkable
class HoldsPlan(Protocol):
    """What ``hw.compile`` gives."""

    @property
    def plan(self) -> Plan: ...


GivenQuery = Plan | HoldsPlan | Query | LoadedQuery | QueryBuilder | PathLike[str] | str
"""a text is the path of a YAML file"""


def plan_of(query: GivenQuery) -> Plan:
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
