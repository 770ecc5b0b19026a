"""Paths and offsets inside expressions lead to the very character in the file."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import ExpressionError, Place, Problem, QueryError
from headway.files import parse_query, parse_vehicle
from headway.yaml_tree import Scalar, index_in_text, parse_yaml

QUERY = """\
query: q
schemas:
  S: {v: double}
sources:
  a:
    schema: S
    shed: {at_most: 1 per 1 s, value: "-v"}
components:
  c:
    inputs: {i: S}
    operators:
      m: {map: {x: v * 2}, from: i}
    outputs: {o: m}
operators:
  f: {filter: "v > 1", from: a}
  s: {set: {w: 'v || ''x'' || w'}, from: f}
  u: {union: [f, s]}
  j:
    join: {l: f, r: s}
    within: 1 ms
    keys: [v]
    where: >
      l.v
      < r.v
    select:
      z: |
        l.v
          + r.v
  g: {aggregate: {n: count(*)}, from: a, window: 1 s}
  k: {fusion: "m:K", inputs: {p: a}, schema: S, front: 1 s, rear: 1 s, object: v}
  own: {component: c, inputs: {i: a}}
outputs:
  o: {from: own.o, deadline: 1 s}
"""


@pytest.mark.parametrize(
    ("at", "offset", "starts"),
    [
        ("query", None, "q\n"),
        ("sources.a", None, "a:\n    schema"),
        ("sources.a.schema", None, "S\n"),
        ("sources.a.shed.value", 1, 'v"}'),
        ("sources.a.shedder.value", 1, 'v"}'),
        ("sources.a.rate", None, "a:\n    schema"),
        ("components.c", None, "c:\n    inputs"),
        ("components.c.operators.m.map.x", 4, "2}, from: i"),
        ("components.c.operators.m.columns.x", 4, "2}, from: i"),
        ("components.c.inputs.i", None, "S}\n    operators"),
        ("components.c.outputs.o", None, "m}\noperators"),
        ("operators.f", None, 'f: {filter: "v'),
        ("operators.f.where", 0, "v > 1"),
        ("operators.f.where", 4, '1", from'),
        ("operators.f.where", 5, '", from: a'),
        ("operators.f.where", 99, '", from: a'),
        ("operators.f.inputs.input", None, "a}\n  s:"),
        ("operators.f.from", None, "a}\n  s:"),
        ("operators.s.columns.w", 5, "''x'' ||"),
        ("operators.s.columns.w", 6, "x'' ||"),
        ("operators.s.columns.w", 12, "w'}, from"),
        ("operators.u.inputs.input2", None, "s]}"),
        ("operators.j.inputs.r", None, "s}\n    within"),
        ("operators.j.within", None, "1 ms"),
        ("operators.j.keys", None, "keys: [v]"),
        ("operators.j.where", 4, "< r.v"),
        ("operators.j.columns.z", 6, "+ r.v"),
        ("operators.g.columns.n", 6, "*)}"),
        ("operators.k.object_key", None, "v}\n  own"),
        ("operators.k.implementation", None, '"m:K"'),
        ("operators.k.inputs.p", None, "a}, schema"),
        ("operators.own.m.columns.x", 4, "2}, from: i"),
        ("operators.own.inputs.i", None, "a}}\noutputs"),
        ("outputs.o.stream", None, "own.o, dead"),
        ("outputs.o.from", None, "own.o, dead"),
        ("outputs.nothing", None, "outputs:"),
        ("nothing.at.all", None, "query: q"),
        ("", None, "query: q"),
    ],
)
def test_paths_lead_to_their_place(at: str, offset: int | None, starts: str) -> None:
    place = parse_query(QUERY, "q.yaml").places.locate(at, offset)
    assert place.file == "q.yaml"
    assert place.line is not None
    assert place.column is not None
    lines = QUERY.splitlines(keepends=True)
    assert "".join(lines[place.line - 1 :])[place.column - 1 :].startswith(starts)


def test_pins_have_dotted_names() -> None:
    text = "vehicle: v\nnodes: {n: {}}\npins:\n  own.map1: n\n  use.inner.map1: n\n"
    places = parse_vehicle(text, "v.yaml").places
    assert places.locate("pins.own.map1") == Place("v.yaml", 4, 13)
    assert places.locate("pins.use.inner.map1") == Place("v.yaml", 5, 19)
    assert places.locate("nodes.n.rate") == Place("v.yaml", 2, 9)


def test_attach_keeps_the_class_and_the_places_that_are_known() -> None:
    places = parse_query(QUERY, "q.yaml").places
    known = Place("other.yaml", 7, 7)
    error = ExpressionError(
        [Problem("bad", at="operators.f.where", offset=2), Problem("worse", place=known)]
    )
    attached = places.attach(error)
    assert type(attached) is ExpressionError
    assert [problem.place for problem in attached.problems] == [Place("q.yaml", 15, 18), known]
    assert str(places.attach(QueryError(Problem("bad", at="operators.f")))) == (
        "q.yaml:15:3: operators.f: bad"
    )


visible = st.characters(min_codepoint=33, exclude_categories=["Cs", "Cc", "Zl", "Zp", "Co", "Cn"])
words = st.lists(st.text(visible, min_size=1, max_size=6), min_size=1, max_size=12).map(" ".join)


@given(words, st.sampled_from(["'", '"', "|", ">", None]), st.integers(20, 80), st.data())
def test_offsets_hold_in_every_style_of_scalar(
    text: str, style: str | None, width: int, data: st.DataObject
) -> None:
    """Whatever PyYAML writes, the character found is the character meant."""
    written = yaml.safe_dump(
        {"é": {"a": text}}, default_style=style, width=width, allow_unicode=True
    )
    if "&" in written.split(text[:1])[0] or "\\" in written:
        return  # escapes do not show the character itself
    document = parse_yaml(written, "x")
    inner = next(iter(document.root.entries.values()))
    assert not isinstance(inner, Scalar)
    scalar = inner.entries["a"]  # type: ignore[union-attr]
    assert isinstance(scalar, Scalar)
    offset = data.draw(st.integers(0, len(scalar.text) - 1))
    index = index_in_text(written, scalar, offset)
    if not scalar.text[offset].isspace():
        assert written[index] == scalar.text[offset]


def test_escapes_count_as_one_character() -> None:
    text = 'a: "x\\t\\u0041\\x20\\"b"\n'
    scalar = parse_yaml(text, "x").root.entries["a"]
    assert isinstance(scalar, Scalar)
    assert scalar.text == 'x\tA "b'
    assert text[index_in_text(text, scalar, 5)] == "b"
    assert text[index_in_text(text, scalar, 4) :].startswith('\\"b')
    assert text[index_in_text(text, scalar, 2) :].startswith("\\u0041")
