"""What generated code calls, at the ends of the scale: values as Java and Spark give them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from headway.expressions import kernels as k
from headway.expressions.casts import may_fail
from headway.model.schema import DataType

INF, NAN = math.inf, math.nan


def cases() -> list[tuple[Any, Any]]:
    return [
        (k.wrap32(2**31 - 1), 2**31 - 1),
        (k.wrap32(2**31), -(2**31)),
        (k.wrap32(-(2**31) - 1), 2**31 - 1),
        (k.wrap64(2**63), -(2**63)),
        (k.wrap64(-(2**63) - 1), 2**63 - 1),
        (k.wrap64(-5), -5),
        (k.f32(0.1), 0.10000000149011612),
        (k.clamp32(NAN), 0),
        (k.clamp32(3e9), 2**31 - 1),
        (k.clamp32(-3e9), -(2**31)),
        (k.clamp64(NAN), 0),
        (k.clamp64(9.1e18), 9_100_000_000_000_000_000),
        (k.clamp64(-9.1e18), -9_100_000_000_000_000_000),
        (k.clamp64(2.0**63), 2**63 - 1),
        (k.clamp64(-(2.0**63)), -(2**63)),
        (k.clamp64(-INF), -(2**63)),
        (k.clamp64(INF), 2**63 - 1),
        (k.int_remainder(-7, 3), -1),
        (k.int_remainder(7, -3), 1),
        (k.int_remainder(0, 3), 0),
        (k.int_remainder(1, 0), None),
        (k.int_quotient(-7, 2), -3),
        (k.int_quotient(-7, -2), 3),
        (k.int_quotient(7, 2), 3),
        (k.int_quotient(1, 0), None),
        (k.int_quotient(-(2**63), -1), -(2**63)),
        (k.float_remainder(7.5, -2.0), 1.5),
        (k.float_remainder(1.0, 0.0), None),
        (k.float_remainder(INF, 2.0), NAN),
        (k.float_remainder(-INF, 2.0), NAN),
        (k.float_remainder(2.0, INF), 2.0),
        (k.power(NAN, 0.0), 1.0),
        (k.power(1.0, NAN), NAN),
        (k.power(-1.0, INF), NAN),
        (k.power(1.0, -INF), NAN),
        (k.power(2.0, 3.0), 8.0),
        (k.power(-10.0, 309.0), -INF),
        (k.power(-10.0, 310.0), INF),
        (k.power(10.0, 309.0), INF),
        (k.power(0.0, -1.0), INF),
        (k.power(-0.0, -1.0), -INF),
        (k.power(-0.0, -2.0), INF),
        (k.power(-8.0, 0.5), NAN),
        (k.large_exp(0.0), 1.0),
        (k.large_exp(800.0), INF),
        (k.log_edge(NAN), NAN),
        (k.log_edge(-1.0), None),
        (k.round_half_up(2.5), 3.0),
        (k.round_half_up(-2.5), -3.0),
        (k.round_half_up(-0.4), 0.0),
        (k.round_half_up(1.005, 2), 1.01),
        (k.round_half_up(149.0, -2), 100.0),
        (k.round_half_up(INF), INF),
        (k.round_half_up(NAN), NAN),
        (k.round_int32(25, -1), 30),
        (k.round_int32(-25, -1), -30),
        (k.round_int32(24, -1), 20),
        (k.round_int32(24, 1), 24),
        (k.round_int32(2**31 - 1, -1), -(2**31) + 2),
        (k.round_int64(2**63 - 1, -1), -(2**63) + 2),
        (k.least_float(None, NAN, 2.0, 1.0), 1.0),
        (k.least_float(None, NAN), NAN),
        (k.least_float(None, None), None),
        (k.greatest_float(None, 1.0, 2.0), 2.0),
        (k.greatest_float(3.0, NAN, 4.0), NAN),
        (k.greatest_float(None), None),
        (k.least_plain(None, 3, 2), 2),
        (k.least_plain(None), None),
        (k.greatest_plain(None, 3, 2), 3),
        (k.greatest_plain(None), None),
        (k.substring("abcdef", 2, 3), "bcd"),
        (k.substring("abcdef", 1), "abcdef"),
        (k.substring("abcdef", 0, 2), "ab"),
        (k.substring("abcdef", -2), "ef"),
        (k.substring("abcdef", -8, 3), "a"),
        (k.substring("abcdef", -8, 2), ""),
        (k.substring("abcdef", 7), ""),
        (k.substring("abcdef", 3, 0), ""),
        (k.substring("abcdef", 3, -1), ""),
        (k.parse_int32(" 12 "), 12),
        (k.parse_int32("12.9"), 12),
        (k.parse_int32("-.5"), 0),
        (k.parse_int32("+7"), 7),
        (k.parse_int32("2147483647"), 2**31 - 1),
        (k.parse_int32("2147483648"), None),
        (k.parse_int32("-2147483648"), -(2**31)),
        (k.parse_int32("-2147483649"), None),
        (k.parse_int32("1e3"), None),
        (k.parse_int64("9223372036854775807"), 2**63 - 1),
        (k.parse_int64("9223372036854775808"), None),
        (k.parse_float(" 1.5e2f "), 150.0),
        (k.parse_float("-Infinity"), -INF),
        (k.parse_float("nAn"), NAN),
        (k.parse_float("+NaN"), NAN),
        (k.parse_float("0x1.8p1"), 3.0),
        (k.parse_float("0x1p99999"), INF),
        (k.parse_float("-0x1p99999d"), -INF),
        (k.parse_float("0x1"), None),
        (k.parse_float("1,5"), None),
        (k.parse_boolean(" Yes\x7f"), True),
        (k.parse_boolean("F"), False),
        (k.parse_boolean("2"), None),
    ]


def test_values() -> None:
    for number, (found, wanted) in enumerate(cases()):
        assert repr(found) == repr(wanted), f"case {number}: {found!r}, not {wanted!r}"


def test_only_texts_may_fail_to_become_something_else() -> None:
    assert [one for one in DataType if may_fail(one)] == [DataType.STRING]


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, -3.25])
def test_what_is_single_precision_stays(value: float) -> None:
    assert repr(k.f32(value)) == repr(value)
