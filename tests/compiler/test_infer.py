"""The pass ``infer``: the schema of every stream, operator by operator, and what is refused."""

from __future__ import annotations

import pytest
from tests.compiler.build import compiled_until

from headway.compiler.schemas import infer
from headway.errors import QueryError
from headway.files import parse_query
from headway.model.schema import Schema

HEAD = """
query: test
sources:
  car: {schema: {id: int, v: "double [m/s]", name: string(8)}}
  other: {schema: {id: int, v: "double [m/s]", name: string(20)}}
  heat: {schema: {wheel: int, celsius: float}}
"""


def schemas(operators: str, *, stream: str = "x") -> dict[str, Schema]:
    """The schemas of a query with these operators; all sources go out as they are, too."""
    text = HEAD + f"operators:\n{operators}\noutputs:\n  out: {{from: {stream}, deadline: 1 s}}\n"
    for name in ("car", "other", "heat"):
        text += f"  raw_{name}: {{from: {name}, deadline: 1 s}}\n"
    return dict(compiled_until(infer, parse_query(text).query).schemas)


def refusal(operators: str) -> list[str]:
    with pytest.raises(QueryError) as caught:
        schemas(operators)
    return [str(problem) for problem in caught.value.problems]


def of(operators: str) -> str:
    return schemas(operators)["x"].describe()


# ---------------------------------------------------------------- filter, map, union


def test_a_filter_keeps_the_schema() -> None:
    assert of("  x: {filter: v > 3, from: car}") == "id int, v double [m/s], name string(8)"


def test_a_filter_needs_a_condition() -> None:
    assert refusal("  x: {filter: v + 1, from: car}") == [
        "operators.x.where: the expression must be boolean; got double"
    ]


def test_unknown_columns_are_named() -> None:
    assert refusal("  x: {filter: speed > 3, from: car}") == [
        "operators.x.where: unknown column 'speed'; there are timestamp, id, v, name"
    ]


def test_types_must_agree() -> None:
    assert refusal("  x: {filter: v > name, from: car}") == [
        "operators.x.where: '>' mixes double and string; make the types agree with CAST"
    ]


def test_a_map_has_its_columns_only() -> None:
    assert of("  x: {map: {double_v: v * 2, who: name}, from: car}") == (
        "double_v double [m/s], who string(8)"
    )


def test_set_keeps_the_others_and_their_places() -> None:
    assert of("  x: {set: {v: v * 2, extra: id + 1}, from: car}") == (
        "id int, v double [m/s], name string(8), extra int"
    )


def test_a_constant_string_is_as_long_as_it_is() -> None:
    assert of("  x: {map: {a: \"'abc'\"}, from: car}") == "a string(3)"


def test_reserved_columns_cannot_be_computed() -> None:
    assert refusal("  x: {map: {timestamp: v}, from: car}") == [
        "operators.x.columns.timestamp: column 'timestamp' is part of every stream; rename it"
    ]


def test_all_columns_problems_come_at_once() -> None:
    found = refusal("  x: {map: {a: nope, b: v + name, c: id}, from: car}")
    assert [problem.split(":")[0] for problem in found] == [
        "operators.x.columns.a",
        "operators.x.columns.b",
    ]


def test_a_union_takes_the_longest_strings() -> None:
    assert of("  x: {union: [car, other]}") == "id int, v double [m/s], name string(20)"


def test_a_union_of_different_shapes_is_refused() -> None:
    assert refusal("  x: {union: [car, heat]}") == [
        "operators.x.inputs.input2: the inputs of a union must have the same columns; "
        "got (wheel int, celsius float) beside (id int, v double [m/s], name string(8)) of "
        "'input1'; make them equal with a map, in the same order"
    ]


# ---------------------------------------------------------------- join


def test_a_join_without_select_has_both_sides() -> None:
    join = "  x: {join: {a: car, b: heat}, within: 1 ms, keys: [[id, wheel]]}"
    assert of(join) == "id int, v double [m/s], name string(8), wheel int, celsius float"


def test_a_join_with_select() -> None:
    join = "  x: {join: {a: car, b: other}, within: 1 ms, select: {d: a.v - b.v, n: b.name}}"
    assert of(join) == "d double [m/s], n string(20)"


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (
            "{join: {a: car, b: other}, within: 1 ms}",
            "operators.x.columns: both sides have columns of the same name; got id, name, v; "
            "say which columns go out with 'select'",
        ),
        (
            "{join: {a: car, b: heat}, within: 1 ms, keys: [id]}",
            "operators.x.keys: port 'b' has no column 'id'",
        ),
        (
            "{join: {a: car, b: heat}, within: 1 ms, keys: [[v, celsius]]}",
            "operators.x.keys: keys 'v' and 'celsius' cannot be compared; got double [m/s] and "
            "float; convert one of them with a map first",
        ),
    ],
)
def test_joins_that_are_refused(operator: str, expected: str) -> None:
    assert refusal(f"  x: {operator}") == [expected]


