"""Costs, expressions and schemas: their forms, the model's values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from headway.errors import Problem
from headway.files.fields import Columns, Count, Duration, ImportPath, Name, StreamName, is_mapping
from headway.files.forms import TAG, Form, refusal, suggestion
from headway.model.cost import Cost
from headway.model.expression import Column, Expression, PythonCall, Sql
from headway.model.schema import Schema, parse_field, schema
from headway.model.time import format_duration

# ------------------------------------------------------------------ cost


class CostForm(Form):
    """A cost that grows with the items of one execution (the fusion number)."""

    base: Duration = Field(description="time of an execution without items, at execution rate 1")
    per_item: Duration = Field(default=0, description="time that each item adds")
    most_items: Count = Field(default=1, description="the most items of one execution")
    preempt: Literal["never", "between_items"] = Field(
        default="never",
        description="between_items: may be preempted after the base part and after each item",
    )


CostChoice = Annotated[
    Annotated[Duration, Tag(f"{TAG}short")] | Annotated[CostForm, Tag(f"{TAG}long")],
    Discriminator(is_mapping),
]


def cost_model(choice: int | CostForm | None) -> Cost | None:
    if choice is None:
        return None
    if isinstance(choice, int):
        return Cost(choice)
    between_items = choice.preempt == "between_items"
    return Cost(choice.base, choice.per_item, choice.most_items, between_items)


def cost_plain(cost: Cost) -> Any:
    if cost == Cost(cost.base):
        return format_duration(cost.base)
    result: dict[str, Any] = {"base": format_duration(cost.base)}
    if cost.per_item:
        result["per_item"] = format_duration(cost.per_item)
    if cost.most_items != 1:
        result["most_items"] = cost.most_items
    if cost.between_items:
        result["preempt"] = "between_items"
    return result


# ------------------------------------------------------------------ expressions


def sql_text(value: Any) -> str:
    """``true``, ``0`` and ``1.5`` are SQL too, quoted or not."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if not isinstance(value, str) or not value.strip():
        raise refusal("an SQL expression is wanted", 'write it as text, such as "x * 2"')
    return value


SqlText = Annotated[
    str,
    BeforeValidator(sql_text),
    WithJsonSchema({"type": ["string", "number", "boolean"], "description": "an SQL expression"}),
]


def _returns(value: Any) -> str:
    try:
        if isinstance(value, str) and parse_field("returns", value).length is None:
            return value
    except ValueError:
        pass
    raise refusal(
        "not a type a function can return",
        "write boolean, int, bigint, float, double, string or timestamp, perhaps with a unit: "
        "'double [m]'",
    )


class PythonForm(Form):
    """A Python function of some columns, for what SQL cannot say."""

    python: ImportPath = Field(description="the function, as 'package.module:function'")
    arguments: list[StreamName] = Field(description="the columns passed to it, in this order")
    returns: Annotated[str, BeforeValidator(_returns)] = Field(
        description="the type of the result, such as 'double [m]'"
    )


ExpressionChoice = Annotated[
    Annotated[SqlText, Tag(f"{TAG}short")] | Annotated[PythonForm, Tag(f"{TAG}long")],
    Discriminator(is_mapping),
]
ColumnsChoice = dict[Name, ExpressionChoice]


def expression_model(choice: str | PythonForm) -> Expression:
    if isinstance(choice, str):
        return Sql(choice)
    returns = parse_field("returns", choice.returns)
    return PythonCall(choice.python, tuple(choice.arguments), returns.type, returns.unit)


def expression_plain(expression: Expression) -> Any:
    if isinstance(expression, Sql):
        return expression.text
    unit = f" [{expression.unit}]" if expression.unit else ""
    return {
        "python": expression.function,
        "arguments": list(expression.arguments),
        "returns": f"{expression.returns.value}{unit}",
    }


def columns_model(choices: Mapping[str, str | PythonForm]) -> tuple[Column, ...]:
    return tuple(Column(name, expression_model(choice)) for name, choice in choices.items())


def columns_plain(columns: tuple[Column, ...]) -> dict[str, Any]:
    return {column.name: expression_plain(column.value) for column in columns}


# ------------------------------------------------------------------ schemas

SchemaChoice = Annotated[
    Annotated[Name, Tag(f"{TAG}short")] | Annotated[Columns, Tag(f"{TAG}long")],
    Discriminator(is_mapping),
]


@dataclass
class Schemas:
    """The named schemas in reach of a file. Unknown names are collected as problems."""

    named: dict[str, Schema] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def resolve(self, choice: str | dict[str, str], at: str) -> Schema:
        """A schema by name or written out, for the element at that path."""
        if isinstance(choice, dict):
            return schema(choice)
        found = self.named.get(choice)
        if found is None:
            want = suggestion(choice, self.named, "declared under 'schemas'")
            self.problems.append(Problem(f"no schema '{choice}'", at=at, want=want))
            return Schema(())
        return found
