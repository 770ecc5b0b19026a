"""Short ways to write operators in tests."""

from __future__ import annotations

import json
from typing import Any

from headway.engine.operators.operator_base import StatefulOperator
from headway.model.expression import Column, Sql
from headway.model.operators import Filter, Input, Map, Union


def one_input(stream: str) -> tuple[Input, ...]:
    return (Input("input", stream),)


def where(name: str, stream: str, text: str) -> Filter:
    return Filter(name=name, inputs=one_input(stream), where=Sql(text))


def compute(name: str, stream: str, keep: bool = False, **columns: str) -> Map:
    return Map(name=name, inputs=one_input(stream), columns=sql_columns(columns), keep=keep)


def union(name: str, *streams: str) -> Union:
    inputs = tuple(Input(f"input{i}", stream) for i, stream in enumerate(streams, start=1))
    return Union(name=name, inputs=inputs)


def sql_columns(columns: dict[str, str]) -> tuple[Column, ...]:
    return tuple(Column(name, Sql(text)) for name, text in columns.items())


def moved(old: StatefulOperator, new: StatefulOperator) -> StatefulOperator:
    """The new operator, with the old one's state as it comes back from a file."""
    state: dict[str, Any] = json.loads(json.dumps(old.snapshot()))
    new.restore(state)
    return new


def same(rows: Any) -> str:
    """For comparisons in which NaN equals NaN."""
    return repr(rows)
