"""What an expression gives in Python: NULL, NaN, overflow. The contract with Spark goes further."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.expressions.columns import EMPTY, ROW, typed, value

from headway.expressions.rows import compile_condition

NAN, INF = math.nan, math.inf
LOWEST, HIGHEST = -(2**31), 2**31 - 1


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        # NULL goes through operators and functions
        ("speed + 1", {}, None),
        ("abs(speed)", {}, None),
        ("name || 'x'", {}, None),
        ("speed > 1", {}, None),
        ("speed = NULL", {"speed": 1.0}, None),
        # but not through these
        ("speed IS NULL", {}, True),
        ("speed <=> NULL", {}, True),
        ("isnan(speed)", {}, False),
        ("coalesce(speed, id, 7)", {}, 7.0),
        ("coalesce(speed, id, 7)", {"id": 3}, 3.0),
        ("coalesce(speed, id, 7)", {"speed": 2.0, "id": 3}, 2.0),
        ("coalesce(speed, id)", {}, None),
        ("least(id, 3)", {}, 3),
        # three-valued logic
        ("ok AND FALSE", {}, False),
        ("ok AND TRUE", {}, None),
        ("ok OR TRUE", {}, True),
        ("ok OR FALSE", {}, None),
        ("NOT ok", {}, None),
        ("NOT (ok AND speed > 1)", {"speed": 0.0}, True),
        ("id IN (1, NULL)", {"id": 1}, True),
        ("id IN (1, NULL)", {"id": 2}, None),
        ("id NOT IN (1, 2)", {}, None),
        ("id BETWEEN 1 AND NULL", {"id": 0}, False),
        ("CASE WHEN ok THEN 1 ELSE 2 END", {}, 2),
        ("CASE WHEN ok THEN 1 END", {}, None),
        ("nullif(id, 7)", {"id": 7}, None),
        # division by zero
        ("id / 0", {"id": 1}, None),
        ("speed / (id - id)", {"speed": 1.0, "id": 1}, None),
        ("id % 0", {"id": 1}, None),
        ("id div 0", {"id": 1}, None),
        # wrap around
        ("id + 1", {"id": HIGHEST}, LOWEST),
        ("-id", {"id": LOWEST}, LOWEST),
        ("abs(id)", {"id": LOWEST}, LOWEST),
        ("id * id - id", {"id": HIGHEST}, 1 - HIGHEST),
        ("big + 1", {"big": 2**63 - 1}, -(2**63)),
        ("id + 1 + speed", {"id": HIGHEST, "speed": 0.5}, LOWEST + 0.5),
        ("id + 1 - 1L", {"id": HIGHEST}, LOWEST - 1),
        ("id * 2 * speed", {"id": HIGHEST, "speed": 0.5}, -1.0),
        ("id + 1 - id", {"id": HIGHEST}, 1),
        ("id + 1L", {"id": HIGHEST}, HIGHEST + 1),
        # signs as in Java
        ("id % 3", {"id": -7}, -1),
        ("id div 2", {"id": -7}, -3),
        # NaN equals itself and is the largest
        ("speed = speed", {"speed": NAN}, True),
        ("speed > 1e300", {"speed": NAN}, True),
        ("speed <= speed * 1", {"speed": NAN}, True),
        ("speed < with_unit(distance, 'm/s')", {"speed": INF, "distance": NAN}, True),
        ("speed IN (1, 2)", {"speed": NAN}, False),
        ("least(speed, 1)", {"speed": NAN}, 1.0),
        # mathematics at its edges
        ("ln(id)", {"id": 0}, None),
        ("pow(speed, 2)", {"speed": 1e300}, INF),
        ("pow(-8, 1/3.0) <=> speed", {"speed": NAN}, True),
        ("exp(speed)", {"speed": 1e4}, INF),
        ("floor(speed)", {"speed": -1.5}, -2),
        ("ceil(speed)", {"speed": 1e30}, 2**63 - 1),
        ("round(speed, 2)", {"speed": 1.005}, 1.01),
        ("round(id, -1)", {"id": 15}, 20),
        # casts
        ("CAST(speed AS int)", {"speed": 1e30}, HIGHEST),
        ("CAST(speed AS int)", {"speed": NAN}, 0),
        ("CAST(big AS int)", {"big": 3_000_000_000}, -1_294_967_296),
        ("CAST(name AS int)", {"name": " -7.9 "}, -7),
        ("CAST(name AS int)", {"name": "seven"}, None),
        ("CAST(name AS double)", {"name": "1e3"}, 1000.0),
        ("CAST(name AS boolean)", {"name": "Yes"}, True),
        ("CAST(speed AS float)", {"speed": 0.1}, 0.10000000149011612),
        ("small * small", {"small": 0.10000000149011612}, 0.010000000707805157),
        # strings
        ("'it''s' || name", {"name": "\\("}, "it's\\("),
        ("substring(name, -3, 2)", {"name": "hello"}, "ll"),
        ("upper(name)", {"name": "straße"}, "STRASSE"),
        # time
        ("unix_micros(timestamp) + 1", {"timestamp": 5}, 6),
        ("seen >= timestamp", {"timestamp": 5, "seen": 5}, True),
    ],
)
def test_value(text: str, columns: dict[str, Any], expected: Any) -> None:
    result = value(text, **columns)
    assert (result, type(result)) == (expected, type(expected))


def test_a_condition_is_true_or_false_never_null() -> None:
    for text in ("speed > 1", "NOT (speed > 1)", "ok", "NOT ok", "ok OR speed > 1", "NULL = id"):
        assert compile_condition(typed(text), ROW)(EMPTY) is False
