"""What the forms of all files share: strict pydantic models, kinds of values, helpful refusals.

A form mirrors what a person writes; it becomes a value of :mod:`headway.model` afterwards. Forms
that may be written in two ways are unions told apart by a tag that starts with ``TAG``; such tags
are left out of the paths that people see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    ModelWrapValidatorHandler,
    Tag,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from headway.errors import Problem
from headway.model.expression import Column, Expression, PythonCall, Sql
from headway.model.names import (
    IMPORT_RULE,
    NAME,
    NAME_RULE,
    NATIVE_RULE,
    STREAM_RULE,
    TextRule,
)
from headway.model.quantities import DURATION_FORM, Cost, Rate, format_duration, parse_duration
from headway.model.schema import FIELD_FORM, Schema, parse_field, schema

T = TypeVar("T")
TAG = "form:"


def refusal(what: str, want: str = "", **more: Any) -> PydanticCustomError:
    """An error for validators to raise; ``more`` may hold ``got`` and the ``key`` to point at."""
    return PydanticCustomError("refusal", "{what}", {"what": what, "want": want, **more})


def suggestion(word: str, known: Iterable[str], kind: str = "known") -> str:
    """``did you mean 'from'? known: cost, filter, from``"""
    names = list(known)
    close = get_close_matches(word, names, n=1)
    listing = f"{kind}: {', '.join(names)}" if names else f"{kind}: none"
    return f"did you mean '{close[0]}'? {listing}" if close else listing


class Form(BaseModel):
    """A mapping with known keys only; values are not converted silently (``1`` is not ``'1'``)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)

    @classmethod
    def written_keys(cls) -> list[str]:
        """The keys as written in a file."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @model_validator(mode="wrap")
    @classmethod
    def _explain_keys(cls, data: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        """Refuses keys without a value, and says which known key an unknown one was perhaps meant
        to be."""
        details = [_empty(key) for key in cls._empty_keys(data)]
        form = None
        try:
            form = handler(data)
        except ValidationError as error:
            details += [cls._details(item) for item in error.errors(include_url=False)]
        if details:
            raise ValidationError.from_exception_data(cls.__name__, details)
        return form

    @classmethod
    def _empty_keys(cls, data: Any) -> list[str]:
        """Keys with nothing after the colon that pydantic would take for 'left out'."""
        if not isinstance(data, dict):
            return []
        return [
            key
            for name, field in cls.model_fields.items()
            if (key := field.alias or name) in data
            and data[key] is None
            and not field.is_required()
            and field.default is None
        ]

    @classmethod
    def _details(cls, item: Any) -> InitErrorDetails:
        kind, ctx = item["type"], item.get("ctx") or {}
        what = ctx.get("what", item["msg"])
        want = ctx.get("want", "")
        if kind == "extra_forbidden" and len(item["loc"]) == 1:
            key = str(item["loc"][0])
            what, want = f"unknown key '{key[:60]}'", suggestion(key, cls.written_keys())
            return InitErrorDetails(
                type=refusal(what, want, got="", kind="unknown"), loc=item["loc"], input=None
            )
        if kind == "missing":
            key = str(item["loc"][-1])
            return InitErrorDetails(
                type=refusal(
                    f"the key '{key}' is missing", want or _MISSING, got="", kind="missing"
                ),
                loc=item["loc"][:-1],
                input=None,
            )
        if kind == "refusal":
            return InitErrorDetails(type=refusal(**ctx), loc=item["loc"], input=item["input"])
        return InitErrorDetails(
            type=refusal(*_explain(kind, what, ctx)), loc=item["loc"], input=item["input"]
        )


_MISSING = "add it"


def _empty(key: str) -> InitErrorDetails:
    error = refusal(f"the key '{key}' has no value", "write one, or leave the key out", got="")
    return InitErrorDetails(type=error, loc=(key,), input=None)


_TYPES = {
    "string_type": ("text is wanted", "put it in quotes if it is meant as text"),
    "bool_type": ("true or false is wanted", ""),
    "int_type": ("a whole number is wanted", ""),
    "float_type": ("a number is wanted", ""),
    "list_type": ("a list is wanted", "write [one, two] or lines starting with '- '"),
    "dict_type": ("a mapping is wanted", "write {key: value} or indented lines 'key: value'"),
    "model_type": ("a mapping is wanted", "write {key: value} or indented lines 'key: value'"),
    "model_attributes_type": ("a mapping is wanted", "write {key: value}"),
}


def _explain(kind: str, message: str, ctx: dict[str, Any]) -> tuple[str, str]:
    """Plain words for pydantic's error types: what, want."""
    if kind in _TYPES:
        return _TYPES[kind]
    if kind == "literal_error":
        return "not one of the choices", f"choose {ctx['expected']}"
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
        return "the number is out of range", message.lower().removeprefix("input ")
    if kind in ("too_short", "too_long"):
        limit = ctx.get("min_length", ctx.get("max_length"))
        bound = "at least" if kind == "too_short" else "at most"
        return (
            "not the right number of entries",
            f"write {bound} {limit}, not {ctx['actual_length']}",
        )
    return message, ""


