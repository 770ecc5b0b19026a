"""Frozen dataclasses as JSON and back, without loss: the form of a plan's file.

What a class may hold is read off its annotations: other dataclasses, tuples, enumerations, numbers,
texts (with a rule for names, see :mod:`headway.model.names`) and unions of these. Members of a
union of classes are told apart by their ``kind``, operators by the open table of
:mod:`headway.model.operator_kinds`. A file is taken as it was written or not at all: every key must
be there and no other, a truth is no number, and nothing is converted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from itertools import repeat
from json.encoder import encode_basestring
from math import isfinite
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from headway.errors import FileError, InputError, Problem, QueryError
from headway.model.names import TextRule
from headway.model.operator_kinds import KINDS, model_class
from headway.model.operators import OperatorBase
from headway.model.plan import PLAN_VERSION, Plan
from headway.model.query import LEFT_OUT

KIND = "kind"
WIDTH = 100
"""a value that is no longer than this stands on one line"""

Json = Any
Read = Callable[[Json], Any]
T = TypeVar("T")


def plan_to_json(plan: Plan) -> str:
    """Readable, stable JSON: the same plan gives the same bytes."""
    return to_json(plan)


def plan_from_json(text: str, name: str = "plan.json") -> Plan:
    """Reads what :func:`plan_to_json` wrote; FileError names what does not have its form.

    Whether a plan from a file also holds together is for
    :func:`headway.compiler.read_plan.read_plan`.
    """
    want = "compile the query again"
    content = parsed(text, name, want)
    if isinstance(content, dict) and content.get("version", PLAN_VERSION) != PLAN_VERSION:
        raise FileError(
            "plan of another version",
            at=name,
            got=f"version {content['version']!r:.20}",
            want=f"{want} (this Headway reads version {PLAN_VERSION})",
        )
    return from_plain(Plan, content, name, want)


# ------------------------------------------------------------
# Writing: by value; what is short stands on one line.


def to_json(value: object) -> str:
    """The text of a dataclass; QueryError for a number that JSON does not have."""
    return _text(value, 0) + "\n"


def _text(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return repr(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise QueryError("a plan holds finite numbers only", got=str(value))
        return repr(value)
    if isinstance(value, tuple):
        return _laid_out("[", [_text(item, depth + 1) for item in value], "]", depth)
    parts = []
    kind: Any = type(value)
    left_out = _left_out(kind)
    for name, real in _written(kind):
        part = getattr(value, name)
        if name in left_out and (part == () or part is None):
            continue
        parts.append(f'"{name}": {_text(float(part) if real else part, depth + 1)}')
    return _laid_out("{", parts, "}", depth)


def _laid_out(start: str, parts: list[str], end: str, depth: int) -> str:
    """On one line if that is short and all parts are, else one part a line."""
    if depth + sum(map(len, parts)) + 2 * len(parts) <= WIDTH and not any(
        "\n" in part for part in parts
    ):
        return f"{start}{', '.join(parts)}{end}"
    between = ",\n" + " " * (depth + 1)
    return f"{start}{between[1:]}{between.join(parts)}{between[1:-1]}{end}"


@cache
def _written(kind: Any) -> tuple[tuple[str, bool], ...]:
    """The keys of a class, and whether each is a real number, whatever it was given as."""
    hints = get_type_hints(kind)
    keys = [(field.name, hints[field.name] is float) for field in fields(kind)]
    if _kind_of(kind) is not None and KIND not in dict(keys):
        keys.insert(0, (KIND, False))
    return tuple(keys)


@cache
def _left_out(kind: Any) -> frozenset[str]:
    """The keys that are not written where they hold nothing."""
    return frozenset(field.name for field in fields(kind) if field.metadata.get(LEFT_OUT))


def _kind_of(kind: Any) -> str | None:
    """What tells a class from others of its union: the value its field or class variable has."""
    given = next((field.default for field in fields(kind) if field.name == KIND), None)
    found = getattr(kind, KIND, None) if given is None else given
    return found if isinstance(found, str) else None


# ------------------------------------------------------------
# Reading: one function a type, made from its annotation once.


class _Mismatch(Exception):
    """Something does not fit; ``path`` grows from the inside out."""

    def __init__(self, what: str, got: Json, want: str = "") -> None:
        super().__init__(what)
        self.what, self.got, self.want = what, _described(got), want
        self.path: list[str] = []


def parsed(text: str, name: str, want: str) -> Json:
    """The JSON of a text, without the liberties of Python's reader."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except RecursionError:
        raise FileError("nested too deeply", at=name, want=want) from None
    except ValueError as error:
        raise FileError(f"not JSON: {error}", at=name, want=want) from None