def test_a_joins_condition_names_columns_by_port() -> None:
    join = "  x: {join: {a: car, b: other}, within: 1 ms, where: a.v > c.v, select: {v: a.v}}"
    (problem,) = refusal(join)
    assert problem.startswith("operators.x.where: ")
    assert "c" in problem


# ---------------------------------------------------------------- aggregate


def test_an_aggregate_has_keys_then_results() -> None:
    operator = "{aggregate: {mean: avg(v), n: count(*)}, from: car, by: [name], window: 1 s}"
    assert of(f"  x: {operator}") == "name string(8), mean double [m/s], n bigint"


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (
            "{aggregate: {n: count(*)}, from: car, by: [nope], window: 1 s}",
            "operators.x.by: unknown column 'nope'; there are ('id', 'v', 'name')",
        ),
        (
            "{aggregate: {n: count(*)}, from: car, window: 1 s, every: 2 s}",
            "operators.x.every: windows would leave gaps; make it at most the window",
        ),
        (
            "{aggregate: {n: count(*)}, from: car, window: 1500 ns}",
            "operators.x.window: must be a positive number of whole microseconds; got 1500 ns",
        ),
        (
            "{aggregate: {name: count(*)}, from: car, by: [name], window: 1 s}",
            "operators.x.columns.name: column 'name' is there twice; rename one",
        ),
    ],
)
def test_aggregates_that_are_refused(operator: str, expected: str) -> None:
    assert expected in refusal(f"  x: {operator}")


def test_an_aggregate_function_belongs_in_an_aggregate() -> None:
    assert refusal("  x: {filter: count(*) > 1, from: car}") == [
        "operators.x.where: the aggregate count is not allowed here; aggregates belong in the "
        "columns of an aggregate operator"
    ]


# ---------------------------------------------------------------- user-defined and fusion


def test_custom_operators_declare_their_schema() -> None:
    udo = '{udo: "m.n:C", inputs: {a: car}, schema: {q: int}}'
    assert of(f"  x: {udo}") == "q int"


def test_a_fusion_operator_needs_its_key_columns_in_every_input() -> None:
    fusion = (
        '{fusion: "m:C", inputs: {a: car, b: heat}, schema: {q: int}, object: id, '
        "front: 1 s, rear: 1 s}"
    )
    assert refusal(f"  x: {fusion}") == ["operators.x.object: input 'b' has no column 'id'"]


# ---------------------------------------------------------------- components and shedders


def test_a_stream_must_fit_a_components_input() -> None:
    text = """
query: test
sources: {s: {schema: {a: int}}}
components:
  c:
    inputs: {x: {a: double}}
    operators: {m: {filter: a > 0, from: x}}
    outputs: {y: m}
operators: {u: {component: c, inputs: {x: s}}}
outputs: {o: {from: u.y, deadline: 1 s}}
"""
    with pytest.raises(QueryError) as caught:
        compiled_until(infer, parse_query(text).query)
    assert str(caught.value) == (
        "operators.u.inputs.x: stream 's' does not fit the component's input; got (a int); "
        "the component declares (a double)"
    )


def test_a_shedders_value_is_a_number() -> None:
    text = """
query: test
sources: {s: {schema: {a: string}, shed: {at_most: 1 per 1 s, value: a}}}
outputs: {o: {from: s, deadline: 1 s}}
"""
    with pytest.raises(QueryError, match=r"sources\.s\.shed\.value: .*string"):
        compiled_until(infer, parse_query(text).query)


def test_a_component_used_twice_tells_its_problem_once() -> None:
    text = """
query: test
sources: {s: {schema: {a: int}}}
components:
  c:
    inputs: {x: {a: int}}
    operators: {m: {filter: nope, from: x}}
    outputs: {y: m}
operators:
  u: {component: c, inputs: {x: s}}
  w: {component: c, inputs: {x: s}}
outputs:
  o: {from: u.y, deadline: 1 s}
  p: {from: w.y, deadline: 1 s}
"""
    with pytest.raises(QueryError) as caught:
        compiled_until(infer, parse_query(text).query)
    assert [problem.at for problem in caught.value.problems] == ["components.c.operators.m.where"]
