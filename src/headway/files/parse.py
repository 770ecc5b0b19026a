"""YAML text to a tree of nodes, from PyYAML's event stream, without recursion, and strict.

No anchors, aliases or tags (so no alias bombs), no key twice, bounded depth, one document.
"""

from __future__ import annotations

from typing import Any, NoReturn

import yaml

from headway.errors import FileError, Problem
from headway.files.nodes import Document, Mapping, Node, Scalar, Sequence
from headway.files.scalars import resolve

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
            reason = f"not YAML: {error.reason}"
            self._refuse(reason, self._bad_character(error), want="remove that character")
        if root is None or (isinstance(root, Scalar) and root.text in ("", "~", "null")):
            self._refuse("the file is empty", 0, want="see the examples folder for a start")
        if not isinstance(root, Mapping):
            got = "a list" if isinstance(root, Sequence) else f"{root.text[:40]!r}"
            self._refuse("not a mapping", root.start, got=got, want="start with lines 'key: value'")
        self._places.root = root
        return self._places

    def _bad_character(self, error: yaml.reader.ReaderError) -> int:
        """libyaml counts bytes, PyYAML's own reader counts characters."""
        position = int(error.position)
        if _Loader is yaml.SafeLoader:
            return position
        return len(self._text.encode()[:position].decode(errors="ignore"))

    def _refuse(self, what: str, index: int, got: str = "", want: str = "") -> NoReturn:
        place = self._places.place(min(index, len(self._text)))
        raise FileError(Problem(what, place=place, got=got, want=want)) from None

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
