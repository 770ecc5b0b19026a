"""What may be a name: one rule for the files people write and for the plans that are read back.

The types here are plain texts to the program; whoever reads a file finds the rule in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
NAME_FORM = "letters, digits and '_', not starting with a digit, at most 63"


@dataclass(frozen=True, slots=True)
class TextRule:
    """Which texts are accepted, and what is said of others."""

    pattern: re.Pattern[str]
    what: str
    want: str

    def accepts(self, text: str) -> bool:
        return self.pattern.fullmatch(text) is not None


NAME_RULE = TextRule(NAME, "not a name", f"use {NAME_FORM} characters")
STREAM_RULE = TextRule(
    re.compile(rf"{NAME.pattern}(\.{NAME.pattern})*"),
    "not the name of a stream",
    "name a source, an operator or use.output",
)
IMPORT_RULE = TextRule(
    re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*"),
    "not a path to Python code",
    "write it as 'package.module:Name'",
)

NATIVE_RULE = TextRule(
    re.compile(
        r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*\.(h|hh|hpp)"
        r":[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*"
    ),
    "not the place of a class in C++",
    "write it as 'folder/header.hpp:Class'",
)

Name = Annotated[str, NAME_RULE]
StreamName = Annotated[str, STREAM_RULE]
"""A name, or several with dots between: what comes out of components has those of their uses in
front."""
ImportPath = Annotated[str, IMPORT_RULE]
NativePath = Annotated[str, NATIVE_RULE]
"""A class in C++ and the header that has it."""
