"""What the builders accept for durations, costs, rates, expressions and classes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypedDict, TypeVar

from pydantic_core import PydanticCustomError

from headway.errors import QueryError
from headway.files.forms import cost_by_kind, parse_rate, sql_text
from headway.model.expression import Column, Expression, PythonCall, Sql
from headway.model.names import NAME, NAME_FORM
from headway.model.quantities import Cost, OptionalPart, Rate, parse_duration
from headway.model.query import Decide, LoadShedder
from headway.model.schema import Schema, parse_field, schema

Choice = TypeVar("Choice", bound=StrEnum)
Duration = str | int
"""``'30 ms'``, or whole nanoseconds."""
CostLike = str | int | Cost | Mapping[str, str | int]
"""A duration, what :func:`cost` gives, or durations by kind of processor."""
OptionalLike = OptionalPart | tuple[Duration, Duration]
"""An optional part: its time, and that of a piece."""
ExpressionLike = str | bool | int | float | Expression
"""SQL text, a literal, or what :func:`call` gives."""
SchemaLike = Schema | Mapping[str, str]


class OperatorOptions(TypedDict, total=False):
    """The settings that all operators share; see :class:`headway.model.operators.OperatorBase`."""

    cost: CostLike
    selectivity: float
    most_outputs: int
    timeout: Duration


def refuse(what: str, at: str, got: str = "", want: str = "") -> QueryError:
    return QueryError(what, at=at, got=got, want=want)


def to_name(name: str, at: str) -> str:
    if NAME.fullmatch(str(name)) is None:
        raise refuse("not a name", at, got=repr(name), want=f"use {NAME_FORM}")
    return name


def to_choice(choices: type[Choice], value: Choice | str, at: str) -> Choice:
    """A member of an enumeration, by itself or by name."""
    try:
        return choices(value)
    except ValueError:
        known = ", ".join(repr(choice.value) for choice in choices)
        raise refuse("no such choice", at, got=repr(value), want=f"choose from {known}") from None


def to_time(value: Duration, at: str) -> int:
    """Nanoseconds."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    try:
        return parse_duration(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        want = "write a duration such as '30 ms', or whole nanoseconds"
        raise refuse("not a duration", at, got=repr(value), want=want) from None


def to_rate(value: str | Rate, jitter: Duration, at: str) -> Rate:
    if isinstance(value, Rate):
        return value
    try:
        rate = parse_rate(value)
    except (TypeError, ValueError):
        want = "write a rate such as '10 per 100 ms'"
        raise refuse("not a rate", at, got=repr(value), want=want) from None
    return Rate(rate.count, rate.period, to_time(jitter, at))


def to_schema(value: SchemaLike, at: str) -> Schema:
    if isinstance(value, Schema):
        return value
    try:
        return schema(value)
    except (TypeError, ValueError) as error:
        raise refuse(str(error), at) from None


def to_expression(value: ExpressionLike, at: str) -> Expression:
    if isinstance(value, Sql | PythonCall):
        return value
    try:
        return Sql(sql_text(value))
    except PydanticCustomError as error:
        raise refuse(error.message(), at, got=repr(value), want="write SQL text") from None


def to_columns(columns: Mapping[str, ExpressionLike], at: str) -> tuple[Column, ...]:
    return tuple(
        Column(to_name(name, f"{at}.columns.{name}"), to_expression(value, f"{at}.columns.{name}"))
        for name, value in columns.items()
    )


def to_cost(value: CostLike, at: str) -> Cost:
    if isinstance(value, Mapping):
        return cost_by_kind({kind: to_time(time, f"{at}.{kind}") for kind, time in value.items()})
    return value if isinstance(value, Cost) else Cost(to_time(value, at))


def cost(
    base: Duration,
    *,
    best: Duration | None = None,
    mean: Duration | None = None,
    per_item: Duration = 0,
    most_items: int = 1,
    between_items: bool = False,
) -> Cost:
    """A cost that varies (``base`` is its worst case), or grows with the items of an execution:
    :class:`headway.model.quantities.Cost`."""
    return Cost(
        to_time(base, "cost.base"),
        to_time(per_item, "cost.per_item"),
        most_items,
        between_items,
        None if best is None else to_time(best, "cost.best"),
        None if mean is None else to_time(mean, "cost.mean"),
    )


def to_optional(value: OptionalLike | None, at: str) -> OptionalPart | None:
    if value is None or isinstance(value, OptionalPart):
        return value
    time, piece = value
    return OptionalPart(to_time(time, f"{at}.time"), to_time(piece, f"{at}.piece"))


def call(function: Callable[..., Any] | str, *arguments: str, returns: str) -> PythonCall:
    """A Python function of some columns, in place of SQL:
    ``call(distance, 'x', 'y', returns='double [m]')``."""
    path = import_path(function, "call")
    try:
        field = parse_field("returns", returns)
    except ValueError as error:
        raise refuse(str(error), f"call {path}") from None
    if field.length is not None:
        raise refuse(
            "a function's text has no declared length", f"call {path}", want="write 'string'"
        )
    return PythonCall(path, arguments, field.type, field.unit)


def shed(
    at_most: str, *, value: ExpressionLike, decide: Decide | str = Decide.ARRIVAL
) -> LoadShedder:
    """A load shedder: ``shed('20 per 100 ms', value='-distance')``."""
    rate = to_rate(at_most, 0, "shed.at_most")
    return LoadShedder(
        at_most=rate.count,
        per=rate.period,
        value=to_expression(value, "shed.value"),
        decide=to_choice(Decide, decide, "shed.decide"),
    )


def import_path(thing: Callable[..., Any] | str, at: str) -> str:
    """``module:name`` of a function or class; QueryError if nobody else can import it by that."""
    if isinstance(thing, str):
        return thing
    module = getattr(thing, "__module__", None) or "?"
    name = getattr(thing, "__qualname__", None) or repr(thing)
    want = "define it at the top level of a module and pass it, or its path 'module:name'"
    if "<" in name or module == "__main__":
        what = "engines cannot import a lambda, a local definition or one in a script"
        raise refuse(what, at, got=f"{module}:{name}", want=want)
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not thing:
        raise refuse(
            "importing that path gives something else", at, got=f"{module}:{name}", want=want
        )
    return f"{module}:{name}"


def class_path(thing: Callable[..., Any] | str | None, at: str) -> str | None:
    """The same of an operator's class; None where it has none in Python."""
    return None if thing is None else import_path(thing, at)
