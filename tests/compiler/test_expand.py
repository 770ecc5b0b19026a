"""The pass ``expand``: components become operators, with their names, origins and port checks."""

from __future__ import annotations

from tests.compiler.build import compiled_until, query_of

from headway.compiler.components import expand
from headway.files import parse_query
from headway.model.query import Query


def query(text: str) -> Query:
    return parse_query(text).query


NESTED = """
query: nested
sources:
  s: {schema: {v: double}}
components:
  inner:
    inputs: {x: {v: double}}
    operators:
      twice: {map: {v: v * 2}, from: x}
    outputs: {y: twice}
  outer:
    inputs: {a: {v: double}}
    operators:
      first: {component: inner, inputs: {x: a}}
      second: {component: inner, inputs: {x: first.y}}
      done: {filter: v > 0, from: second.y}
    outputs: {result: done, half: first.y}
operators:
  use1: {component: outer, inputs: {a: s}}
  use2: {component: outer, inputs: {a: use1.result}}
  all: {union: [use1.half, use2.result, use2.half]}
outputs:
  o: {from: all, deadline: 1 s}
"""


def test_names_and_inputs_of_nested_components() -> None:
    compilation = compiled_until(expand, query(NESTED))
    assert {name: o.streams for name, o in compilation.graph.operators.items()} == {
        "use1.first.twice": ("s",),
        "use1.second.twice": ("use1.first.twice",),
        "use1.done": ("use1.second.twice",),
        "use2.first.twice": ("use1.done",),
        "use2.second.twice": ("use2.first.twice",),
        "use2.done": ("use2.second.twice",),
        "all": ("use1.first.twice", "use2.done", "use2.first.twice"),
    }
    assert compilation.query.components == ()


def test_origins_lead_to_where_it_is_written() -> None:
    origins = compiled_until(expand, query(NESTED)).origins
    assert origins["use2.second.twice"] == "components.inner.operators.twice"
    assert origins["use1.done"] == "components.outer.operators.done"
    assert origins["all"] == "operators.all"


def test_port_checks_name_the_use() -> None:
    checks = compiled_until(expand, query(NESTED)).port_checks
    assert [(check.stream, check.at) for check in checks] == [
        ("s", "operators.use1.inputs.a"),
        ("s", "components.outer.operators.first.inputs.x"),
        ("use1.first.twice", "components.outer.operators.second.inputs.x"),
        ("use1.done", "operators.use2.inputs.a"),
        ("use1.done", "components.outer.operators.first.inputs.x"),
        ("use2.first.twice", "components.outer.operators.second.inputs.x"),
    ]


def test_an_input_may_pass_straight_through() -> None:
    compilation = compiled_until(
        expand,
        query(
            """
query: through
sources: {s: {schema: {v: double}}}
components:
  pass_on:
    inputs: {x: {v: double}}
    outputs: {same: x}
  twice:
    inputs: {x: {v: double}}
    operators: {p: {component: pass_on, inputs: {x: x}}}
    outputs: {same: p.same}
operators:
  u: {component: twice, inputs: {x: s}}
  f: {filter: v > 0, from: u.same}
outputs:
  o: {from: f, deadline: 1 s}
  raw: {from: u.same, deadline: 1 s}
"""
        ),
    )
    assert compilation.graph.operators["f"].streams == ("s",)
    assert compilation.graph.outputs["raw"].stream == "s"


def test_an_output_may_bear_its_operators_name() -> None:
    compilation = compiled_until(
        expand,
        query(
            """
query: same_name
sources: {s: {schema: {v: double}}}
components:
  c:
    inputs: {x: {v: double}}
    operators: {m: {filter: v > 0, from: x}}
    outputs: {m: m}
operators:
  u: {component: c, inputs: {x: s}}
outputs:
  o: {from: u.m, deadline: 1 s}
"""
        ),
    )
    assert list(compilation.graph.operators) == ["u.m"]
    assert compilation.graph.outputs["o"].stream == "u.m"


def test_a_query_without_components_stays_as_it_is() -> None:
    plain = query_of([("s", "a"), ("a", "b"), ("b", "out")], {"out": 5})
    compilation = compiled_until(expand, plain)
    assert compilation.query == plain
    assert compilation.graph.order == ("a", "b")
    assert compilation.graph.consumers == {"s": ("a",), "a": ("b",), "b": ()}
    assert compilation.graph.outputs_of == {"s": (), "a": (), "b": ("out",)}
