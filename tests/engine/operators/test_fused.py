from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.compiled import compiled
from tests.engine.operators.build import compute, one_input, union, where
from tests.engine.operators.users import HERE

from headway.engine.operators.fused import Fused, StatelessOperator
from headway.engine.operators.implementations import steps_of
from headway.engine.operators.operator_base import DropKind
from headway.model.expression import Column, PythonCall
from headway.model.operators import Filter, Map, Operator
from headway.model.schema import DataType, Schema, schema
from headway.model.user_operator import Row

CAR = schema(speed="double", gear="int")


def fuse(operators: Sequence[StatelessOperator], schemas: Mapping[str, Schema]) -> Fused:
    return Fused([compiled(operator, schemas) for operator in operators], schemas)


def all_forms(fused: Fused, rows: list[Row]) -> list[tuple[Row | None, int]]:
    """What every form gives, which must be the same."""
    counted = [fused.count(row) for row in rows]
    results = [row for row, _ in counted]
    assert [fused.run(row) for row in rows] == results
    assert [fused(row) for row in rows] == results
    assert fused.tally(rows)[0] == [row for row in results if row is not None]
    return counted


def chain() -> Fused:
    operators: list[StatelessOperator] = [
        union("u", "car", "other"),
        where("moving", "u", "speed > 1"),
        compute("faster", "moving", keep=True, speed="speed * 2", next="gear + 1"),
        where("low", "faster", "next < 5"),
        compute("out", "low", total="speed + next"),
    ]
    kept = schema(speed="double", gear="int", next="int")
    streams = {"car": CAR, "other": CAR, "u": CAR, "moving": CAR, "faster": kept, "low": kept}
    return fuse(operators, {**streams, "out": schema(total="double")})


def test_a_chain_in_all_forms_and_how_far_each_row_came() -> None:
    rows: list[Row] = [(1, 2.0, 1), (2, 0.5, 1), (3, None, 1), (4, 3.0, 4), (5, 3.0, None)]
    assert all_forms(chain(), rows) == [
        ((1, 6.0), 5),
        (None, 2),
        (None, 2),
        (None, 4),
        (None, 4),
    ]


def test_neighbours_without_state_are_one_step() -> None:
    """But for those that are to stay apart."""
    operators: list[Operator] = [
        compiled(one, dict.fromkeys(("car", "a", "b", "c", "d"), CAR))
        for one in (
            where("a", "car", "speed > 1"),
            where("b", "a", "speed > 2"),
            where("c", "b", "speed > 3"),
            where("d", "c", "speed > 4"),
        )
    ]
    schemas = dict.fromkeys(("car", "a", "b", "c", "d"), CAR)

    def steps(*apart: str) -> list[tuple[str, ...]]:
        found = steps_of(operators, schemas, {}, apart)
        return [tuple(one.operators) for one in found if isinstance(one, Fused)]

    assert steps() == [("a", "b", "c", "d")]
    assert steps("b") == [("a",), ("b",), ("c", "d")]
    assert steps("a", "d") == [("a",), ("b", "c"), ("d",)]


def test_filters_alone_give_the_same_row_object() -> None:
    fused = fuse([where("f", "car", "gear = 1")], {"car": CAR})
    row = (1, 2.0, 1)
    assert fused.run(row) is row
    assert fused.tally([row])[0][0] is row


def test_a_union_alone_passes_everything() -> None:
    fused = fuse([union("u", "car", "car")], {"car": CAR})
    assert all_forms(fused, [(1, None, None)]) == [((1, None, None), 1)]


def test_a_stream_with_no_columns_but_its_time() -> None:
    fused = fuse([compute("m", "tick", seen="unix_micros(timestamp)")], {"tick": Schema(())})
    assert all_forms(fused, [(5,), (6,)]) == [((5, 5), 1), ((6, 6), 1)]


def test_wide_rows_of_which_little_is_read() -> None:
    wide = schema({f"c{i}": "double" for i in range(30)})
    fused = fuse([compute("m", "wide", x="c7 + c9")], {"wide": wide})
    row = (0, *(float(i) for i in range(30)))
    assert all_forms(fused, [row]) == [((0, 16.0), 1)]


