"""Functions and casts as C++ templates: the third column beside the table of functions.

A template is as in :mod:`headway.expressions.functions`: ``$0`` is the first argument, ``$*`` all
of them with commas. Arguments are plain values, whatever they are where the row has NULL: every
function of the runtime takes any value. ``$T`` is the type of the result, ``$N`` the room of a
string that is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway.model.schema import DataType

BOOLEAN, INT, BIGINT = DataType.BOOLEAN, DataType.INT, DataType.BIGINT
FLOAT, DOUBLE, STRING = DataType.FLOAT, DataType.DOUBLE, DataType.STRING

VALUE = "headway/value.hpp"
ARITHMETIC = "headway/arithmetic.hpp"
CONVERSIONS = "headway/conversions.hpp"
MATHEMATICS = "headway/mathematics.hpp"
ROUNDING = "headway/rounding.hpp"
EXTREMES = "headway/extremes.hpp"
TEXTS = "headway/texts.hpp"
LETTER_CASE = "headway/letter_case.hpp"
PARSING = "headway/parsing.hpp"
AGGREGATE_FUNCTIONS = "headway/aggregate_functions.hpp"
HEADERS = (
    VALUE,
    ARITHMETIC,
    CONVERSIONS,
    MATHEMATICS,
    ROUNDING,
    EXTREMES,
    TEXTS,
    LETTER_CASE,
    PARSING,
    AGGREGATE_FUNCTIONS,
)
"""every header that generated expressions may need"""

CppTemplate = str | Callable[[tuple[DataType, ...]], str]


@dataclass(frozen=True, slots=True)
class CppFunction:
    """``gives_maybe``: the function itself says whether its result is NULL. ``takes_maybe``: it
    takes NULL. ``makes_text``: it gives a headway::Text, which needs a place to lie in."""

    template: CppTemplate
    header: str = VALUE
    gives_maybe: bool = False
    takes_maybe: bool = False
    makes_text: bool = False

    def text(self, types: tuple[DataType, ...]) -> str:
        return self.template if isinstance(self.template, str) else self.template(types)


def _whole(name: str) -> CppTemplate:
    return lambda types: "$0" if types[0].is_integral else f"headway::{name}($0)"


def _round(types: tuple[DataType, ...]) -> str:
    return "headway::round_whole($*)" if types[0].is_integral else "headway::round_half_up($*)"


def _real(name: str, *, gives_maybe: bool = False) -> CppFunction:
    return CppFunction(f"headway::{name}($*)", MATHEMATICS, gives_maybe=gives_maybe)


CPP_FUNCTIONS: dict[str, CppFunction] = {
    "abs": CppFunction("headway::absolute($0)", ARITHMETIC),
    "sqrt": _real("square_root"),
    "cbrt": _real("cube_root"),
    "pow": _real("power"),
    "exp": _real("exponential"),
    "ln": _real("natural_logarithm", gives_maybe=True),
    "log10": _real("common_logarithm", gives_maybe=True),
    "sin": _real("sine"),
    "cos": _real("cosine"),
    "tan": _real("tangent"),
    "asin": _real("arc_sine"),
    "acos": _real("arc_cosine"),
    "atan": _real("arc_tangent"),
    "atan2": _real("direction"),
    "hypot": _real("hypotenuse"),
    "radians": _real("to_radians"),
    "degrees": _real("to_degrees"),
    "pi": CppFunction("headway::PI", MATHEMATICS),
    "floor": CppFunction(_whole("floor"), CONVERSIONS),
    "ceil": CppFunction(_whole("ceiling"), CONVERSIONS),
    "round": CppFunction(_round, ROUNDING),
    "sign": _real("sign"),
    "isnan": CppFunction("headway::is_nan($0)"),
    "least": CppFunction("headway::least<$T>({$*})", EXTREMES, gives_maybe=True, takes_maybe=True),
    "greatest": CppFunction(
        "headway::greatest<$T>({$*})", EXTREMES, gives_maybe=True, takes_maybe=True
    ),
    "upper": CppFunction("headway::upper<$N>($0)", LETTER_CASE, makes_text=True),
    "lower": CppFunction("headway::lower<$N>($0)", LETTER_CASE, makes_text=True),
    "length": CppFunction("headway::length($0)", TEXTS),
    "substring": CppFunction("headway::substring($*)", TEXTS),
    "concat": CppFunction("headway::concat<$N>({$*})", TEXTS, makes_text=True),
    "unix_micros": CppFunction("$0"),
    "timestamp_micros": CppFunction("$0"),
}

_TO_INT = CppFunction("headway::to_int($0)", CONVERSIONS)
_TO_BIGINT = CppFunction("headway::to_bigint($0)", CONVERSIONS)
_IS_NOT_ZERO = "headway::not_equal($0, {})"
_DIGITS = CppFunction("headway::digits<$N>($0)", TEXTS, makes_text=True)


def _plain(kind: str) -> CppFunction:
    return CppFunction(f"static_cast<{kind}>($0)")


def _parsed(name: str) -> CppFunction:
    return CppFunction(f"headway::{name}($0)", PARSING, gives_maybe=True)


CPP_CASTS: dict[tuple[DataType, DataType], CppFunction] = {
    (BOOLEAN, INT): _plain("std::int32_t"),
    (BOOLEAN, BIGINT): _plain("std::int64_t"),
    (BOOLEAN, FLOAT): _plain("float"),
    (BOOLEAN, DOUBLE): _plain("double"),
    (BOOLEAN, STRING): CppFunction("headway::truth_word($0)", TEXTS),
    (INT, BOOLEAN): CppFunction(_IS_NOT_ZERO.format("0")),
    (INT, BIGINT): _plain("std::int64_t"),
    (INT, DOUBLE): _plain("double"),
    (INT, STRING): _DIGITS,
    (BIGINT, BOOLEAN): CppFunction(_IS_NOT_ZERO.format("std::int64_t{0}")),
    (BIGINT, INT): CppFunction("headway::low_int($0)", CONVERSIONS),
    (BIGINT, DOUBLE): _plain("double"),
    (BIGINT, STRING): _DIGITS,
    (FLOAT, BOOLEAN): CppFunction(_IS_NOT_ZERO.format("0.0F")),
    (FLOAT, INT): _TO_INT,
    (FLOAT, BIGINT): _TO_BIGINT,
    (FLOAT, DOUBLE): _plain("double"),
    (DOUBLE, BOOLEAN): CppFunction(_IS_NOT_ZERO.format("0.0")),
    (DOUBLE, INT): _TO_INT,
    (DOUBLE, BIGINT): _TO_BIGINT,
    (DOUBLE, FLOAT): CppFunction("headway::to_float($0)", CONVERSIONS),
    (STRING, BOOLEAN): _parsed("parse_boolean"),
    (STRING, INT): _parsed("parse_int"),
    (STRING, BIGINT): _parsed("parse_bigint"),
    (STRING, DOUBLE): _parsed("parse_double"),
}
