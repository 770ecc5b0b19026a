"""Operators as written in files. A new one is a file here and a row in ``FORMS``."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Discriminator, Tag

from headway.files.forms import TAG, refusal, suggestion
from headway.files.operators.aggregate import AggregateForm
from headway.files.operators.base import StepForm
from headway.files.operators.component import ComponentUseForm
from headway.files.operators.filter import FilterForm
from headway.files.operators.fusion import FusionForm
from headway.files.operators.join import JoinForm
from headway.files.operators.map import MapForm, SetForm
from headway.files.operators.udo import UdoForm
from headway.files.operators.union import UnionForm
from headway.model.query import Step

FORMS: dict[str, type[StepForm]] = {
    form.key: form
    for form in (
        FilterForm,
        MapForm,
        SetForm,
        UnionForm,
        JoinForm,
        AggregateForm,
        UdoForm,
        FusionForm,
        ComponentUseForm,
    )
}


def _kind(value: Any) -> str:
    keys = value if isinstance(value, dict) else {}
    return TAG + next((key for key in keys if key in FORMS), FilterForm.key)


def _one_kind(value: Any) -> Any:
    """Refuses an entry without a kind, or with two."""
    if not isinstance(value, dict):
        raise refusal("an operator must be a mapping", 'write {filter: "x > 0", from: stream}')
    found = [key for key in value if key in FORMS]
    if len(found) > 1:
        raise refusal(
            f"an operator of two kinds, '{found[0]}' and '{found[1]}'",
            "keep one of them",
            got="",
            key=found[1],
        )
    if not found:
        raise refusal("an operator without a kind", _guess(list(value)), got=_keys(value))
    return value


def _keys(value: dict[str, Any]) -> str:
    return f"the keys {', '.join(value)[:60]}" if value else "no keys"


def _guess(keys: list[str]) -> str:
    hints = (suggestion(key, FORMS, "give it one of") for key in keys)
    return next(
        (hint for hint in hints if hint.startswith("did")), suggestion("", FORMS, "give it one of")
    )


if TYPE_CHECKING:
    StepChoice = StepForm
else:
    StepChoice = Annotated[
        typing.Union[tuple(Annotated[form, Tag(TAG + key)] for key, form in FORMS.items())],  # noqa: UP007
        Discriminator(_kind),
        BeforeValidator(_one_kind),
    ]


def step_plain(step: Step) -> dict[str, Any]:
    """What a person would write for that operator or component use."""
    form = next(form for form in FORMS.values() if form.writes(step))
    return form.to_plain(step)
