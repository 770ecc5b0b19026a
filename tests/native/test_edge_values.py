"""Every function and cast at its edges, in C++ beside Python."""

from __future__ import annotations

import itertools
import math
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from tests.expressions.grammar import COLUMNS, single
from tests.native.cpp_compiler import RUNTIME, SANITIZED, sanitizers_work
from tests.native.expression_program import Row, assert_same, questions

from headway.expressions.casts import CASTS
from headway.expressions.functions import FUNCTIONS
from headway.model.expression_tree import Call, Cast, walk
from headway.model.schema import schema
from headway.native.cpp_functions import CPP_CASTS, CPP_FUNCTIONS
from headway.native.cpp_text_lengths import LOWER_GROWTH, UPPER_GROWTH
from headway.native.letter_case_tables import points, tables_header

DOUBLES = [
    *(0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 1 / 3, 0.1, 1.005, 45.0, 90.0, 180.0, 709.0, 709.9, 745.2),
    *(5e-324, 2.2250738585072014e-308, 1e-310, 1e-17, 0.49999999999999994, 0.9999999999999999),
    *(2147483647.0, 2147483647.5, 2147483648.0, 2147483649.0, 9e18, 9.2e18, 2.0**63, 1e19),
    *(4503599627370496.5, 2.0**53, 2.0**53 + 2, 1e16, 1e17, 1e22, 1e300, sys.float_info.max),
    *(math.pi, math.pi / 2, math.e, math.inf, math.nan),
]
DOUBLES = [*DOUBLES, *(-value for value in DOUBLES[:-1])]
SINGLES = [single(value) for value in DOUBLES if not 3.4e38 < abs(value) < math.inf]
INTS = [0, 1, -1, 2, -2, 3, 7, -7, 10, 15, -15, 1005, 46341, 2**31 - 1, -(2**31), -(2**31) + 1]
LONGS = [*INTS, 2**31, -(2**31) - 1, 2**53 + 1, 5 * 10**17, 2**63 - 1, -(2**63), -(2**63) + 1]
STRINGS = [
    *(
        "",
        "a",
        "ab",
        "Ab",
        "ß",
        "ŉ",
        "ΐ",
        "İ",
        "ÉÀ",
        "ΌΔΟΣ",
        "Σ",
        "ΑΣ.",
        "b😀c",
        "it's",
        "\x00",
        "\t",
    ),
    *(" 12 ", "-7.9", ".", "+", "-", "+.", "-.5", "12.", "1.2.3", "00012", "0x10", "1_0", "١٢"),
    *("2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "1e5"),
    *("9223372036854775808", "-9223372036854775808", "-9223372036854775809", "9" * 40, "12\x7f"),
    *("nan", "NaN", "+NaN", "-NaN", "+nan", "inf", "-INF", "Infinity", "+infinity", "infinit"),
    *("1e", "1e+", "e5", "1E-5", ".5e1", "5.e1", "3d", "3D", "3f", "3.F", "3dd", "1e400", "-1e400"),
    *(
        "1e-400",
        "4.9e-324",
        "2.4703282292062327e-324",
        "2.47032822920623272e-324",
        "0e999999999999",
    ),
    *("1e99999999999999999999", "1e-99999999999999999999", "0.1", "179769313486231580793e289"),
    *("0x1p4", "0X1.8P-1", "0x.8p1", "0x1.p1f", "0x1", "0xp1", "0x.p1", "-0x1p2000", "0x1p-1075"),
    *("0x1.00000000000008p0", "0x1.000000000000080000001p0", "0x0p0", "-0", "0x1p99999999999999"),
    *(
        "TRUE",
        "true",
        "tRuE",
        "t",
        "T",
        "yes",
        "Y",
        "1",
        "false",
        "F",
        "no",
        "N",
        "0",
        "on",
        " t\x7f",
    ),
    *("ſ", "K", "ﬃ", "ǆ", "ǅ", "𐐀", "ꭰ", "ᲀ", "aΣ'b", "aΣ'", "😀Σ", "a\u0301Σ", "Σ\u0301a"),
]
ONE_REAL = """
    abs(d) | sqrt(d) | radians(d) | degrees(d) | sign(d) | floor(d) | ceil(d) | isnan(d) | (-d)
    abs(f) | sign(f) | floor(f) | ceil(f) | isnan(f) | (-f) | sqrt(f) | d IS NULL | d + 0.1 | d * 3
    CAST(d AS int) | CAST(d AS bigint) | CAST(d AS float) | CAST(d AS boolean) | d IN (0, 1, 2.5)
    CAST(f AS int) | CAST(f AS bigint) | CAST(f AS double) | CAST(f AS boolean) | 1 / d | d / 3
    """
NEAR_ONE_REAL = """
    cbrt(d) | exp(d) | ln(d) | log10(d) | sin(d) | cos(d) | tan(d) | asin(d) | acos(d) | atan(d)
    pow(d, 2) | pow(2, d) | pow(-2, d) | pow(d, 0.5) | ln(f) | pi() * d
    """
TWO_REALS = """
    d + e | d - e | d * e | d / e | d % e | f + g | f - g | f * g | f % g | d = e | d <> e | d < e
    d <= e | d > e | d >= e | d <=> e | f = g | f < g | f <=> g | least(d, e) | greatest(d, e)
    least(f, g) | greatest(f, g) | nullif(d, e) | coalesce(d, e) | d BETWEEN e AND 2 | f > d
    """
NEAR_TWO_REALS = "pow(d, e) | atan2(d, e) | hypot(d, e)"
WHOLES = """
    i + j | i - j | i * j | i % j | i div j | i / j | -i | abs(i) | i = j | i < j | i <=> j
    l + m | l - m | l * m | l % m | l div m | l / m | -l | abs(l) | l = m | l < m | l <=> m
    least(i, j) | greatest(i, j) | least(l, m) | floor(i) | ceil(l) | sign(i) | isnan(l)
    round(i) | round(i, 3) | round(i, -1) | round(i, -2) | round(i, -9) | round(i, -10)
    round(l) | round(l, -1) | round(l, -3) | round(l, -18) | i IN (1, 7) | l IN (0, 9999999999)
    CAST(i AS boolean) | CAST(i AS bigint) | CAST(i AS float) | CAST(i AS double) | i < d
    CAST(i AS string) | CAST(l AS string) | CAST(l AS boolean) | CAST(l AS int) | CAST(l AS float)
    CAST(l AS double) | timestamp_micros(l) | unix_micros(timestamp_micros(i)) | i * i * i - j
    """
TEXTS = """
    upper(s) | lower(s) | length(s) | s || u | concat(s) | concat(s, u, 'é?"\\\\', s) | s = u
    s < u | s <= u | s <=> u | least(s, u) | greatest(s, u) | s IN ('a', 'ß', '') | s IS NULL
    CAST(s AS int) | CAST(s AS bigint) | CAST(s AS double) | CAST(s AS float) | CAST(s AS boolean)
    upper(lower(s)) | length(upper(s)) | upper(s || u) | substring(upper(s), 2) | coalesce(s, u)
    substring(s, 0) | substring(s, 1) | substring(s, 2) | substring(s, -1) | substring(s, -2, 1)
    substring(s, i) | substring(s, i, j) | substring(s, 2, j)
    substring(s, -2147483648, 2147483647) | substring(s, 2, -1) | substring(s, 1, 0)
    substring(s, i, 3)
    """
TRUTHS = """
    b AND c | b OR c | NOT b | b = c | b <> c | b < c | b <= c | b <=> c | least(b, c)
    greatest(b, c) | NOT (b AND c) | NOT (b OR NOT c) | (b AND c) IS NULL | (b OR c) = b
    CAST(b AS int)
    CAST(b AS bigint) | CAST(b AS float) | CAST(b AS double) | CAST(b AS string) | IF(b, c, NOT c)
    CASE WHEN b THEN 1 WHEN c THEN 2 END | coalesce(b, c) | coalesce(b, TRUE) | b IN (TRUE)
    (b AND NULL) | (b OR NULL) | NULL AND c | CASE WHEN NULL THEN 1 ELSE 2 END | IF(c, NULL, 7)
    coalesce(NULL, i) | NULL <=> b | upper(NULL) || 'x' | least(NULL, i) | (i = NULL) IS NULL
    """


def listed(text: str) -> list[str]:
    return [
        part.strip().replace("⧺", "||")
        for line in text.replace("||", "⧺").split("\n")
        for part in line.split(" | ")
        if part.strip()
    ]


def row(**columns: object) -> Row:
    return tuple(
        columns.get(field.name, 0 if n == 0 else None) for n, field in enumerate(COLUMNS.columns)
    )


def test_the_tables_name_the_same_functions_and_casts() -> None:
    assert CPP_FUNCTIONS.keys() == FUNCTIONS.keys()
    assert CPP_CASTS.keys() == CASTS.keys()
    for name, function in FUNCTIONS.items():
        assert CPP_FUNCTIONS[name].gives_maybe == function.may_be_null, name
        assert CPP_FUNCTIONS[name].takes_maybe == (not function.strict and name != "isnan"), name


def test_every_function_is_asked() -> None:
    asked = questions(_exact_and_near(), COLUMNS)
    nodes = [node for question in asked for node in walk(question.typed.tree)]
    assert {node.function for node in nodes if isinstance(node, Call)} == FUNCTIONS.keys()
    casts = {(node.operand.type, node.type) for node in nodes if isinstance(node, Cast)}
    assert casts == CASTS.keys()


def _exact_and_near() -> list[str]:
    texts = (ONE_REAL, NEAR_ONE_REAL, TWO_REALS, NEAR_TWO_REALS, WHOLES, TEXTS, TRUTHS)
    return [one for text in texts for one in [*listed(text), "round(d, 2)"]]


def exact_texts() -> list[str]:
    return [one for text in (ONE_REAL, TWO_REALS, WHOLES, TEXTS, TRUTHS) for one in listed(text)]


@pytest.mark.parametrize("sanitized", [False, True])
def test_edges(tmp_path: Path, sanitized: bool) -> None:
    if sanitized and not sanitizers_work():
        pytest.skip("the C++ compiler has no AddressSanitizer and UndefinedBehaviorSanitizer")
    near = [*listed(NEAR_ONE_REAL), *listed(NEAR_TWO_REALS)]
    asked = [*questions(exact_texts(), COLUMNS), *questions(near, COLUMNS, ulps=1)]
    assert_same(
        asked, edge_rows(), COLUMNS, tmp_path, ["-O0", *SANITIZED] if sanitized else ["-O1"]
    )


def edge_rows() -> list[Row]:
    """Each pair of edges of each type at least once, and one of nulls."""
    return [row(), *_pairs_of_edges()]


def _pairs_of_edges() -> Iterator[Row]:
    pairs: dict[tuple[str, str], Sequence[object]] = {
        ("d", "e"): DOUBLES,
        ("f", "g"): SINGLES,
        ("i", "j"): INTS,
        ("l", "m"): LONGS,
        ("b", "c"): [True, False, None],
    }
    cycles = {names: itertools.cycle(itertools.product(v, v)) for names, v in pairs.items()}
    strings = itertools.cycle(STRINGS)
    following = itertools.cycle([*STRINGS[7:], *STRINGS[:7]])
    for _ in range(len(DOUBLES) ** 2):
        columns: dict[str, object] = {"s": next(strings), "u": next(following)}
        for (first, second), pair in cycles.items():
            columns[first], columns[second] = next(pair)
        yield row(**columns)


def test_rounding_to_any_number_of_digits(tmp_path: Path) -> None:
    """Halves as they are shown, and numbers beside them, at every size."""
    rng = Random(5)
    values = list(DOUBLES)
    for _ in range(1500):
        whole = rng.randrange(10 ** rng.randint(1, 17))
        half = float(f"{whole}5e{rng.randint(-22, 20)}")
        values += [half, -math.nextafter(half, 0.0), math.nextafter(half, math.inf)]
        values.append(rng.uniform(-1.0, 1.0) * 10.0 ** rng.randint(-20, 25))
        # as many digits as a double shows, and powers of two, below which numbers lie closer
        many = float(f"{rng.randrange(10**14, 10**17)}e{rng.randint(-22, 18)}")
        values += [many, math.nextafter(many, 0.0), 2.0 ** rng.randint(-70, 120)]
    asked = questions([f"round(d, {digits})" for digits in range(-18, 19)], COLUMNS)
    assert_same(asked, [row(d=value) for value in values], COLUMNS, tmp_path)


def test_numbers_read_from_any_text(tmp_path: Path) -> None:
    columns = schema(s="string(1200)")
    rng = Random(6)
    texts = [
        *STRINGS,
        "1" * 1000,
        "0." + "0" * 900 + "1e901",
        "1" * 900 + "e-880",
        "0" * 1100 + "7",
    ]
    for _ in range(3000):
        texts.append(
            "".join(rng.choices("+-.0123456789eExXpPdDfF aAnNiItTyY\t\x7f", k=rng.randint(0, 9)))
        )
        texts.append(f"{rng.random() * 10.0 ** rng.randint(-320, 307)!r}")
        # halfway between two doubles, and a little more, in full
        low = rng.random() * 2.0 ** rng.randint(-60, 60)
        exact = _halfway(low)
        texts += [exact, exact + "0" * 20 + "1"]
        sign, point = rng.choice(["", "-"]), rng.choice(["", "."])
        digits = "".join(rng.choices("0123456789abcdefABCDEF", k=rng.randint(1, 24)))
        place = rng.randint(0, len(digits))
        texts.append(f"{sign}0x{digits[:place]}{point}{digits[place:]}p{rng.randint(-1180, 1030)}")
    asked = questions(
        [f"CAST(s AS {kind})" for kind in ("int", "bigint", "double", "boolean")], columns
    )
    assert_same(asked, [(0, text[:1200]) for text in texts], columns, tmp_path)


def _halfway(low: float) -> str:
    """The decimal number, in full, that lies midway between a double and the next one."""
    middle = (Fraction(low) + Fraction(math.nextafter(low, math.inf))) / 2
    twos = middle.denominator.bit_length() - 1
    return f"{middle.numerator * 5**twos}e-{twos}"


# -------------------------------------------------------------------- capitals


def test_the_table_of_letters_is_this_pythons() -> None:
    header = (RUNTIME / "headway" / "letter_case_tables.hpp").read_text(encoding="utf-8")
    version = unicodedata.unidata_version
    if f"Unicode {version}," not in header:
        pytest.skip(f"the table is of another Unicode than this Python's {version}")
    assert tables_header() == header


@pytest.mark.parametrize(
    ("convert", "growth"), [(str.upper, UPPER_GROWTH), (str.lower, LOWER_GROWTH)]
)
def test_no_letter_grows_more_than_there_is_room_for(
    convert: Callable[[str], str], growth: tuple[int, int]
) -> None:
    most, of = growth
    ratios = [(len(convert(chr(p)).encode()), len(chr(p).encode())) for p in points()]
    assert all(after * of <= most * before for after, before in ratios)
    assert any(after * of == most * before for after, before in ratios)


def test_capitals_of_all_letters(tmp_path: Path) -> None:
    if f"Unicode {unicodedata.unidata_version}," not in (
        RUNTIME / "headway" / "letter_case_tables.hpp"
    ).read_text(encoding="utf-8"):
        pytest.skip("the table is of another Unicode than this Python's")
    every = [chr(p) for p in points() if unicodedata.category(chr(p)) not in ("Cn", "Co")]
    changing = [c for c in every if c.upper() != c or c.lower() != c]
    texts = ["".join(every[start : start + 50]) for start in range(0, len(every), 50)]
    texts += changing
    # A sigma before, behind and between all kinds of characters.
    for character in every[::37] + changing[::11] + [chr(p) for p in range(0x20, 0x370)]:
        texts += [f"a{character}Σ", f"{character}Σ", f"aΣ{character}", f"aΣ{character}b"]
    columns = schema(s="string(200)")
    asked = questions(["upper(s)", "lower(s)", "length(s)", "substring(s, 2, 3)"], columns)
    assert_same(asked, [(0, text) for text in texts], columns, tmp_path)
