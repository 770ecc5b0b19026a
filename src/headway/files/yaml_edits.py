"""Small changes of YAML text: a value put in place of another, a key added. All else, comments and
order included, stays as it is written.

What comes out is read again by whoever asked for it: an edit is text, and only reading says what it
means.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headway.files.source_map import SourceMap
from headway.files.write_yaml import flow_text
from headway.yaml_tree import Mapping, Node, Scalar, Sequence, parse_yaml

EditValue = str | int | float | dict[str, str]


@dataclass(frozen=True)
class YamlEdit:
    """``key: value`` is to stand in the mapping at the dotted path ``at``. The key may be missing
    so far, and the mapping too."""

    at: str
    key: str
    value: EditValue


def can_edit(places: SourceMap, at: str) -> bool:
    """Whether what stands at that path stands in the document itself, not in a library it uses."""
    found = places.find(at)
    return found is None or found[0] is places.document


def edited(places: SourceMap, edits: Iterable[YamlEdit]) -> str:
    """The document's text with all the edits made, one after another."""
    document = places.document
    for edit in edits:
        text = _one(SourceMap(document, places.libraries), edit)
        document = parse_yaml(text, document.file)
    return document.text


def _one(places: SourceMap, edit: YamlEdit) -> str:
    text, as_json = places.document.text, places.document.file.lower().endswith(".json")
    found = places.find(f"{edit.at}.{edit.key}")
    if found is not None and isinstance(found[1], Scalar):
        scalar = found[1]
        return text[: scalar.start] + _written(edit.value, as_json) + text[scalar.end :]
    holder = places.find(edit.at)
    key, value = edit.key, edit.value
    if holder is None:
        above, _, name = edit.at.rpartition(".")
        holder, key, value = places.find(above), name, {edit.key: str(edit.value)}
    if holder is None or not isinstance(holder[1], Mapping):
        raise LookupError(edit.at)
    return _added(text, holder[1], key, _written(value, as_json), as_json=as_json)


def _written(value: EditValue, as_json: bool) -> str:
    return json.dumps(value, ensure_ascii=False) if as_json else flow_text(value)


def _added(text: str, mapping: Mapping, key: str, value: str, *, as_json: bool) -> str:
    entry = f"{_written(key, as_json)}: {value}"
    if text[mapping.start : mapping.start + 1] == "{":
        inside = mapping.start + 1
        if not mapping.entries:
            return text[:inside] + entry + text[inside:].lstrip()
        end = _end(text, list(mapping.entries.values())[-1])
        return f"{text[:end]}, {entry}{text[end:]}"
    end = _end(text, list(mapping.entries.values())[-1])
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    line_end -= text[line_end - 1 : line_end] == "\r"
    new_line = "\r\n" if text[line_end : line_end + 1] == "\r" else "\n"
    line_start = text.rfind("\n", 0, mapping.start) + 1
    indent = " " * (mapping.start - line_start)
    # Sections of a file stand apart where they already do.
    apart = new_line if not indent and 2 * new_line in text else ""
    return f"{text[:line_end]}{new_line}{apart}{indent}{entry}{text[line_end:]}"


_FILLING = re.compile(r"(?:[\s,]|#[^\n]*)*")


def _end(text: str, node: Node) -> int:
    """Where a value ends: behind its last character."""
    if isinstance(node, Scalar):
        return node.start + len(text[node.start : node.end].rstrip())
    children: list[Node] = node.items if isinstance(node, Sequence) else list(node.entries.values())
    if text[node.start : node.start + 1] in ("{", "["):
        inside = _end(text, children[-1]) if children else node.start + 1
        filling = _FILLING.match(text, inside)
        assert filling is not None
        return filling.end() + 1
    return _end(text, children[-1])


# ---------------------------------------------------------------- what was changed


def changed_lines(before: str, after: str) -> Iterator[tuple[int, str]]:
    """The lines that differ, with their number in the old text: ``-`` goes, ``+`` comes."""
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    for tag, start, stop, new_start, new_stop in matcher.get_opcodes():
        if tag == "equal":
            continue
        for number in range(start, stop):
            yield number + 1, f"- {old[number]}"
        for number in range(new_start, new_stop):
            if new[number].strip():
                yield start + 1, f"+ {new[number]}"
