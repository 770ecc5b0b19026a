"""From a character of a scalar's value to the character of the file it was written as.

Quoting, escapes, folding and block indentation change only white space and escapes, so the n-th
visible character of the value is the n-th visible one of the source.
"""

from __future__ import annotations

import re

from headway.files.nodes import Scalar

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