def from_plain(kind: type[T], content: Json, name: str, want: str) -> T:
    """A value of that class from parsed JSON; FileError names the place that does not fit."""
    try:
        hint: Any = kind
        value = _reader(hint)(content)
    except _Mismatch as error:
        at = ".".join(reversed(error.path))
        wanted = f"{error.want}, or {want}" if error.want else want
        problem = Problem(
            error.what, at=f"{name}: {at}" if at else name, got=error.got, want=wanted
        )
        raise FileError(problem) from None
    except RecursionError:
        raise FileError("nested too deeply", at=name, want=want) from None
    assert isinstance(value, kind)
    return value


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {double!r:.60} is there twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _described(got: Json) -> str:
    match got:
        case dict():
            return "an object"
        case list():
            return f"a list of {len(got)}"
        case None:
            return "null"
        case bool():
            return "true" if got else "false"
        case _:
            return f"{got!r:.60}"


@cache
def _reader(hint: Any) -> Read:
    """What takes the JSON of a type, from its annotation."""
    origin = get_origin(hint)
    if origin is Annotated:
        rules = [rule for rule in hint.__metadata__ if isinstance(rule, TextRule)]
        return _ruled(_reader(hint.__origin__), rules)
    if origin in (Union, UnionType):
        return _union(get_args(hint))
    if origin is tuple:
        inner = get_args(hint)
        if inner[-1] is Ellipsis:
            return _sequence(_reader(inner[0]))
        return _fixed([_reader(one) for one in inner])
    if origin is Literal:
        return _one_of({value: value for value in get_args(hint)})
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _one_of({member.value: member for member in hint})
    return _union((hint,)) if is_dataclass(hint) else _SCALARS[hint]


def _object(kind: type) -> Read:
    """Takes an object with exactly the keys of the class."""
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in fields(kind)]
    keys = {name for name, _ in _written(kind)}
    left_out = _left_out(kind)
    parts: list[tuple[str, Read]] = []  # filled when first used: a class may hold itself

    def read(value: Json) -> Any:
        if type(value) is not dict:
            raise _Mismatch(f"an object with the keys {', '.join(names)} is wanted", value)
        if value.keys() | left_out != keys:
            raise _wrong_keys(value, keys - (left_out - value.keys()))
        if not parts:
            parts.extend((name, _reader(hints[name])) for name in names)
        found = {}
        name = ""
        try:
            for name, part in parts:
                if name in value or name not in left_out:
                    found[name] = part(value[name])
        except _Mismatch as error:
            error.path.append(name)
            raise
        return kind(**found)

    return read


def _wrong_keys(value: Mapping[str, Json], keys: set[str]) -> _Mismatch:
    missing = sorted(keys - value.keys())
    if missing:
        return _Mismatch(f"the key {missing[0]!r} is missing", value)
    unknown = min(value.keys() - keys)
    return _Mismatch(f"unknown key {unknown!r:.60}", value, f"known: {', '.join(sorted(keys))}")


