"""The unit of a product or quotient follows from the units of its parts."""

from __future__ import annotations

import pytest

from headway.compiler.front_end import check_query
from headway.errors import InputError
from headway.files import parse_query


def unit_of(expression: str) -> str | None:
    query = f"""
query: q
sources:
  s: {{schema: {{d: "double [m]", e: "double [m]", v: "double [m/s]", t: "double [s]",
                a: "double [m/s2]", n: double, c: "double [°C]", w: "double [kg·m²/s³]"}}}}
operators:
  f: {{map: {{x: "{expression}"}}, from: s}}
outputs:
  o: {{from: f, deadline: 1 s}}
"""
    schema = check_query(parse_query(query).query).schemas["f"]
    return schema.columns[-1].unit


@pytest.mark.parametrize(
    ("expression", "unit"),
    [
        ("d / v", "s"),
        ("v * t", "m"),
        ("v / t", "m/s^2"),
        ("d * e", "m^2"),
        ("d / e", None),
        ("1 / t", "1/s"),
        ("d / v / t", None),
        ("v * v / a", "m"),
        ("d * 2", "m"),
        ("d / 2", "m"),
        ("d / n", None),
        ("n / d", None),
        ("c * t", "°C*s"),
        ("w / v", "kg*m/s^2"),
        ("v / t + a", "m/s^2"),
        ("d / v - t", "s"),
    ],
)
def test_the_unit_that_follows(expression: str, unit: str | None) -> None:
    assert unit_of(expression) == unit


@pytest.mark.parametrize("expression", ["d / v + d", "v * t < t", "v / t - v"])
def test_what_follows_is_held_against_the_rest(expression: str) -> None:
    with pytest.raises(InputError, match="mixes the units"):
        unit_of(expression)
