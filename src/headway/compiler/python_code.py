"""The code that a query names, in Python or C++: it runs with the rights of whoever runs the query.

Everything else in a query is data. Who got one from a stranger can refuse what is code, before
anything of it is imported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from headway.errors import Problem, QueryError
from headway.model.expression import PythonCall
from headway.model.expression_tree import PythonValue
from headway.model.query import Query

OWN = ("headway.fusion.",)
"""Headway's own classes, which a query may name in any case"""


def refuse_python(query: Query) -> None:
    """QueryError with every place where the query, or a component, names code."""
    if problems := list(_problems(query)):
        raise QueryError(problems)


def _problems(query: Query) -> Iterator[Problem]:
    for source in query.sources:
        yield from _named(f"sources.{source.name}", source)
    for step in query.steps:
        yield from _named(f"operators.{step.name}", step)
    for component in query.components:
        for step in component.steps:
            yield from _named(f"components.{component.name}.operators.{step.name}", step)


def _named(at: str, part: object) -> Iterator[Problem]:
    named = dict.fromkeys(found for one in _values(part) for found in _code(one))
    for language, name in named:
        yield Problem(
            f"the query names {language} code",
            at=at,
            got=name,
            want="read that code, and leave out --no-python if you trust it",
        )


def _code(value: object) -> Iterator[tuple[str, str]]:
    """What a value of the model imports or compiles, and the language it is in."""
    if isinstance(value, PythonCall | PythonValue):
        yield "Python", value.function
    named = getattr(value, "implementation", None)
    if isinstance(named, str) and not named.startswith(OWN):
        yield "Python", named
    native = getattr(value, "native", None)
    if isinstance(native, str):
        yield "C++", native


def _values(value: Any) -> Iterator[object]:
    """The value and all that it holds."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple | list):
            waiting.extend(one)
        elif dataclasses.is_dataclass(one) and not isinstance(one, type):
            yield one
            waiting.extend(getattr(one, field.name) for field in dataclasses.fields(one))