def _union(members: tuple[Any, ...]) -> Read:
    """Objects by their kind, other values by their type. A class alone needs no kind."""
    classes: list[Any] = [one for one in members if is_dataclass(one)]
    others = {one: _reader(one) for one in members if one not in classes}
    is_open = any(issubclass(one, OperatorBase) for one in classes)
    by_kind = {found: one for one in classes if (found := _kind_of(one)) is not None}
    alone = _object(classes[0]) if classes and not by_kind and not is_open else None
    # A text with a rule, an enumeration or a list: it says itself what is wrong.
    special = next((read for one, read in others.items() if one not in _SCALARS), None)
    objects: dict[type, Read] = {}

    def read(value: Json) -> Any:
        if alone is not None and (value is not None or NoneType not in others):
            return alone(value)
        if type(value) is dict and classes:
            kind = value.get(KIND)
            chosen = by_kind.get(kind) if isinstance(kind, str) else None
            if chosen is None and is_open and isinstance(kind, str):
                chosen = _operator_class(kind)
            if chosen is None:
                known = ", ".join(dict.fromkeys([*by_kind, *(KINDS if is_open else ())]))
                raise _wrong_kind("not a known kind", kind, f"known: {known}")
            if chosen not in objects:
                objects[chosen] = _object(chosen)
            return objects[chosen](value)
        take = others.get(type(value))
        if take is None:
            take = others.get(float, special) if type(value) is int else special
        if take is not None:
            return take(value)
        wanted = ["an object"] if classes else []
        wanted += [_WORDS[one] for one in others]
        raise _Mismatch(f"{' or '.join(wanted)} is wanted", value)

    return read


def _operator_class(kind: str) -> type[OperatorBase] | None:
    try:
        return model_class(kind)
    except InputError as error:
        (problem,) = error.problems
        raise _wrong_kind(problem.what, kind, problem.want) from None


def _wrong_kind(what: str, kind: Json, want: str) -> _Mismatch:
    error = _Mismatch(what, kind, want)
    error.path.append(KIND)
    return error


def _sequence(take: Read) -> Read:
    def read(value: Json) -> tuple[Any, ...]:
        if type(value) is not list:
            raise _Mismatch("a list is wanted", value)
        return _items(repeat(take), value)

    return read


def _fixed(parts: list[Read]) -> Read:
    def read(value: Json) -> tuple[Any, ...]:
        if type(value) is not list or len(value) != len(parts):
            raise _Mismatch(f"a list of {len(parts)} is wanted", value)
        return _items(parts, value)

    return read


def _items(parts: Iterable[Read], value: list[Json]) -> tuple[Any, ...]:
    found: list[Any] = []
    try:
        for take, item in zip(parts, value, strict=False):
            found.append(take(item))
    except _Mismatch as error:
        error.path.append(str(len(found)))
        raise
    return tuple(found)


def _ruled(take: Read, rules: list[TextRule]) -> Read:
    def read(value: Json) -> str:
        text: str = take(value)
        for rule in rules:
            if not rule.accepts(text):
                raise _Mismatch(rule.what, text, rule.want)
        return text

    return read


def _one_of(choices: Mapping[str, Any]) -> Read:
    def read(value: Json) -> Any:
        if type(value) is not str or value not in choices:
            raise _Mismatch("not one of the choices", value, f"choose {' or '.join(choices)}")
        return choices[value]

    return read


def _scalar(wanted: type, *more: type, check: Read | None = None) -> Read:
    kinds = (wanted, *more)

    def read(value: Json) -> Any:
        if type(value) not in kinds:
            raise _Mismatch(f"{_WORDS[wanted]} is wanted", value)
        return value if check is None else check(value)

    return read


def _sound(text: str) -> str:
    """Half of a surrogate pair is no text: nothing could write or show it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Mismatch("not a text", text) from None
    return text


def _finite(number: float) -> float:
    try:
        real = float(number)
    except OverflowError:
        real = float("inf")
    if not isfinite(real):
        raise _Mismatch("a number that is too large", str(number)[:20])
    return real


_WORDS: dict[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    NoneType: "null",
}
_SCALARS: dict[Any, Read] = {
    str: _scalar(str, check=_sound),
    bool: _scalar(bool),
    int: _scalar(int),
    float: _scalar(float, int, check=_finite),
    NoneType: _scalar(NoneType),
}
