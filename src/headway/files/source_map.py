"""Where in which file the elements are written, and a place for every problem of a form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import ValidationError

from headway.errors import FileError, InputError, Place, Problem
from headway.files.forms import TAG, Form
from headway.files.step_forms import form_of
from headway.model.operators import ONLY_PORT
from headway.yaml_tree import Document, Mapping, Node, Scalar, Sequence, index_in_text, plain

AnyInputError = TypeVar("AnyInputError", bound=InputError)
_MOST_JOINED = 8  # operators in nested components: 'use.inner.operator'
_RENAMED = {"shedder": "shed", "stream": "from", "inputs": "from", "steps": "operators"}


@dataclass(frozen=True)
class SourceMap:
    """The documents a query or vehicle was read from.

    ``libraries`` tells which document holds a component or schema that the main one does not.
    """

    document: Document
    libraries: dict[tuple[str, str], Document] = field(default_factory=dict)
    """('components' or 'schemas', name) -> the document that declares it"""

    def locate(self, at: str, offset: int | None = None) -> Place:
        """The place of the longest part of a dotted path that exists.

        ``offset`` counts characters inside an expression.
        """
        walk = _PlaceWalk(self, at)
        node = walk.node
        if isinstance(node, Scalar) and walk.done:
            index = node.start
            if offset is not None:
                index = index_in_text(walk.document.text, node, offset)
            return walk.document.place(index)
        return walk.document.place(walk.key_index)

    def find(self, at: str) -> tuple[Document, Node] | None:
        """The document and the element at a dotted path; None where there is none."""
        walk = _PlaceWalk(self, at)
        return (walk.document, walk.node) if walk.done else None

    def attach(self, error: AnyInputError) -> AnyInputError:
        """The same error with a place for every problem."""
        return type(error)(self.attach_all(error.problems))

    def attach_all(self, problems: Iterable[Problem]) -> list[Problem]:
        """The same problems, each with its place, and named by the words of the file."""
        return [
            problem
            if problem.place is not None
            else replace(
                problem,
                place=self.locate(problem.at, problem.offset),
                at=_PlaceWalk(self, problem.at).words,
            )
            for problem in problems
        ]


class _PlaceWalk:
    """One way down from the root, as far as it goes."""

    def __init__(self, places: SourceMap, at: str) -> None:
        self.places = places
        self.document = places.document
        self.node: Node = self.document.root
        self.key_index = self.node.start
        self.keys: list[str] = []
        parts = [part for part in at.split(".") if part]
        if len(parts) >= 2:
            self.document = places.libraries.get((parts[0], parts[1]), self.document)
            self.node = self.document.root
            self.key_index = self.node.start
        while parts:
            rest = self._step(parts)
            if rest is None:
                break
            parts = rest
        self.done = not parts
        self.words = ".".join([*self.keys, *parts])
        """the path in the keys of the file; from where it leads nowhere, as it was given"""

    def _step(self, parts: list[str]) -> list[str] | None:
        """Descends by one key; the parts that are left, or None when there is no way."""
        node = self.node
        if isinstance(node, Sequence):
            if parts[0].isdigit() and int(parts[0]) < len(node.items):
                self.node = node.items[int(parts[0])]
                self.key_index = self.node.start
                self.keys.append(parts[0])
                return parts[1:]
            return None
        if not isinstance(node, Mapping):
            return None
        for count in range(1, min(len(parts), _MOST_JOINED) + 1):
            if self._enter(node, ".".join(parts[:count])):
                return parts[count:]
        rest = self._translated(node, parts)
        return self._into_component(node, parts) if rest is None else rest

    def _enter(self, node: Mapping, key: str) -> bool:
        if key not in node.entries:
            return False
        self.key_index = node.keys[key].start
        self.node = node.entries[key]
        self.keys.append(key)
        return True

    def _translated(self, node: Mapping, parts: list[str]) -> list[str] | None:
        """Model fields that are written under another key."""
        form = form_of(node.entries)
        names = dict(form.places) if form else _RENAMED
        if form is not None and form.key == "union" and parts[0] == "inputs" and len(parts) > 1:
            number = parts[1].removeprefix(ONLY_PORT)
            if number.isdigit() and self._enter(node, "union"):
                return [str(int(number) - 1), *parts[2:]]
        for count in (2, 1):
            key = names.get(".".join(parts[:count])) if len(parts) >= count else None
            if key is not None and self._enter(node, key):
                return parts[count:]
        return None

    def _into_component(self, node: Mapping, parts: list[str]) -> list[str] | None:
        """``operators.own.map1`` of an expanded query: map1 in the component that ``own`` uses."""
        used = node.entries.get("component")
        if not isinstance(used, Scalar):
            return None
        inner = _PlaceWalk(self.places, f"components.{used.text}.operators.{parts[0]}")
        if not inner.done:
            return None
        self.document, self.node, self.key_index = inner.document, inner.node, inner.key_index
        self.keys.append(parts[0])
        return parts[1:]


# ---------------------------------------------------------------- a document to a form


AnyForm = TypeVar("AnyForm", bound=Form)
MOST_PROBLEMS = 20


def validate(document: Document, form: type[AnyForm]) -> AnyForm:
    """The document as that form; FileError lists its problems, in the order of the file."""
    try:
        return form.model_validate(plain(document.root))
    except ValidationError as error:
        problems = [_problem(document, item) for item in error.errors(include_url=False)]
    problems.sort(key=lambda problem: (problem.place.line or 0) if problem.place else 0)
    raise FileError(problems[:MOST_PROBLEMS])


def _problem(document: Document, item: Any) -> Problem:
    loc = _way_to(item)
    ctx = item.get("ctx") or {}
    on_key = "[key]" in item["loc"][-1:] or "key" in ctx or ctx.get("kind") == "unknown"
    return replace(problem_of(item), place=place_of(document, loc, on_key=on_key))


def _way_to(item: Any) -> list[Any]:
    loc = [part for part in item["loc"] if part != "[key]" and not str(part).startswith(TAG)]
    ctx = item.get("ctx") or {}
    return [*loc, ctx["key"]] if "key" in ctx else loc


def problem_of(item: Any) -> Problem:
    """An error of pydantic in the words of Headway, without a place."""
    ctx = item.get("ctx") or {}
    return Problem(
        ctx.get("what", item["msg"]),
        at=".".join(str(part)[:60] for part in _way_to(item)),
        got=ctx["got"] if "got" in ctx else describe(item["input"]),
        want=ctx.get("want", ""),
    )


def place_of(document: Document, loc: list[Any], *, on_key: bool = False) -> Place:
    """The place of the longest part of ``loc`` that exists: a scalar's value, else the key."""
    node: Node = document.root
    index = node.start
    for step, part in enumerate(loc):
        child: Node | None = None
        if isinstance(node, Mapping) and part in node.entries:
            child, index = node.entries[part], node.keys[part].start
        elif isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
            child = node.items[part]
            index = child.start
        if child is None:
            break
        node = child
        last = step == len(loc) - 1
        if isinstance(node, Scalar) and not (last and on_key) and node.start < node.end:
            index = node.start
    return document.place(index)


def describe(value: Any) -> str:
    """A short word for what was got."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else repr(value[:57] + "...")
    return repr(value)
