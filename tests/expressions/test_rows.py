"""Generated functions: their text, joins."""

from __future__ import annotations

from tests.expressions.columns import EMPTY, JOIN, RADAR, ROW, typed

from headway.expressions.check import check
from headway.expressions.rows import compile_condition, compile_values
from headway.expressions.scope import Scope
from headway.model.expression import Sql
from headway.model.schema import schema

RADAR_ROW = (5, 20.0, 100.0, 90.0, 7, 8, 0.5, "car", True, 9)


def test_a_condition_checks_each_column_for_null_once() -> None:
    function = compile_condition(typed("speed > 1 AND speed < 9 AND id IS NOT NULL"), ROW)
    assert function.source == (
        "def condition(row):\n"
        "    v_speed = row[1]\n"
        "    v_id = row[4]\n"
        "    return True if ((v_speed is not None and (not v_speed <= 1.0)) and (v_speed < 9.0)"
        " and (v_id is not None)) else False\n"
    )


def test_values_have_no_timestamp_of_their_own() -> None:
    function = compile_values([typed("distance / speed"), typed("id + 1"), typed("name")], ROW)
    assert function(RADAR_ROW) == (5.0, 8, "car")
    assert function(EMPTY) == (None, None, None)


def test_what_is_named_is_computed_once() -> None:
    function = compile_values([typed("ln(speed) + 1"), typed("ln(speed) * 2")], ROW)
    assert function.source.count("(log(") == 1


def test_a_join_has_a_row_per_port() -> None:
    texts = ["radar.speed - own.speed", "lane", "own.timestamp IS NULL"]
    function = compile_values([check(Sql(text), JOIN) for text in texts], JOIN)
    assert function(RADAR_ROW, (6, 15.0, 2)) == (5.0, 2, False)
    assert function(RADAR_ROW, (None, None, None)) == (None, None, True)


def test_columns_may_have_any_name() -> None:
    names = dict.fromkeys(("row", "state", "None_", "def", "t1", "abs", "wrap32", "v_t1"), "int")
    scope = Scope.row(schema(names))
    text = " + ".join(f"`{name}`" for name in names)
    function = compile_values([check(Sql(text), scope)], scope)
    assert function((0, *range(1, 9))) == (36,)


def test_layout_is_the_schemas() -> None:
    columns = [ROW.column(field.name) for field in RADAR.columns]
    assert compile_values(columns, ROW)(RADAR_ROW) == RADAR_ROW


def test_long_chains_and_deep_nests_compile() -> None:
    for operator in ("+", "-", "*"):
        for name in ("speed", "id", "small"):
            typed_chain = typed(
                f" {operator} ".join([name] * 90 if operator != "*" else [name] * 9)
            )
            compile_values([typed_chain], ROW)(RADAR_ROW)
    condition = compile_condition(typed(" AND ".join(["speed > 1"] * 90)), ROW)
    assert condition(RADAR_ROW) is True
    assert compile_values([typed(" OR ".join(["speed < 1"] * 90))], ROW)(RADAR_ROW) == (False,)
    deep = "speed"
    for _ in range(18):
        deep = f"sqrt(abs({deep}) + 1)"
    compile_values([typed(deep)], ROW)(RADAR_ROW)


def test_subtraction_is_from_the_left() -> None:
    row = (0, 1.0, None, None, 2)
    texts = ["10 - id - 3", "10 - (id - 3)", "10.0 - speed - 3", "10.0 - (speed - 3) - 1"]
    assert compile_values([typed(text) for text in texts], ROW)(row) == (5, 11, 6.0, 11.0)
