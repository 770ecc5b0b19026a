"""Drawing primitives: SVG elements as strings, all text escaped, and how wide a text is."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from itertools import pairwise

# ---------------------------------------------------------------- text
# An SVG cannot wrap, so boxes are sized beforehand. Widths are those of DejaVu Sans, the widest of
# the usual sans-serif fonts, rounded up: a text that fits by this measure fits in Arial, Helvetica,
# Segoe UI and Roboto too.

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


# ---------------------------------------------------------------- style

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


def picture_css(class_: str, light: Mapping[str, str], dark: Mapping[str, str]) -> str:
    """Selector -> rule as a style sheet that holds inside pictures of the class only, so that they
    can stand in a page. Plain rules, no variables: they work in every viewer."""
    return (
        f".{class_}{{font-family:{FONT}}}"
        + _rules(class_, light)
        + "@media screen and (prefers-color-scheme:dark){"
        + _rules(class_, dark)
        + "}"
    )


def _rules(class_: str, style: Mapping[str, str]) -> str:
    return "".join(f".{class_} {selector}{{{rule}}}" for selector, rule in style.items())


# ---------------------------------------------------------------- elements


Point = tuple[float, float]


def number(value: float) -> str:
    """At most one decimal: enough for a screen, and the same on every machine."""
    return f"{value:.1f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))


def element(name: str, *children: str, **attributes: str | float) -> str:
    """An element; ``class_`` and ``font_size`` become ``class`` and ``font-size``."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
    )
    inside = "".join(children)
    return f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>"


def _value(value: str | float) -> str:
    return escape(plain(value)) if isinstance(value, str) else number(value)


def group(class_: str, *children: str, title: str = "", **attributes: str) -> str:
    """A group with a tooltip."""
    tip = (tooltip(title),) if title else ()
    return element("g", *tip, *children, class_=class_, **attributes)


def tooltip(text: str) -> str:
    lines = [plain(line) for line in text.split("\n")]
    return f"<title>{escape(chr(10).join(lines))}</title>"


def rect(x: float, y: float, width: float, height: float, class_: str, radius: float = 0) -> str:
    size: dict[str, float] = {"x": x, "y": y, "width": width, "height": height}
    if radius:
        size["rx"] = radius
    return element("rect", class_=class_, **size)


def label(
    content: str,
    x: float,
    y: float,
    width: float,
    *,
    size: float = 11,
    class_: str = "",
    bold: bool = False,
    anchor: str = "start",
) -> str:
    """A line of text no wider than ``width``; shortened, it carries itself as a tooltip."""
    shown = fit(content, width, size, bold=bold)
    style: dict[str, str | float] = {"x": x, "y": y, "font_size": size}
    if class_:
        style["class_"] = class_
    if bold:
        style["font_weight"] = "bold"
    if anchor != "start":
        style["text_anchor"] = anchor
    tip = tooltip(content) if shown != content else ""
    return element("text", tip, escape(shown), **style)


def polyline(points: Sequence[Point], radius: float = 6) -> str:
    """Path data along the points, corners rounded."""
    path = [f"M{_at(points[0])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        reach = min(radius, _distance(before, corner) / 2, _distance(corner, after) / 2)
        path.append(f"L{_at(_towards(corner, before, reach))}")
        path.append(f"Q{_at(corner)} {_at(_towards(corner, after, reach))}")
    path.append(f"L{_at(points[-1])}")
    return "".join(path)


def curve(points: Sequence[Point]) -> str:
    """Path data through the points: level stretches as lines, the rest as level-ended S-curves."""
    path = [f"M{_at(points[0])}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        if y == to_y:
            path.append(f"L{_at((to_x, to_y))}")
        else:
            middle = (x + to_x) / 2
            path.append(f"C{_at((middle, y))} {_at((middle, to_y))} {_at((to_x, to_y))}")
    return "".join(path)


def arrow_head(x: float, y: float, kind: str, **attributes: str) -> str:
    """A triangle that points right, its tip at the point."""
    shape = f"M{_at((x, y))}l-7 -3.5v7z"
    return element("path", class_=f"{kind}-head", d=shape, **attributes)


def dot(x: float, y: float) -> str:
    return element("circle", class_="dot", cx=x, cy=y, r=2.6)


def meter(x: float, y: float, width: float, share: float, limit: float, *, over: bool) -> str:
    """A small bar that shows a share of 1, with a tick at the limit; red when it is over it."""
    state = "used over" if over else "used"
    tick_at = x + width * min(limit, 1.0)
    return (
        rect(x, y, width, 7, "meter", 2)
        + rect(x, y, width * max(0.0, min(share, 1.0)), 7, state, 2)
        + element("path", class_="tick", d=f"M{_at((tick_at, y - 2))}v11")
    )


def _at(point: Point) -> str:
    return f"{number(point[0])} {number(point[1])}"


def _distance(one: Point, other: Point) -> float:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _towards(start: Point, end: Point, reach: float) -> Point:
    length = _distance(start, end) or 1.0
    share = reach / length
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
