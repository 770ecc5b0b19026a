"""Aggregates on the vehicle: a state per group that takes rows one by one and can be merged.

The state is a plain list, so that it can be kept, sent and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headway.expressions.body import Body, build, define
from headway.expressions.emit import Emitter, Value
from headway.expressions.functions import AGGREGATES
from headway.expressions.rows import Row, RowReader
from headway.expressions.scope import WINDOW_COLUMNS, Scope
from headway.model.expression_tree import AggregateCall, ColumnRef, Typed, walk

State = list[Any]


@dataclass(frozen=True, slots=True)
class AggregateFunctions:
    """What an aggregate operator does with its columns; ``source`` is the generated text."""

    new: Callable[[], State]
    """An empty group."""
    add: Callable[[State, Row], None]
    """Takes in one row."""
    merge: Callable[[State, State], None]
    """Takes another group's rows into the first one."""
    result: Callable[[State, tuple[Any, ...], int, int], Row]
    """``result(state, keys, window_start, window_end)``: the columns' values, in order."""
    source: str


def compile_aggregates(
    columns: Sequence[Typed], scope: Scope, grouping: tuple[str, ...] = ()
) -> AggregateFunctions:
    """The functions of the columns of one aggregate operator; equal aggregates share a slot."""
    calls = list(
        dict.fromkeys(
            node
            for column in columns
            for node in walk(column.tree)
            if isinstance(node, AggregateCall)
        )
    )
    body_of_add = _add(calls, scope)
    body_of_result = _result(columns, calls, grouping)
    source = "\n\n".join(
        [
            define("new", [], _new(calls)),
            define("add", ["state", "row"], body_of_add),
            define("merge", ["state", "other"], _merge(calls)),
            define("result", ["state", "keys", *WINDOW_COLUMNS], body_of_result),
        ]
    )
    new, add, merge, result = build(
        source,
        ["new", "add", "merge", "result"],
        {**body_of_add.globals, **body_of_result.globals},
    )
    return AggregateFunctions(new, add, merge, result, source)


def _new(calls: Sequence[AggregateCall]) -> Body:
    body = Body()
    body.line(f"return [{', '.join(AGGREGATES[call.function].initial for call in calls)}]")
    return body


def _add(calls: Sequence[AggregateCall], scope: Scope) -> Body:
    body = Body()
    body.fresh("state")
    emitter = Emitter(body, RowReader(body, scope))
    for slot, call in enumerate(calls):
        value = None if call.argument is None else emitter.name(call.argument)
        statement = _statement(call, "add", slot, value.code if value else "")
        if value is None or not value.nulls:
            body.line(statement)
            continue
        body.line(f"if {value.code} is not None:")
        with body.indented():
            body.line(statement)
    return body


def _merge(calls: Sequence[AggregateCall]) -> Body:
    body = Body()
    for slot, call in enumerate(calls):
        body.line(_statement(call, "merge", slot, ""))
    return body


def _statement(call: AggregateCall, which: str, slot: int, value: str) -> str:
    function = AGGREGATES[call.function]
    template = function.add if which == "add" else function.merge
    if not isinstance(template, str):
        assert call.argument is not None
        template = template((call.argument.type,))
    return (
        template.replace("$s", f"state[{slot}]")
        .replace("$o", f"other[{slot}]")
        .replace("$x", value)
    )


def _result(
    columns: Sequence[Typed], calls: Sequence[AggregateCall], grouping: tuple[str, ...]
) -> Body:
    body = Body()

    def read(column: ColumnRef) -> Value:
        if column.name in WINDOW_COLUMNS and column.name not in grouping:
            return Value(column.name, atom=True)
        name = f"key_{grouping.index(column.name)}"
        return Value(name, (name,) if column.nullable else (), atom=True)

    if grouping:
        names = [f"key_{index}" for index in range(len(grouping))]
        body.line(f"{', '.join(names)}, = keys")
    named: dict[AggregateCall, Value] = {}
    for slot, call in enumerate(calls):
        function = AGGREGATES[call.function]
        name = f"a{slot + 1}"
        body.line(f"{name} = {function.result.replace('$s', f'state[{slot}]')}")
        named[call] = Value(name, (name,) if function.nullable else (), atom=True)
    emitter = Emitter(body, read, named.__getitem__)
    values = [emitter.result(column.tree) for column in columns]
    body.line(f"return ({', '.join(values)},)" if values else "return ()")
    return body
