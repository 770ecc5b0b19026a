"""The kinds of values in task graph and network files."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from headway.files.forms import refusal
from headway.files.graphs.words import LONGEST_NAME

LARGEST = 1e12


def _check(text: str) -> str:
    if not text or len(text) > LONGEST_NAME or not text.isprintable() or text != text.strip():
        raise refusal("not a name", f"use 1 to {LONGEST_NAME} printable characters")
    if "." in text or "->" in text:
        raise refusal("not a name", "use no '.' and no '->': they build the paths in messages")
    return text


Label = Annotated[str, AfterValidator(_check)]
Amount = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
"""Times, volumes, speeds. That they are above 0 is for the model to ask for."""
NotNegative = Annotated[float, Field(ge=0, le=LARGEST)]

PINNED = -1.0
"""Stands for 'pinned' in a form."""


def _state(value: Any) -> float:
    if value == "pinned":
        return PINNED
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        raise refusal("not a state", "write the volume that moves with it, or 'pinned'")
    return float(value)


State = Annotated[
    float,
    BeforeValidator(_state),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"const": "pinned"}]}),
]
