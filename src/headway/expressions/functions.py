"""The table of functions. To add one is to add an entry here, and its C++ to
:mod:`headway.native.cpp_functions`.

``python`` is a template: ``$0`` is the first argument; where an argument is used more than once,
``@0`` stands at the place that is evaluated first, and ``$*`` is all of them with commas. Names in
it come from ``kernels.py`` and ``math``. On Spark every entry is the function of the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway.expressions.signatures import (
    Signature,
    alike,
    any_argument,
    doubles,
    fixed,
    rounding,
    same_number,
    same_type,
    strings,
    summed,
    to_whole,
)
from headway.model.schema import DataType

Template = str | Callable[[tuple[DataType, ...]], str]
KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Function:
    """A function of one row.

    ``strict``: NULL when an argument is. ``may_be_null``: NULL in other cases too. ``unit``: KEEP,
    the name of one, or unknown. ``angle``: the argument is an angle in rad. ``exact``: both engines
    give the same bits; if not, the last places may differ, as mathematical libraries do.
    """

    name: str
    signature: Signature
    python: Template
    strict: bool = True
    may_be_null: bool = False
    unit: str | None = None
    angle: bool = False
    exact: bool = True

    def template(self, types: tuple[DataType, ...]) -> str:
        return self.python if isinstance(self.python, str) else self.python(types)


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """A function of the rows of a group.

    ``initial``, ``add`` and ``merge`` work on one slot ``$s`` of the state; ``$x`` is a value that
    is not NULL, ``$o`` another state's slot. ``result`` turns the slot into the value. Sums of
    doubles are not ``exact``: they depend on the order of the rows.
    """

    name: str
    signature: Signature
    initial: str
    add: Template
    merge: Template
    result: str = "$s"
    nullable: bool = True
    unit: str | None = None
    exact: bool = True


def _abs(types: tuple[DataType, ...]) -> str:
    wrap = {DataType.INT: "wrap32(abs($0))", DataType.BIGINT: "wrap64(abs($0))"}
    return wrap.get(types[0], "abs($0)")


def _floor(function: str) -> Template:
    def template(types: tuple[DataType, ...]) -> str:
        if types[0].is_integral:
            return "$0"
        return f"({function}($0) if -9e18 < @0 < 9e18 else clamp64($0))"

    return template


def _round(types: tuple[DataType, ...]) -> str:
    kernel = {DataType.INT: "round_int32", DataType.BIGINT: "round_int64"}.get(
        types[0], "round_half_up"
    )
    return f"{kernel}($*)"


def _extreme(name: str) -> Template:
    def template(types: tuple[DataType, ...]) -> str:
        floating = types[0] in (DataType.FLOAT, DataType.DOUBLE)
        return f"{name}_float($*)" if floating else f"{name}_plain($*)"

    return template


def _sum(types: tuple[DataType, ...]) -> str:
    if types[0] is DataType.DOUBLE:
        return "$s = ($s or 0.0) + $x"
    return "$s = $x if $s is None else wrap64($s + $x)"


def _extremum(operator: str) -> Callable[[tuple[DataType, ...]], str]:
    """``>`` keeps the largest; NaN is larger than every number."""

    def template(types: tuple[DataType, ...]) -> str:
        test = f"$s is None or $x {operator} $s"
        if types[0] in (DataType.FLOAT, DataType.DOUBLE):
            nan = "$x != $x" if operator == ">" else "$s != $s"
            test = f"{test} or {nan}"
        return f"if {test}: $s = $x"

    return template


def _merged(add: Template) -> Template:
    """Merging is adding the other slot, where that works."""

    def template(types: tuple[DataType, ...]) -> str:
        text = add if isinstance(add, str) else add(types)
        return "if $o is not None:\n    " + text.replace("$x", "$o")

    return template


_FINITE = "-INF < @0 < INF"
_ENTRIES = (
    Function("abs", same_number(), _abs, unit=KEEP),
    Function("sqrt", doubles(1), "(sqrt($0) if @0 >= 0.0 else NAN)"),
    Function("cbrt", doubles(1), "cbrt($0)", exact=False),
    Function("pow", doubles(2), "power($0, $1)", exact=False),
    Function("exp", doubles(1), "(exp($0) if @0 < 709.0 else large_exp($0))", exact=False),
    Function(
        "ln", doubles(1), "(log($0) if @0 > 0.0 else log_edge($0))", may_be_null=True, exact=False
    ),
    Function(
        "log10",
        doubles(1),
        "(log10($0) if @0 > 0.0 else log_edge($0))",
        may_be_null=True,
        exact=False,
    ),
    Function("sin", doubles(1), f"(sin($0) if {_FINITE} else NAN)", angle=True, exact=False),
    Function("cos", doubles(1), f"(cos($0) if {_FINITE} else NAN)", angle=True, exact=False),
    Function("tan", doubles(1), f"(tan($0) if {_FINITE} else NAN)", angle=True, exact=False),
    Function(
        "asin", doubles(1), "(asin($0) if -1.0 <= @0 <= 1.0 else NAN)", unit="rad", exact=False
    ),
    Function(
        "acos", doubles(1), "(acos($0) if -1.0 <= @0 <= 1.0 else NAN)", unit="rad", exact=False
    ),
    Function("atan", doubles(1), "atan($0)", unit="rad", exact=False),
    # Spark adds 0.0, which makes -0.0 positive.
    Function("atan2", doubles(2), "atan2($0 + 0.0, $1 + 0.0)", unit="rad", exact=False),
    Function("hypot", doubles(2), "hypot($0, $1)", unit=KEEP, exact=False),
    Function("radians", doubles(1), "radians($0)", unit="rad"),
    Function("degrees", doubles(1), "degrees($0)", unit="deg"),
    Function("pi", fixed(DataType.DOUBLE), "pi"),
    Function("floor", to_whole(), _floor("floor"), unit=KEEP),
    Function("ceil", to_whole(), _floor("ceil"), unit=KEEP),
    Function("round", rounding(), _round, unit=KEEP),
    Function("sign", doubles(1), "(1.0 if @0 > 0.0 else -1.0 if $0 < 0.0 else $0)"),
    Function(
        "isnan",
        fixed(DataType.BOOLEAN, DataType.DOUBLE),
        "($0 != $0)",
        strict=False,
    ),
    Function("least", alike(2), _extreme("least"), strict=False, may_be_null=True, unit=KEEP),
    Function("greatest", alike(2), _extreme("greatest"), strict=False, may_be_null=True, unit=KEEP),
    Function("upper", fixed(DataType.STRING, DataType.STRING), "$0.upper()"),
    Function("lower", fixed(DataType.STRING, DataType.STRING), "$0.lower()"),
    Function("length", fixed(DataType.INT, DataType.STRING), "len($0)"),
    Function(
        "substring",
        fixed(DataType.STRING, DataType.STRING, DataType.INT, DataType.INT, optional=1),
        "substring($*)",
    ),
    Function("concat", strings(1), "''.join(($*,))"),
    Function("unix_micros", fixed(DataType.BIGINT, DataType.TIMESTAMP), "$0"),
    Function("timestamp_micros", fixed(DataType.TIMESTAMP, DataType.BIGINT), "$0"),
)
FUNCTIONS = {entry.name: entry for entry in _ENTRIES}
ALIASES = {
    "power": "pow",
    "log": "ln",
    "ceiling": "ceil",
    "signum": "sign",
    "substr": "substring",
    "char_length": "length",
    "ucase": "upper",
    "lcase": "lower",
    "mean": "avg",
}

_AGGREGATES = (
    AggregateFunction(
        "count", any_argument(DataType.BIGINT), "0", "$s += 1", "$s += $o", nullable=False
    ),
    AggregateFunction(
        "count_if",
        fixed(DataType.BIGINT, DataType.BOOLEAN),
        "0",
        "if $x: $s += 1",
        "$s += $o",
        nullable=False,
    ),
    AggregateFunction("sum", summed(), "None", _sum, _merged(_sum), unit=KEEP, exact=False),
    AggregateFunction(
        "avg",
        doubles(1),
        "(0.0, 0)",
        "$s = ($s[0] + $x, $s[1] + 1)",
        "$s = ($s[0] + $o[0], $s[1] + $o[1])",
        "$s[0] / $s[1] if $s[1] else None",
        unit=KEEP,
        exact=False,
    ),
    AggregateFunction(
        "min", same_type(), "None", _extremum("<"), _merged(_extremum("<")), unit=KEEP
    ),
    AggregateFunction(
        "max", same_type(), "None", _extremum(">"), _merged(_extremum(">")), unit=KEEP
    ),
    AggregateFunction(
        "bool_or",
        fixed(DataType.BOOLEAN, DataType.BOOLEAN),
        "None",
        "$s = $x or $s is True",
        _merged("$s = $x or $s is True"),
    ),
    AggregateFunction(
        "bool_and",
        fixed(DataType.BOOLEAN, DataType.BOOLEAN),
        "None",
        "$s = $x and $s is not False",
        _merged("$s = $x and $s is not False"),
    ),
)
AGGREGATES = {entry.name: entry for entry in _AGGREGATES}
