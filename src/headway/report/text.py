"""How wide a text is, and how to shorten it: an SVG cannot wrap, so boxes are sized beforehand.

Widths are those of DejaVu Sans, the widest of the usual sans-serif fonts, rounded up: a text that
fits by this measure fits in Arial, Helvetica, Segoe UI and Roboto too.
"""

from __future__ import annotations

import unicodedata
from functools import cache

ELLIPSIS = "…"
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
BOLD = 1.13

_EM = {
    **dict.fromkeys("ijl'", 0.29),
    **dict.fromkeys(" .,:;|/\\", 0.35),
    **dict.fromkeys('frt()[]-!"I·', 0.47),
    **dict.fromkeys("sczJ_?*", 0.54),
    **dict.fromkeys("mwMW@%…✓✗→≤", 1.0),
    **dict.fromkeys("+=<>~^#&", 0.85),
}


def plain(text: str) -> str:
    """The text without characters that XML forbids or that would turn the writing direction."""
    return "".join(REPLACEMENT if _unprintable(character) else character for character in text)


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """An upper estimate of the width in pixels at that font size."""
    ems = sum(_em(character) for character in text)
    return ems * size * (BOLD if bold else 1.0)


def fit(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """The text, or its beginning and end around an ellipsis, so that it fits the width.

    The end is kept because names of expanded components (``own.map1``) differ there.
    """
    text = plain(text)
    if width_of(text, size, bold=bold) <= width:
        return text
    for kept in range(len(text) - 1, 0, -1):
        tail = kept // 2
        short = text[: kept - tail] + ELLIPSIS + (text[-tail:] if tail else "")
        if width_of(short, size, bold=bold) <= width:
            return short
    return ELLIPSIS


@cache
def _em(character: str) -> float:
    if character in _EM:
        return _EM[character]
    if unicodedata.east_asian_width(character) in "WF":
        return 1.4
    if ord(character) > 0x17F:
        return 1.1
    return 0.8 if character.isupper() else 0.66


def _unprintable(character: str) -> bool:
    return (
        unicodedata.category(character) in ("Cc", "Cs", "Cn")
        or unicodedata.bidirectional(character) in ("LRE", "RLE", "LRO", "RLO", "PDF")
        or unicodedata.bidirectional(character) in ("LRI", "RLI", "FSI", "PDI")
    )
