from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headway.engine.operators.conform import conform_function
from headway.errors import DataError
from headway.model.schema import schema

ALL = schema(b="boolean", i="int", l="bigint", f="float", d="double", s="string(4)", t="timestamp")
GOOD = (1, True, 2, 3, 0.5, 0.1, "äö", 4)
NAMES = ("timestamp", "b", "i", "l", "f", "d", "s", "t")


def with_value(name: str, value: Any) -> tuple[Any, ...]:
    place = NAMES.index(name)
    return (*GOOD[:place], value, *GOOD[place + 1 :])


def test_a_row_as_it_should_be_is_left_alone() -> None:
    ascii_row = with_value("s", "abcd")
    assert conform_function(ALL)(ascii_row) is ascii_row
    assert conform_function(ALL)(GOOD) == GOOD


@pytest.mark.parametrize(
    ("name", "value", "becomes"),
    [
        ("timestamp", np.int64(7), 7),
        ("b", np.bool_(False), False),
        ("i", np.int8(-3), -3),
        ("f", 0.1, 0.10000000149011612),
        ("f", 3, 3.0),
        ("d", 2, 2.0),
        ("d", np.float32(0.5), 0.5),
        ("s", "ää", "ää"),
        *((name, None, None) for name in NAMES[1:]),
    ],
)
def test_values_are_brought_to_their_types(name: str, value: Any, becomes: Any) -> None:
    given = conform_function(ALL)(with_value(name, value))
    assert given == with_value(name, becomes)
    assert type(given[NAMES.index(name)]) is type(becomes)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("timestamp", None, "timestamp: a tuple needs a timestamp; got NULL"),
        ("timestamp", float("nan"), "timestamp: must be timestamp; got float nan"),
        ("timestamp", 1.0, "timestamp: must be timestamp; got float 1.0"),
        ("b", 1, "b: must be boolean; got int 1"),
        ("i", True, "i: must be int; got bool True"),
        ("i", 2**31, "i: must be int; got int 2147483648"),
        ("i", 1.0, "i: must be int; got float 1.0"),
        ("l", -(2**63) - 1, "l: must be bigint; got int -9223372036854775809"),
        ("d", "1", "d: must be double; got str '1'"),
        ("d", True, "d: must be double; got bool True"),
        ("d", 10**400, "d: must be double; got int 1"),
        ("s", 5, "s: must be string(4); got int 5"),
        ("s", "abcde", "s: takes 5 bytes, more than the 4 declared; got str 'abcde'"),
        ("s", "äöü", "s: takes 6 bytes, more than the 4 declared; got str 'äöü'"),
        ("s", "\ud800", "s: must be string(4); got str '\\ud800'"),
    ],
)
def test_what_cannot_be_is_refused_by_name(name: str, value: Any, message: str) -> None:
    with pytest.raises(DataError) as raised:
        conform_function(ALL)(with_value(name, value))
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize("row", [(), (1,), (*GOOD, 1), 5, None])
def test_rows_of_the_wrong_length_or_kind(row: Any) -> None:
    with pytest.raises(DataError, match="a row must"):
        conform_function(ALL)(row)


def test_nan_is_a_float() -> None:
    row = with_value("f", float("nan"))
    assert repr(conform_function(ALL)(row)) == repr(row)
