"""Names, comments and constants of a query in C++: nothing of them becomes code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples
from tests.native.cpp_compiler import compile_program, run_program

from headway.native.cpp_names import (
    RESERVED,
    Names,
    camel_case,
    comment_lines,
    identifier,
    string_literal,
)

PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
NASTY = [
    "a */ b",
    "a /* b",
    "ends with \\",
    "ends with \\   ",
    "ends with ??/",
    "line\nint injected = 1;",
    "line\r\nint injected = 1;",
    "line\x0bint injected = 1;",
    "line\u2028int injected = 1;",
    "\\\n\\\nint injected = 1;",
    "turned \u202e around",
    "nothing \x00 \x1a \ud800 here",
    "tab\tstop, ä, 漢, 😀",
    '"quoted" \'too\' \\" ?? ??= ??/ \\?',
    "",
]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("speed", "speed"),
        ("class", "class_"),
        ("int", "int_"),
        ("use.port", "use_port"),
        ("_Bool", "the_Bool"),
        ("__FILE__", "the_FILE_"),
        ("a__b", "a_b"),
        ("NAN", "NAN_"),
        ("M_PI", "M_PI_"),
        ("X", "X"),
        ("errno", "errno_"),
        ("1st", "the_1st"),
        ("größe", "gr_e"),
        ("", "the_"),
    ],
)
def test_identifier(text: str, name: str) -> None:
    assert identifier(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("speed", "Speed"),
        ("use.port_speed", "UsePortSpeed"),
        ("inMotion", "InMotion"),
        ("class", "Class"),
        ("___", "the_"),
        ("a.1", "A1_"),
    ],
)
def test_camel_case(text: str, name: str) -> None:
    assert camel_case(text) == name


@examples(300)
@given(
    st.lists(st.text(alphabet="aA_.1", min_size=1, max_size=6) | st.sampled_from(sorted(RESERVED)))
)
def test_names_are_allowed_and_given_once(texts: list[str]) -> None:
    for take in (Names.take, Names.take_type):
        names = Names(["row"])
        given_out = [take(names, text) for text in texts]
        assert len({*given_out, "row"}) == len(texts) + 1
        for name in given_out:
            assert PLAIN.fullmatch(name)
            assert "__" not in name
            assert name not in RESERVED


def test_numbered_names_are_new() -> None:
    names = Names(["sum1"])
    assert [names.numbered("sum"), names.numbered("sum"), names.take("sum2")] == [
        "sum2",
        "sum3",
        "sum2_2",
    ]


@examples(300)
@given(st.text() | st.sampled_from(NASTY))
def test_a_comment_is_nothing_but_comment(text: str) -> None:
    lines = comment_lines(text)
    assert lines
    for line in lines:
        assert line.startswith("//")
        assert line.isprintable()
        assert not line.rstrip().endswith(("\\", "??/"))


def test_comments_show_what_they_are_of() -> None:
    assert comment_lines("v > 3\n AND\tok") == ["// v > 3", "//  AND    ok"]
    assert comment_lines("'a\\'") == ["// 'a\\'"]
    assert comment_lines("a\\") == ["// a\\ ."]
    assert comment_lines("a\u202eb\x00") == ["// a<U+202E>b<U+0000>"]


def test_literals() -> None:
    assert string_literal('a"b\\c?d') == r'"a\"b\\c\?d"'
    assert string_literal("ä1\n\x00") == r'"\303\2441\012\000"'


def test_the_compiler_reads_them_as_they_are_meant(tmp_path: Path) -> None:
    """Every nasty text as comment and as constant; were one to break out, it would not compile or
    would not give its bytes back."""
    strange = [*NASTY, *sorted(RESERVED), "__x", "_X", "NULL", "EOF", "assert", "INT_MAX"]
    lines = ["#include <cassert>", "#include <climits>", "#include <cmath>", "#include <cstdio>"]
    members = Names()
    lines += ["struct Row {", *(f"    int {members.take(text)};" for text in strange), "};"]
    types = Names(["Row"])
    lines += [f"struct {types.take_type(text)} {{}};" for text in strange]
    for text in NASTY:
        lines += comment_lines(text)
    lines += ["int main() {", "    int injected = 0;"]
    for text in NASTY:
        size = len(text.encode("utf-8", "surrogatepass"))
        lines += comment_lines(text)
        lines.append(f"    std::fwrite({string_literal(text)}, 1, {size}, stdout);")
    lines += ["    return injected;", "}", ""]
    given_back = run_program(compile_program("\n".join(lines), tmp_path, ["-O0"]), b"")
    assert given_back == "".join(NASTY).encode("utf-8", "surrogatepass")