def test_columns_may_be_called_like_the_generated_names() -> None:
    odd = schema(row="int", v_row="int", out="int", append="int", error="int", fail="int")
    fused = fuse([compute("m", "odd", keep=True, row="row + v_row", rows="fail")], {"odd": odd})
    assert all_forms(fused, [(0, 1, 2, 3, 4, 5, 6)]) == [((0, 3, 2, 3, 4, 5, 6, 6), 1)]


def test_a_function_of_the_user_that_raises_costs_only_its_tuple() -> None:
    call = PythonCall(f"{HERE}:reciprocal", ("speed",), DataType.DOUBLE)
    small = PythonCall(f"{HERE}:is_small", ("gear",), DataType.BOOLEAN)
    fused = fuse(
        [
            where("first", "car", "speed >= 0"),
            Map(name="inverse", inputs=one_input("first"), columns=(Column("x", call),), keep=True),
            Filter(name="small", inputs=one_input("inverse"), where=small),
        ],
        {"car": CAR, "first": CAR, "inverse": schema(speed="double", gear="int", x="double")},
    )
    rows: list[Row] = [(1, 2.0, 1), (2, 0.0, 1), (3, -1.0, 1), (4, 4.0, None), (5, 4.0, 11)]
    assert all_forms(fused, rows) == [
        ((1, 2.0, 1, 0.5), 3),
        (None, 2),
        (None, 1),
        (None, 3),
        (None, 3),
    ]
    dropped = fused.take_side()
    assert fused.take_side() == []
    assert len(dropped) == 2 * 4, "two rows in each of the forms"
    assert {(d.kind, d.row) for d in dropped} == {
        (DropKind.FAILED, (2, 0.0, 1)),
        (DropKind.FAILED, (4, 4.0, None, 0.25)),
    }
    assert {d.reason for d in dropped} == {
        "operator 'inverse': ZeroDivisionError: float division by zero; got row (2, 0.0, 1)",
        "operator 'small': ValueError: no value; got row (4, 4.0, None, 0.25)",
    }


def test_a_function_that_returns_the_wrong_type_fails_the_same_way() -> None:
    call = PythonCall("math:sqrt", ("speed",), DataType.INT)
    step = Map(name="m", inputs=one_input("car"), columns=(Column("x", call),))
    fused = fuse([step], {"car": CAR})
    assert fused.tally([(1, 4.0, 1)])[0] == []
    (dropped,) = fused.take_side()
    assert dropped.reason == (
        "operator 'm': math:sqrt declares int; got float 2.0; got row (1, 4.0, 1)"
    )


ROW = st.tuples(
    st.integers(0, 9),
    st.none() | st.floats(-10, 10) | st.just(float("nan")),
    st.none() | st.integers(-5, 5),
)
STEPS: list[tuple[str, Any]] = [
    ("f", "speed > 0"),
    ("f", "gear < 3 OR speed IS NULL"),
    ("m", {"speed": "speed * 2", "gear": "gear"}),
    ("m", {"speed": "coalesce(speed, 1.0)", "gear": "gear - 1"}),
    ("m", {"gear": "CASE WHEN speed > 1 THEN gear ELSE 0 END", "speed": "speed"}),
    ("u", None),
]


def make(kind: str, what: Any, name: str, stream: str) -> StatelessOperator:
    if kind == "f":
        return where(name, stream, what)
    if kind == "u":
        return union(name, stream, stream)
    ordered = {column: what[column] for column in ("speed", "gear")}
    return compute(name, stream, keep=False, **ordered)


@given(st.lists(st.sampled_from(STEPS), max_size=6).filter(bool), st.lists(ROW, max_size=8))
def test_fusing_changes_nothing(steps: list[tuple[str, Any]], rows: list[Row]) -> None:
    names = ["car", *(f"o{i}" for i in range(len(steps)))]
    schemas = dict.fromkeys(names, CAR)
    operators = [make(*step, names[i + 1], names[i]) for i, step in enumerate(steps)]
    fused = fuse(operators, schemas)
    alone = [fuse([operator], schemas) for operator in operators]
    expected: list[tuple[Row | None, int]] = []
    for row in rows:
        current: Row | None = row
        ran = 0
        for one in alone:
            if current is None:
                break
            current = one.run(current)
            ran += 1
        expected.append((current, ran))
    assert json.dumps([fused.count(row) for row in rows]) == json.dumps(expected)
    passed = [row for row, _ in expected if row is not None]
    assert json.dumps(fused.tally(rows)[0]) == json.dumps(passed)