# ---------------------------------------------------------------- names, durations, rates


def _matching(rule: TextRule) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not rule.accepts(text):
            raise refusal(rule.what, rule.want)
        return text

    return check


def read_by(parse: Callable[[str], T], what: str, form: str) -> Callable[[Any], T]:
    """Text that ``parse`` can read; it raises ValueError where it cannot."""

    def read(value: Any) -> T:
        if isinstance(value, str):
            try:
                return parse(value)
            except ValueError:
                pass
        raise refusal(what, f"write {form}")

    return read


_STREAM = rf"{NAME.pattern}(\.{NAME.pattern}){{0,7}}"
_QUANTITY = r"\d{1,12}(\.\d{1,9})?"
_DURATION = rf"^\s*{_QUANTITY}\s*(ns|us|µs|ms|s|min|h)\s*$"

Name = Annotated[
    str,
    AfterValidator(_matching(NAME_RULE)),
    WithJsonSchema({"type": "string", "pattern": f"^{NAME.pattern}$"}),
]
StreamName = Annotated[
    str,
    AfterValidator(_matching(replace(STREAM_RULE, pattern=re.compile(_STREAM)))),
    WithJsonSchema({"type": "string", "pattern": f"^{_STREAM}$"}),
]
ImportPath = Annotated[
    str,
    AfterValidator(_matching(IMPORT_RULE)),
    WithJsonSchema({"type": "string", "pattern": "^[\\w.]+:[\\w.]+$"}),
]
NativePath = Annotated[
    str,
    AfterValidator(_matching(NATIVE_RULE)),
    WithJsonSchema({"type": "string", "pattern": f"^{NATIVE_RULE.pattern.pattern}$"}),
]


def _duration(value: Any) -> int:
    if not isinstance(value, str):
        raise refusal("a duration is wanted", f"write {DURATION_FORM}")
    try:
        return parse_duration(value)
    except ValueError as error:
        finer = "finer" in str(error)
        what = "finer than a nanosecond" if finer else "not a duration"
        raise refusal(what, f"write {DURATION_FORM}") from None


def _positive(value: int) -> int:
    if value <= 0:
        raise refusal("must be longer than nothing", "write a positive duration", got="0")
    return value


Duration = Annotated[
    int, BeforeValidator(_duration), WithJsonSchema({"type": "string", "pattern": _DURATION})
]
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]

RATE_FORM = "a count, 'per' and a duration, such as '10 per 100 ms'"
_RATE = re.compile(r"\s*(\d{1,9})\s+per\s+(.*)", re.DOTALL)


def parse_rate(text: str) -> Rate:
    """``'10 per 100 ms'`` or ``'1000 per s'``; ValueError when it is no rate."""
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a rate: write {RATE_FORM}")
    period = match[2] if match[2][:1].isdigit() else f"1 {match[2]}"
    rate = Rate(int(match[1]), parse_duration(period))
    if rate.count < 1 or rate.period < 1:
        raise ValueError(f"{text!r}: the count and the duration of a rate must be positive")
    return rate


def format_rate(count: int, period: int) -> str:
    return f"{count} per {format_duration(period)}"


RateText = Annotated[
    Rate,
    BeforeValidator(read_by(parse_rate, "not a rate", RATE_FORM)),
    WithJsonSchema({"type": "string", "pattern": r"^\s*\d{1,9}\s+per\s+.*$"}),
]

_BIT_UNITS = {"Gbit/s": 10**9, "Mbit/s": 10**6, "kbit/s": 10**3, "bit/s": 1}
_BITS = re.compile(rf"\s*(\d{{1,18}}(?:\.\d{{1,9}})?)\s*({'|'.join(_BIT_UNITS)})\s*")
BIT_RATE_FORM = "a number and bit/s, kbit/s, Mbit/s or Gbit/s, such as '500 kbit/s'"


def parse_bit_rate(text: str) -> int:
    """Bits per second of ``'500 kbit/s'``; ValueError when it is no bit rate."""
    match = _BITS.fullmatch(text)
    bits = Decimal(match[1]) * _BIT_UNITS[match[2]] if match else Decimal(0)
    if bits <= 0 or bits != int(bits):
        raise ValueError(f"{text!r} is not a bit rate: write {BIT_RATE_FORM}")
    return int(bits)


def format_bit_rate(bits: int) -> str:
    """The shortest whole way to write it: ``500 kbit/s``."""
    unit = next(name for name, size in _BIT_UNITS.items() if bits % size == 0)
    return f"{bits // _BIT_UNITS[unit]} {unit}"


