"""Trees that a plan brings: those the checker makes are taken, others are refused or can be run."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from tests.expressions.columns import JOIN, ROW, WINDOW
from tests.expressions.grammar import COLUMNS, every_node, expression, near_expression

from headway.errors import ExpressionError, FileError
from headway.expressions.check import check
from headway.expressions.rows import compile_value
from headway.expressions.scope import Scope
from headway.expressions.spark_sql import to_spark_sql
from headway.expressions.verify import verify
from headway.model.codec import from_plain, to_json
from headway.model.expression import PythonCall, Sql
from headway.model.expression_tree import Typed
from headway.model.schema import DataType

SCOPE = Scope.row(COLUMNS)


def texts(random: Random, count: int) -> list[str]:
    drawn = [expression(random) for _ in range(count)]
    return every_node() + drawn + [near_expression(random) for _ in range(count // 4)]


def test_what_the_checker_makes_is_taken_and_survives_the_file() -> None:
    for text in texts(Random(1), 200):
        made = check(Sql(text), SCOPE)
        read = from_plain(Typed, json.loads(to_json(made)), "tree.json", "compile")
        assert verify(Sql(text, read), SCOPE) == made, text


def test_a_join_an_aggregate_and_a_function() -> None:
    made = check(Sql("radar.speed > own.speed AND lane = 1"), JOIN)
    assert verify(Sql("", made), JOIN, want=DataType.BOOLEAN) == made
    with pytest.raises(ExpressionError, match="unknown port 'radar'"):
        verify(Sql("", made), ROW)
    call = PythonCall("math:sqrt", ("speed",), DataType.DOUBLE)
    tree = check(call, ROW)
    assert verify(PythonCall("math:sqrt", ("speed",), DataType.DOUBLE, typed=tree), ROW) == tree
    with pytest.raises(ExpressionError, match="calls another function than the expression"):
        verify(PythonCall("os:remove", ("speed",), DataType.DOUBLE, typed=tree), ROW)
    with pytest.raises(ExpressionError, match="a Python function stands where none can"):
        verify(Sql("sqrt(speed)", tree), ROW)


def test_the_place_decides() -> None:
    made = check(Sql("sum(speed) + max(id)"), WINDOW, aggregates=True)
    assert verify(Sql("", made), WINDOW, aggregates=True) == made
    with pytest.raises(ExpressionError, match="an aggregate stands where none can"):
        verify(Sql("", made), WINDOW)
    column = check(Sql("id"), WINDOW, aggregates=True, grouping=("id",))
    with pytest.raises(ExpressionError, match="'id' is neither aggregated nor a grouping key"):
        verify(Sql("", column), WINDOW, aggregates=True)
    with pytest.raises(ExpressionError, match="the expression has the wrong type; got "):
        verify(Sql("", column), WINDOW, want=DataType.BOOLEAN)
    with pytest.raises(ExpressionError, match="the expression has the wrong type"):
        verify(Sql("", Typed(column.tree, DataType.STRING)), WINDOW)


def changed(tree: Any, random: Random) -> Any:
    """The JSON of a tree with one value exchanged."""
    places: list[tuple[Any, Any]] = []

    def collect(value: Any) -> None:
        for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
            places.append((value, key))
            if isinstance(inner, dict | list):
                collect(inner)

    collect(tree)
    holder, key = random.choice(places)
    others = [value[other] for value, other in places]
    holder[key] = deepcopy(
        random.choice([*others, *DataType, "", None, 1, 0.5, True, [], "+", "sqrt"])
    )
    return tree


def test_what_is_taken_can_be_run() -> None:
    random, taken, refused = Random(2), 0, 0
    for text in texts(random, 400):
        content = json.loads(to_json(check(Sql(text), SCOPE)))
        content["tree"] = changed(content["tree"], random)
        try:
            read = from_plain(Typed, json.loads(json.dumps(content)), "tree.json", "compile")
            verify(Sql(text, read), SCOPE)
        except (FileError, ExpressionError):
            refused += 1
            continue
        taken += 1
        compile_value(read, SCOPE)
        to_spark_sql(read)
    assert taken > 20
    assert refused > 200
