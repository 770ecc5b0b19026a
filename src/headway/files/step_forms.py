"""An entry under ``operators``: which form it has, told by its one key that is a kind's.

The forms are those that :mod:`headway.model.operator_kinds` names, and the use of a component.
Those of other packages are looked for when an entry has a key that Headway's own forms do not
explain: a query without them imports none, and a package may import this one in turn.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Discriminator, GetJsonSchemaHandler, Tag, TypeAdapter
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_plain_validator_function

from headway.errors import InputError, Problem
from headway.extensions import resolve
from headway.files.forms import refusal, suggestion
from headway.files.operator_forms import ComponentUseForm, StepForm
from headway.model.operator_kinds import BUILT_IN, KINDS, part
from headway.model.query import ComponentUse, Step

Forms = Mapping[str, type[StepForm]]
"""key -> form"""

OWN: Forms = {
    form.key: form
    for form in (
        *(resolve(reference) for kind in BUILT_IN for reference in kind.forms),
        ComponentUseForm,
    )
}
_OWN_KEYS = frozenset(key for form in OWN.values() for key in form.written_keys())

# ------------------------------------------------------------
# Those of other packages.


@dataclass(frozen=True)
class OtherForms:
    """``refused``: the name of a kind, or a key -> why it cannot be used."""

    forms: dict[str, type[StepForm]] = field(default_factory=dict)
    refused: dict[str, Problem] = field(default_factory=dict)

    def add(self, key: str, form: type[StepForm]) -> None:
        """A key that two kinds are written with is nobody's."""
        if key not in self.forms:
            self.forms[key] = form
            return
        self.refused[key] = Problem(
            f"two kinds of operators are written '{key}'",
            got=f"{self.forms[key].__module__} and {form.__module__}",
            want="uninstall one of these packages",
        )


@cache
def _others() -> OtherForms:
    found = OtherForms()
    for kind in KINDS.others:
        try:
            forms = _forms_of(kind)
        except InputError as error:
            (found.refused[kind],) = error.problems
            continue
        for form in forms:
            found.add(form.key, form)
    for key in found.refused:
        found.forms.pop(key, None)
    return found


def _forms_of(name: str) -> list[type[StepForm]]:
    """InputError when the kind, or one of its forms, cannot be used."""
    kind, entry = KINDS[name], KINDS.only(name)
    found = []
    for reference in kind.forms:
        form = part(kind, reference)
        if not (isinstance(form, type) and issubclass(form, StepForm) and hasattr(form, "key")):
            raise KINDS.broken(entry, "has a form that is no StepForm with a key", f"{form!r:.80}")
        if form.key in _OWN_KEYS:
            raise KINDS.broken(entry, "is written with a key of Headway's own", repr(form.key))
        found.append(form)
    return found


# ------------------------------------------------------------
# From an entry to its form, and back.


def form_of(keys: Iterable[str]) -> type[StepForm] | None:
    """The form of an entry with these keys, if one of them tells."""
    given = list(keys)
    own = next((OWN[key] for key in given if key in OWN), None)
    if own is not None:
        return own
    others = _others().forms
    return next((others[key] for key in given if key in others), None)


def _read(value: Any) -> StepForm:
    """Refuses an entry without a kind, or with two."""
    if not isinstance(value, dict):
        raise refusal("an operator must be a mapping", 'write {filter: "x > 0", from: stream}')
    forms: Forms = OWN
    found = [key for key in value if key in forms]
    if len(found) != 1 or not value.keys() <= _OWN_KEYS:
        forms = {**OWN, **_others().forms}
        found = [key for key in value if key in forms]
    if len(found) > 1:
        raise refusal(
            f"an operator of two kinds, '{found[0]}' and '{found[1]}'",
            "keep one of them",
            got="",
            key=found[1],
        )
    if not found:
        _tell_of_refused(value)
        raise refusal("an operator without a kind", _guess(list(value), forms), got=_keys(value))
    return forms[found[0]].model_validate(value)


def _tell_of_refused(keys: Iterable[str]) -> None:
    """Nothing else explains the entry: perhaps a kind that cannot be used was meant."""
    refused = _others().refused
    for key in keys:
        if key in refused:
            told = refused[key]
            got = ": ".join(text for text in (told.at, told.got) if text)
            raise refusal(told.what, told.want, got=got, key=key)


def _keys(value: dict[str, Any]) -> str:
    return f"the keys {', '.join(value)[:60]}" if value else "no keys"


def _guess(keys: list[str], forms: Forms) -> str:
    hints = (suggestion(key, forms, "give it one of") for key in keys)
    return next(
        (hint for hint in hints if hint.startswith("did")), suggestion("", forms, "give it one of")
    )


def step_plain(step: Step) -> dict[str, Any]:
    """What a person would write for that operator or component use."""
    form = next((form for form in OWN.values() if form.writes(step)), None)
    if form is None:
        assert not isinstance(step, ComponentUse)
        form = next(form for form in _forms_of(step.kind) if form.writes(step))
    return form.to_plain(step)


class _AnyForm:
    """Tells pydantic how an entry is read, and what there is when somebody asks for a schema."""

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return no_info_plain_validator_function(_read)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        forms = {**OWN, **_others().forms}
        members = tuple(Annotated[form, Tag(key)] for key, form in forms.items())
        # A union for its schema alone: what an entry is, _read tells.
        union: Any = Annotated[typing.Union[members], Discriminator(lambda _: None)]  # noqa: UP007
        return handler(TypeAdapter(union).core_schema)


if TYPE_CHECKING:
    StepChoice = StepForm
else:
    StepChoice = Annotated[StepForm, _AnyForm()]
