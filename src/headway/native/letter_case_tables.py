"""The tables behind ``upper`` and ``lower`` in C++, made of what Python itself does.

They are in ``runtime/headway/letter_case_tables.hpp``, made by::

    python -m headway.native.letter_case_tables > src/headway/native/runtime/headway/…

Letters that change by the same distance, one beside another or every second one, are one entry.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator

_SIGMA, _FINAL_SIGMA = "Σ", "ς"


def points() -> Iterator[int]:
    """All code points but those that are no characters of UTF-8."""
    return (point for point in range(sys.maxunicode + 1) if not 0xD800 <= point <= 0xDFFF)


def tables_header() -> str:
    """The text of the header."""
    upper, lower = _changes(str.upper), _changes(str.lower)
    after_letter = {p for p in points() if _is_final(f"a{chr(p)}{_SIGMA}")}
    cased = {p for p in points() if _is_final(chr(p) + _SIGMA)}
    parts = [
        _HEAD.format(version=unicodedata.unidata_version),
        _steps("UPPER_STEPS", _single(upper)),
        _expansions("UPPER_EXPANSIONS", _several(upper)),
        _steps("LOWER_STEPS", _single(lower)),
        _expansions("LOWER_EXPANSIONS", _several(lower)),
        "// Letters that have capitals or are some; a sigma behind one ends its word.",
        _ranges("CASED", cased),
        "// What stands inside words without being a letter of them: marks, apostrophes, points.",
        _ranges("CASE_IGNORABLE", after_letter - cased),
        "}  // namespace headway",
    ]
    return "\n".join(parts) + "\n"


_HEAD = """\
// Which letters are the capitals of which: Unicode {version}, as Python has it. Made by
// headway.native.letter_case_tables; not to be changed by hand.
#pragma once

#include <cstdint>

namespace headway {{

// The letters from `first` to `last`, each or every second one (`step`), change by `distance`.
struct CaseStep {{
    std::uint32_t first;
    std::uint32_t last;
    std::int32_t distance;
    std::uint32_t step;
}};

// A letter that becomes several; unused places are zero.
struct CaseExpansion {{
    std::uint16_t letter;
    std::uint16_t becomes[3];
}};

struct LetterRange {{
    std::uint32_t first;
    std::uint32_t last;
}};
"""


def _is_final(word: str) -> bool:
    return word.lower().endswith(_FINAL_SIGMA)


def _changes(convert: Callable[[str], str]) -> dict[int, str]:
    return {p: changed for p in points() if (changed := convert(chr(p))) != chr(p)}


def _single(changes: dict[int, str]) -> dict[int, int]:
    return {point: ord(text) for point, text in changes.items() if len(text) == 1}


def _several(changes: dict[int, str]) -> dict[int, str]:
    return {point: text for point, text in changes.items() if len(text) > 1}


def _steps(name: str, changes: dict[int, int]) -> str:
    entries: list[tuple[int, int, int, int]] = []
    for point, target in sorted(changes.items()):
        distance = target - point
        if entries:
            first, last, same, step = entries[-1]
            gap = point - last
            if distance == same and gap in (1, 2) and (first == last or gap == step):
                entries[-1] = (first, point, same, gap)
                continue
        entries.append((point, point, distance, 1))
    rows = (f"{{0x{a:X}, 0x{b:X}, {distance}, {step}}}" for a, b, distance, step in entries)
    return _array("CaseStep", name, rows)


def _expansions(name: str, changes: dict[int, str]) -> str:
    rows = []
    for point, text in sorted(changes.items()):
        becomes = [ord(character) for character in text] + [0] * (3 - len(text))
        rows.append(f"{{0x{point:X}, {{{', '.join(f'0x{one:X}' for one in becomes)}}}}}")
    return _array("CaseExpansion", name, rows)


def _ranges(name: str, members: set[int]) -> str:
    ranges: list[tuple[int, int]] = []
    for point in sorted(members):
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1] = (ranges[-1][0], point)
        else:
            ranges.append((point, point))
    return _array("LetterRange", name, (f"{{0x{a:X}, 0x{b:X}}}" for a, b in ranges))


def _array(kind: str, name: str, rows: Iterable[str]) -> str:
    lines, line = [], "   "
    for row in rows:
        if len(line) + len(row) + 2 > 100:
            lines.append(line)
            line = "   "
        line += f" {row},"
    return "\n".join([f"inline constexpr {kind} {name}[] = {{", *lines, line, "};", ""])


if __name__ == "__main__":
    sys.stdout.write(tables_header())
