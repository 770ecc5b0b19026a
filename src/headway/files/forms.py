"""What the forms of query and vehicle files share: strict pydantic models with helpful refusals.

A form mirrors what a person writes; it becomes a value of :mod:`headway.model` afterwards. Forms
that may be written in two ways are unions told apart by a tag that starts with ``TAG``; such tags
are left out of the paths that people see.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

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
