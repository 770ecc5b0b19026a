"""YAML text as a tree that knows where every part stands: strict, bounded, without recursion.

Unquoted scalars mean what the core schema of YAML 1.2 says. So ``on``, ``yes``, ``no`` and ``1:30``
are text, as anyone would expect, not booleans and numbers as in YAML 1.1. There are no anchors,
aliases or tags (so no alias bombs), no key twice, bounded depth, one document.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml

from headway.errors import FileError, Place

# ---------------------------------------------------------------- text

MOST_BYTES = 8_000_000
"""A query of 10,000 operators takes about one megabyte."""


EXAMPLES = "examples"
"""where the help of the commands looks for the examples that come along"""


def _where_else(path: Path) -> str:
    if path.parts[:1] == (EXAMPLES,) and not Path(EXAMPLES).exists():
        return f"`headway examples {EXAMPLES}` copies the examples to there"
    return "check its path"


def read_text(path: Path) -> str:
    """The text of a file, without a byte order mark."""
    place = Place(str(path), 1, 1)
    try:
        if not path.exists():
            raise FileError("there is no such file", place=place, want=_where_else(path))
        if not path.is_file():
            got = "a directory" if path.is_dir() else "something that is no regular file"
            raise FileError("cannot be read", place=place, got=got, want="name a YAML file")
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL character
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(
            f"cannot be read: {reason}", place=place, want="check its path and permissions"
        ) from None
    if len(data) > MOST_BYTES:
        raise FileError(
            "the file is too large",
            place=place,
            got=f"more than {MOST_BYTES:,} bytes",
            want="move components into libraries and name them under 'use'",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise FileError(
            "the file is not UTF-8",
            place=Place(str(path), line, column),
            got=f"byte 0x{data[error.start]:02x}",
            want="save it as UTF-8",
        ) from None


# ---------------------------------------------------------------- the tree


_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(slots=True)
class Scalar:
    start: int
    end: int
    text: str
    style: str
    """``''`` for plain, else ``'``, ``"``, ``|`` or ``>``"""
    value: Value


@dataclass(slots=True)
class Sequence:
    start: int
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Mapping:
    start: int
    entries: dict[str, Node] = field(default_factory=dict)
    keys: dict[str, Scalar] = field(default_factory=dict)


Node = Scalar | Sequence | Mapping


@dataclass(slots=True)
class Document:
    """A parsed file: its name, its text and its root."""

    file: str
    text: str
    root: Mapping
    _line_starts: list[int] = field(default_factory=list)

    def place(self, index: int) -> Place:
        """Line and column of a character, both from 1."""
        if not self._line_starts:
            self._line_starts = _line_starts(self.text)
        line = bisect_right(self._line_starts, index)
        return Place(self.file, line, index - self._line_starts[line - 1] + 1)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def plain(node: Node) -> Any:
    """The tree as dicts, lists and scalars."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return {key: plain(value) for key, value in node.entries.items()}


# ---------------------------------------------------------------- scalars


Value = None | bool | int | float | str

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LARGEST = 2**63 - 1


def resolve(text: str) -> Value:
    """The value of a plain scalar; ValueError for a number that is not finite or too large."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INTEGER.fullmatch(text):
        if len(text) > 20 or abs(int(text)) > _LARGEST:
            raise ValueError("the number is too large")
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            raise ValueError("the number is too large")
        return number
    if _NOT_FINITE.fullmatch(text):
        raise ValueError("the number is not finite")
    return text


# ---------------------------------------------------------------- places inside a scalar
# Quoting, escapes, folding and block indentation change only white space and escapes, so the n-th
# visible character of the value is the n-th visible one of the source.


_SPACE = frozenset(" \t\r\n\x85\u2028\u2029")
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r\n|.)", re.DOTALL)
_SPACE_ESCAPES = frozenset("tnrNLP") | _SPACE


def index_in_text(text: str, scalar: Scalar, offset: int) -> int:
    """The index in ``text`` of the value's character at ``offset`` (its end, when beyond)."""
    offset = max(0, min(offset, len(scalar.text)))
    visible_before = sum(character not in _SPACE for character in scalar.text[:offset])
    on_visible = offset < len(scalar.text) and scalar.text[offset] not in _SPACE
    index, last_end, seen = _content_start(text, scalar), None, 0
    while index < scalar.end:
        width, visible = _step(text, index, scalar.style)
        if visible:
            if seen == visible_before and on_visible:
                return index
            seen += 1
            last_end = index + width
            if seen == visible_before and not on_visible:
                return last_end
        index += width
    return last_end if last_end is not None else _content_start(text, scalar)


def _content_start(text: str, scalar: Scalar) -> int:
    if scalar.style in ("|", ">"):
        line_end = text.find("\n", scalar.start)
        return scalar.end if line_end < 0 else line_end + 1
    return scalar.start + (1 if scalar.style else 0)


def _step(text: str, index: int, style: str) -> tuple[int, bool]:
    """Width of the source character at ``index``, and whether it is visible in the value."""
    if style == "'" and text.startswith("''", index):
        return 2, True
    if style == '"' and text[index] == "\\" and (match := _ESCAPE.match(text, index)):
        return len(match[0]), not _is_space(match[0][1:])
    return 1, text[index] not in _SPACE


def _is_space(escape: str) -> bool:
    """Whether an escape, without its backslash, stands for white space."""
    if len(escape) > 2:
        return int(escape[1:], 16) in {ord(character) for character in _SPACE}
    return escape[0] in _SPACE_ESCAPES


