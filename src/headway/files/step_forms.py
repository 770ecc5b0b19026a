"""An entry under ``operators``: which form it has, told by its one key that is a kind's.

The forms are those that :mod:`headway.model.operator_kinds` names, and the use of a component.
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Discriminator, Tag

from headway.errors import EnvironmentMissing
from headway.files.forms import TAG, refusal, suggestion
from headway.files.operator_forms import ComponentUseForm, FilterForm, StepForm
from headway.model.operator_kinds import kinds, resolve
from headway.model.query import Step


def _forms() -> dict[str, type[StepForm]]:
    """By key. EnvironmentMissing when two kinds are written with one key."""
    found: dict[str, type[StepForm]] = {}
    named = [resolve(reference) for kind in kinds().values() for reference in kind.forms]
    for form in (*named, ComponentUseForm):
        if form.key in found:
            raise EnvironmentMissing(
                f"two kinds of operators are written '{form.key}': {found[form.key].__module__} "
                f"and {form.__module__}; uninstall one of these packages"
            )
        found[form.key] = form
    return found


FORMS = _forms()
"""key -> form"""


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


def step_plain(step: Step) -> dict[str, Any]:
    """What a person would write for that operator or component use."""
    form = next(form for form in FORMS.values() if form.writes(step))
    return form.to_plain(step)


if TYPE_CHECKING:
    StepChoice = StepForm
else:
    StepChoice = Annotated[
        typing.Union[tuple(Annotated[form, Tag(TAG + key)] for key, form in FORMS.items())],  # noqa: UP007
        Discriminator(_kind),
        BeforeValidator(_one_kind),
    ]
