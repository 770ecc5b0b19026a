"""The XML of an Amalthea model as a tree, read so that a hostile file does no harm.

Document types and entities are refused where they begin (no expansion, no outside files); size,
depth and number of elements are limited. Every element remembers its line and whether somebody has
taken it, so that what nobody takes can be told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote_plus
from xml.parsers import expat

from headway.errors import FileError, Place

MOST_BYTES = 256 * 2**20
MOST_ELEMENTS = 4_000_000
DEEPEST = 200


@dataclass(slots=True, eq=False)
class Element:
    """``tag`` and ``type`` (of ``xsi:type``) without their prefixes."""

    tag: str
    type: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    taken: bool = False

    @property
    def name(self) -> str:
        return self.attributes.get("name", "")

    def take(self) -> Element:
        """Notes that it is used for something, or known to mean nothing here."""
        self.taken = True
        return self

    def take_all(self) -> Element:
        """The same with all that is in it."""
        pending = [self]
        while pending:
            one = pending.pop()
            one.taken = True
            pending += one.children
        return self

    def all(self, *tags: str) -> Iterator[Element]:
        """Its children of these tags, taken."""
        for child in self.children:
            if child.tag in tags:
                yield child.take()

    def first(self, *tags: str) -> Element | None:
        return next(self.all(*tags), None)

    def inner(self) -> Iterator[Element]:
        """All elements in it, in the order of the file."""
        pending = list(reversed(self.children))
        while pending:
            one = pending.pop()
            yield one
            pending += reversed(one.children)

    def references(self, *names: str) -> list[str]:
        """The names that an attribute refers to (``Core0?type=ProcessingUnit``), or elements of
        that tag with an ``href``; other names stand for the same in other versions."""
        found: list[str] = []
        for name in names:
            found += self.attributes.get(name, "").split()
            found += [one.attributes.get("href", "").rpartition("#")[2] for one in self.all(name)]
        return [target(one) for one in found if one]

    def reference(self, *names: str) -> str:
        """The first of them; empty if there is none."""
        return next(iter(self.references(*names)), "")


def target(reference: str) -> str:
    """The name in a reference."""
    return unquote_plus(reference.rpartition("/")[2].partition("?")[0])


def read_tree(path: Path) -> Element:
    """The root of a file; FileError with the line where it is no XML, or may do harm."""
    name = str(path)
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise FileError(
                "the model is too large",
                at=name,
                got=f"{size / 2**20:.0f} MiB",
                want=f"at most {MOST_BYTES // 2**20} MiB",
            )
        content = path.read_bytes()
    except OSError as error:
        raise FileError(f"the model cannot be read: {error}", at=name) from error
    return parse_tree(content, name)


def parse_tree(content: bytes, name: str) -> Element:
    """The root of a model's text."""
    parser = expat.ParserCreate(namespace_separator=" ")
    open_ones: list[Element] = []
    roots: list[Element] = []
    count = 0

    def refuse(what: str, want: str) -> FileError:
        return FileError(what, want=want, place=Place(name, parser.CurrentLineNumber, 1))

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MOST_ELEMENTS or len(open_ones) >= DEEPEST:
            raise refuse(
                "more elements, or deeper ones, than a model has",
                f"at most {MOST_ELEMENTS:,}, {DEEPEST} deep",
            )
        plain = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        kind = next((v for k, v in attributes.items() if k.endswith("instance type")), "")
        if kind:
            plain.pop("type", None)
        if "type" in attributes:
            plain["type"] = attributes["type"]
        made = Element(
            tag.rpartition(" ")[2], kind.rpartition(":")[2], plain, parser.CurrentLineNumber
        )
        (open_ones[-1].children if open_ones else roots).append(made)
        open_ones.append(made)

    def end(_: str) -> None:
        open_ones.pop()

    def hostile(*_: object) -> int:
        raise refuse(
            "the model declares a document type or entities",
            "remove the DOCTYPE: a model has none, and Headway expands no entities",
        )

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = hostile
    parser.EntityDeclHandler = hostile
    parser.ExternalEntityRefHandler = hostile
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        place = Place(name, error.lineno, error.offset + 1)
        raise FileError(f"not XML: {expat.ErrorString(error.code)}", place=place) from error
    (root,) = roots
    if root.tag != "Amalthea":
        raise FileError(
            "not an Amalthea model",
            got=f"<{root.tag}>",
            want="its root is <am:Amalthea>",
            place=Place(name, root.line, 1),
        )
    return root