# ---------------------------------------------------------------- from PyYAML's events


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MOST_DEPTH = 32


def parse_yaml(text: str, file: str) -> Document:
    """The document in ``text``; FileError with a place for all that is not as it should be."""
    return _Parser(text, file).document()


class _Parser:
    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._places = Document(file, text, Mapping(0))

    def document(self) -> Document:
        try:
            self._text.encode()
            root = self._tree()
        except UnicodeEncodeError as error:
            self._refuse("a character that is no Unicode text", error.start)
        except yaml.MarkedYAMLError as error:
            self._refuse_as_json()
            mark: Any = error.problem_mark or error.context_mark
            index = mark.index if mark else 0
            if self._text[index : index + 1] == "\t":
                self._refuse("not YAML: a tab", index, want="indent with spaces")
            self._refuse(
                f"not YAML: {error.problem or error.context}",
                index,
                want="see yaml.org for the form",
            )
        except yaml.reader.ReaderError as error:
            self._refuse_as_json()
            reason = f"not YAML: {error.reason}"
            self._refuse(reason, self._bad_character(error), want="remove that character")
        if root is None or (isinstance(root, Scalar) and root.text in ("", "~", "null")):
            self._refuse("the file is empty", 0, want="see the examples folder for a start")
        if not isinstance(root, Mapping):
            got = "a list" if isinstance(root, Sequence) else f"{root.text[:40]!r}"
            self._refuse("not a mapping", root.start, got=got, want="start with lines 'key: value'")
        self._places.root = root
        return self._places

    def _refuse_as_json(self) -> None:
        """Tells what is wrong with the text of a JSON file in the words of that format."""
        if not self._places.file.lower().endswith(".json"):
            return
        try:
            json.loads(self._text)
        except json.JSONDecodeError as error:
            what = error.msg[:1].lower() + error.msg[1:]
            self._refuse(f"not JSON: {what}", error.pos, want="see json.org for the form")
        except RecursionError:
            return  # YAML's reader says where it is too deep

    def _bad_character(self, error: yaml.reader.ReaderError) -> int:
        """libyaml counts bytes, PyYAML's own reader counts characters."""
        position = int(error.position)
        if _Loader is yaml.SafeLoader:
            return position
        return len(self._text.encode()[:position].decode(errors="ignore"))

    def _refuse(self, what: str, index: int, got: str = "", want: str = "") -> NoReturn:
        place = self._places.place(min(index, len(self._text)))
        raise FileError(what, place=place, got=got, want=want) from None

    def _tree(self) -> Node | None:
        """The document's root. ``open_nodes`` are the unfinished collections, outermost first."""
        root: Node | None = None
        open_nodes: list[Sequence | Mapping] = []
        pending: list[Scalar | None] = []  # for each open mapping, the key whose value comes next
        documents = 0
        for event in yaml.parse(self._text, Loader=_Loader):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    mark: Any = event.start_mark
                    self._refuse("a second document", mark.index, want="keep one per file")
                continue
            if isinstance(event, yaml.CollectionEndEvent):
                open_nodes.pop()
                pending.pop()
                continue
            if not isinstance(event, yaml.NodeEvent):
                continue
            node = self._node(event)
            if open_nodes:
                self._add(open_nodes[-1], node, pending)
            else:
                root = node
            if not isinstance(node, Scalar):
                open_nodes.append(node)
                pending.append(None)
                if len(open_nodes) > MOST_DEPTH:
                    self._refuse(
                        "nested too deeply", node.start, want=f"at most {MOST_DEPTH} levels"
                    )
        return root

    def _node(self, event: Any) -> Node:
        start = event.start_mark.index
        if event.anchor is not None:
            self._refuse(
                "anchors and aliases are not supported",
                start,
                got=f"'{event.anchor}'",
                want="name a schema or component instead",
            )
        if event.tag is not None and event.tag != "!":
            self._refuse("tags are not supported", start, got=repr(event.tag), want="leave it out")
        if isinstance(event, yaml.SequenceStartEvent):
            return Sequence(start)
        if isinstance(event, yaml.MappingStartEvent):
            return Mapping(start)
        style = event.style or ""
        return Scalar(start, event.end_mark.index, event.value, style, event.value)

    def _add(self, parent: Sequence | Mapping, node: Node, pending: list[Scalar | None]) -> None:
        if isinstance(parent, Mapping) and pending[-1] is None:
            pending[-1] = self._key(parent, node)
            return
        if isinstance(node, Scalar) and node.style == "":
            try:
                node.value = resolve(node.text)
            except ValueError as error:
                self._refuse(
                    str(error), node.start, got=node.text[:40], want="write a finite number"
                )
        if isinstance(parent, Sequence):
            parent.items.append(node)
        elif (key := pending[-1]) is not None:
            parent.entries[key.text] = node
            parent.keys[key.text] = key
            pending[-1] = None

    def _key(self, parent: Mapping, node: Node) -> Scalar:
        if not isinstance(node, Scalar) or not node.text:
            self._refuse("a key must be a word", node.start, want="write 'name: value'")
        if node.text in parent.keys:
            first = self._places.place(parent.keys[node.text].start)
            self._refuse(
                f"the key '{node.text[:60]}' stands twice",
                node.start,
                want=f"keep one; the other is at line {first.line}, column {first.column}",
            )
        return node
