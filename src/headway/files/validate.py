"""From a document to a form, with a place for every problem."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import ValidationError

from headway.errors import FileError, Place, Problem
from headway.files.forms import TAG, Form
from headway.files.nodes import Document, Mapping, Node, Scalar, Sequence, plain

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
    loc = [part for part in item["loc"] if not str(part).startswith(TAG)]
    on_key = bool(loc) and loc[-1] == "[key]"
    loc = [part for part in loc if part != "[key]"]
    ctx = item.get("ctx") or {}
    if "key" in ctx:
        loc.append(ctx["key"])
        on_key = True
    on_key = on_key or ctx.get("kind") == "unknown"
    return Problem(
        ctx.get("what", item["msg"]),
        at=".".join(str(part)[:60] for part in loc),
        got=ctx["got"] if "got" in ctx else describe(item["input"]),
        want=ctx.get("want", ""),
        place=place_of(document, loc, on_key=on_key),
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