BitRate = Annotated[
    int,
    BeforeValidator(read_by(parse_bit_rate, "not a bit rate", BIT_RATE_FORM)),
    WithJsonSchema({"type": "string", "pattern": rf"^{_BITS.pattern}$"}),
]


def _column_type(text: str) -> str:
    return parse_field("column", text).describe()


ColumnType = Annotated[
    str, BeforeValidator(read_by(_column_type, "not the type of a column", FIELD_FORM))
]
Columns = Annotated[dict[Name, ColumnType], Field(description="the columns and their types")]


def is_mapping(value: Any) -> str:
    """Tells a mapping from a short form."""
    return f"{TAG}long" if isinstance(value, dict) else f"{TAG}short"


Share = Annotated[float, Field(gt=0, le=1)]
PositiveNumber = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


# ---------------------------------------------------------------- costs


class CostForm(Form):
    """A cost that varies between best and worst, or grows with the items of one execution (the
    fusion number)."""

    base: Duration | None = Field(
        default=None, description="time of an execution without items, at execution rate 1"
    )
    worst: Duration | None = Field(
        default=None, description="another name of base, beside best: what the compiler counts"
    )
    best: Duration | None = Field(
        default=None, description="the least that an execution without items takes"
    )
    mean: Duration | None = Field(
        default=None, description="its mean, with best; without it all times are equally likely"
    )
    per_item: Duration = Field(default=0, description="time that each item adds")
    most_items: Count = Field(default=1, description="the most items of one execution")
    preempt: Literal["never", "between_items"] = Field(
        default="never",
        description="between_items: may be preempted after the base part and after each item",
    )

    @model_validator(mode="after")
    def _one_worst_case(self) -> Self:
        if (self.base is None) == (self.worst is None):
            raise refusal(
                "a cost has one worst case",
                "write 'worst' (with 'best'), or 'base' for the part without items; not both",
            )
        worst = self.base if self.worst is None else self.worst
        assert worst is not None
        if self.best is not None and self.best > worst:
            raise refusal("the best case of a cost is above its worst", "swap them")
        if self.mean is not None:
            if self.best is None:
                raise refusal("a mean cost needs the best and the worst", "add 'best'")
            if not self.best <= self.mean <= worst:
                raise refusal("the mean of a cost lies outside best and worst", "correct one")
        return self


CostByKind = Annotated[
    dict[Name, Duration],
    Field(
        min_length=1,
        description="by the kind of the processor: {a57: 120 us, gpu: 30 us}; 'base' is for all "
        "kinds that are not named, without it the operator runs on no other",
    ),
]


def _form_of_cost(value: Any) -> str:
    """Keys that a cost has, or something like them, tell the form in which it varies."""
    if not isinstance(value, dict):
        return f"{TAG}short"
    known = CostForm.model_fields.keys()
    others = [key for key in value if key not in known]
    by_kind = others and value.keys() - {"base"} == set(others)
    mistaken = any(get_close_matches(str(key), known, cutoff=0.7) for key in others)
    return f"{TAG}kinds" if by_kind and not mistaken else f"{TAG}long"


CostChoice = Annotated[
    Annotated[Duration, Tag(f"{TAG}short")]
    | Annotated[CostByKind, Tag(f"{TAG}kinds")]
    | Annotated[CostForm, Tag(f"{TAG}long")],
    Discriminator(_form_of_cost),
]


def cost_by_kind(times: Mapping[str, int]) -> Cost:
    """The cost with these base parts by kind; ``base`` for all others."""
    kinds = tuple(("" if kind == "base" else kind, time) for kind, time in times.items())
    return Cost(max(times.values()), kinds=kinds)


def cost_model(choice: int | dict[str, int] | CostForm | None) -> Cost | None:
    if choice is None:
        return None
    if isinstance(choice, int):
        return Cost(choice)
    if isinstance(choice, dict):
        return cost_by_kind(choice)
    worst = choice.base if choice.worst is None else choice.worst
    assert worst is not None  # the form holds it
    between_items = choice.preempt == "between_items"
    return Cost(worst, choice.per_item, choice.most_items, between_items, choice.best, choice.mean)


def cost_plain(cost: Cost) -> Any:
    if cost == Cost(cost.base):
        return format_duration(cost.base)
    if cost.kinds:
        return {kind or "base": format_duration(time) for kind, time in cost.kinds}
    result: dict[str, Any] = {}
    if cost.best is not None:
        result["best"] = format_duration(cost.best)
    if cost.mean is not None:
        result["mean"] = format_duration(cost.mean)
    result["base" if cost.best is None else "worst"] = format_duration(cost.base)
    if cost.per_item:
        result["per_item"] = format_duration(cost.per_item)
    if cost.most_items != 1:
        result["most_items"] = cost.most_items
    if cost.between_items:
        result["preempt"] = "between_items"
    return result


# ---------------------------------------------------------------- expressions


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


# ---------------------------------------------------------------- schemas

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
