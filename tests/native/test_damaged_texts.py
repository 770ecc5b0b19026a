"""Bytes that are no UTF-8 and sizes beyond the room do no harm to what computes with texts."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.native.cpp_compiler import SANITIZED, compile_program, run_program, sanitizers_work

ROOM = 12
COUNT = 20_000
# Every function of texts over whatever bytes there are; each result within its room.
SOURCE = f"""
#include <cstdio>

#include "headway/letter_case.hpp"
#include "headway/parsing.hpp"
#include "headway/texts.hpp"
#include "headway/value.hpp"

using Damaged = headway::Text<{ROOM}>;

int main() {{
    Damaged damaged;
    std::uint64_t sum = 0;
    int count = 0;
    while (std::fread(&damaged, sizeof damaged, 1, stdin) == 1) {{
        const std::string_view text = damaged.view();
        if (text.size() > {ROOM}) {{
            return 1;
        }}
        const headway::Text<{3 * ROOM}> upper = headway::upper<{3 * ROOM}>(text);
        const headway::Text<{3 * ROOM // 2}> lower = headway::lower<{3 * ROOM // 2}>(text);
        const headway::Text<{2 * ROOM}> twice = headway::concat<{2 * ROOM}>({{text, text}});
        const headway::Text<5> cut = headway::text<5>(text);
        if (twice.size != 2 * text.size() || cut.size > 5) {{
            return 2;
        }}
        for (std::int32_t place = -15; place < 15; ++place) {{
            const std::string_view part = headway::substring(text, place, 3);
            if (part.size() > text.size()) {{
                return 3;
            }}
            sum += part.size();
        }}
        sum += upper.size + lower.size + headway::key_hash(0, damaged) % 7U;
        sum += static_cast<std::uint64_t>(headway::length(text));
        sum += headway::parse_double(text).known + headway::parse_bigint(text).known;
        sum += headway::parse_int(text).known + headway::parse_boolean(text).known;
        sum += headway::less(text, upper.view()) + headway::equal(damaged, damaged);
        ++count;
    }}
    std::printf("%d %d", count, sum > 0 ? 1 : 0);
    return 0;
}}
"""


def test_damaged_texts_do_no_harm(tmp_path: Path) -> None:
    if not sanitizers_work():
        pytest.skip("the C++ compiler has no AddressSanitizer and UndefinedBehaviorSanitizer")
    rng = Random(9)
    # Beginnings and middles of characters, both sigmas, letters that grow, digits, blanks.
    likely = bytes.fromhex(
        "00 20 41 61 2d 2e 30 39 65 78 7f 80 a3 bf c3 9f ce cf 90 e0 ed f0 f4 ff"
    )
    pieces = []
    for number in range(COUNT):
        some = bytes(rng.choices(likely, k=ROOM)) if number % 2 else rng.randbytes(ROOM)
        size = rng.choice([rng.randint(0, ROOM), rng.randint(0, 65_535)])
        pieces.append(size.to_bytes(2, "little") + some)
    program = compile_program(SOURCE, tmp_path, ["-O0", *SANITIZED])
    assert run_program(program, b"".join(pieces)) == f"{COUNT} 1".encode()


def test_a_text_is_cut_at_the_end_of_a_character(tmp_path: Path) -> None:
    source = """
#include "headway/value.hpp"

int main() {
    const headway::Text<4> cut = headway::text<4>("ab\\303\\244\\303\\244");
    const headway::Text<5> shorter = headway::text<5>("ab\\303\\244\\303\\244");
    const headway::Text<1> nothing = headway::text<1>("\\303\\244");
    const bool sizes = cut.size == 4 && shorter.size == 4 && nothing.size == 0;
    const bool zeros = shorter.bytes[4] == 0 && nothing.bytes[0] == 0;
    const bool fit = headway::fits<4>("abcd") && !headway::fits<4>("abcde");
    return sizes && zeros && fit && headway::equal(cut, headway::text<4>(shorter.view())) ? 0 : 1;
}
"""
    assert run_program(compile_program(source, tmp_path), b"") == b""
