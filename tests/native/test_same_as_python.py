"""The contract: an expression gives the same value in C++ as in Python, whatever the row."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tests.expressions.grammar import COLUMNS, every_node, expression, near_expression, random_row
from tests.native.cpp_compiler import SANITIZED, sanitizers_work
from tests.native.expression_program import (
    Question,
    Row,
    answers,
    assert_same,
    disagreements,
    questions,
)

from headway.model.schema import DataType
from headway.native import cpp_expressions
from headway.native.cpp_functions import CPP_CASTS, CppFunction

# Another seed asks other questions: HEADWAY_SEED=7 pytest tests/native
SEED = int(os.environ.get("HEADWAY_SEED", "1"))
EXPRESSIONS, NEAR_EXPRESSIONS, ROWS = 180, 50, 200
NEAR_ULPS = 1


@pytest.fixture(scope="module")
def asked() -> list[Question]:
    rng = Random(SEED)
    exact = every_node() + [expression(rng) for _ in range(EXPRESSIONS)]
    near = [near_expression(rng) for _ in range(NEAR_EXPRESSIONS)]
    return [
        *questions(list(dict.fromkeys(exact)), COLUMNS),
        *questions(list(dict.fromkeys(near)), COLUMNS, NEAR_ULPS),
    ]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    rng = Random(SEED)
    return [random_row(rng) for _ in range(ROWS)]


def test_python_and_native_agree(asked: list[Question], rows: list[Row], tmp_path: Path) -> None:
    assert_same(asked, rows, COLUMNS, tmp_path)


def test_agree_under_sanitizers(asked: list[Question], rows: list[Row], tmp_path: Path) -> None:
    if not sanitizers_work():
        pytest.skip("the C++ compiler has no AddressSanitizer and UndefinedBehaviorSanitizer")
    assert_same(asked, rows, COLUMNS, tmp_path, ["-O0", *SANITIZED])


def wrong_nan(patch: pytest.MonkeyPatch) -> None:
    """C++'s comparison, for which NaN is not greater."""
    patch.setitem(cpp_expressions._COMPARISONS, ">", "greater_or_equal")


def wrong_division(patch: pytest.MonkeyPatch) -> None:
    """A quotient that counts as known whatever it is divided by."""
    patch.setattr(cpp_expressions.CppEmitter, "_short", lambda self, known: known[:-1])


def wrong_cast(patch: pytest.MonkeyPatch) -> None:
    """A cast to int by way of bigint, which wraps around."""
    wrapped = CppFunction("headway::low_int(headway::to_bigint($0))", "headway/conversions.hpp")
    patch.setitem(CPP_CASTS, (DataType.DOUBLE, DataType.INT), wrapped)


@pytest.mark.parametrize("spoil", [wrong_nan, wrong_division, wrong_cast])
def test_a_wrong_rule_is_caught(
    spoil: Callable[[pytest.MonkeyPatch], None],
    rows: list[Row],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = questions(["d > e", "d / e", "CAST(d AS int)"], COLUMNS)
    assert_same(few, rows, COLUMNS, tmp_path)
    spoil(monkeypatch)
    given = answers(few, rows, COLUMNS, tmp_path)
    assert any(True for _ in disagreements(few, rows, COLUMNS, given))
