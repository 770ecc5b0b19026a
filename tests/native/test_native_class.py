"""Operators of the user in C++: found, configured, run, saved, and refused by name where they
cannot run."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.compiled import behaving
from tests.native.cpp_compiler import SANITIZED
from tests.native.operator_driver import Twins, built, cpp_row

import headway as hw
from headway.compiler import compile_query
from headway.compiler.python_code import refuse_python
from headway.engine.operators.user_defined import CustomOperator
from headway.errors import InputError, QueryError
from headway.files import parse_query, query_to_yaml
from headway.model.operators import Gather, Input, UserDefined
from headway.model.schema import schema
from headway.model.user_operator import OperatorContext, Row, UserOperator
from headway.native.native_class import native_class
from headway.native.native_gaps import query_problems

GPS, SPEED = schema(x="double", name="string(4)"), schema(v="double")
OUT = schema(x="double", v="double", seen="int", port="int")


class Together(UserOperator):
    """Adds up what comes, and gives it out at the end of each execution: the newest of each."""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._factor = context.parameters.get("factor", 1.0)
        self._times = int(context.parameters.get("times", 1))
        self._x = 0.0
        self._v: float | None = None
        self._seen = 0
        self._refused: list[tuple[str, str, Row]] = []

    def process(self, inputs: Any, now: int) -> list[Row]:
        port = 0
        for row in inputs["gps"]:
            if row[1] is None:
                self._refused.append(("unused", "gps", row))
            elif row[2] == "old":
                self._refused.append(("late", "gps", row))
            else:
                self._x += self._factor * row[1]
                self._seen += 1
        for place, name in enumerate(("speed", "other"), start=1):
            for row in inputs[name]:
                self._v, port = row[1], place
        return [(None, self._x, self._v, self._seen, port)] * self._times

    def take_refused(self) -> list[tuple[str, str, Row]]:
        taken, self._refused = self._refused, []
        return taken

    def snapshot(self) -> dict[str, Any]:
        return {"x": self._x, "v": self._v, "seen": self._seen}

    def restore(self, state: dict[str, Any]) -> None:
        self._x, self._v, self._seen = state["x"], state["v"], state["seen"]


HERE = f"{__name__}:Together"
CPP = """
class Together : public headway::UserOperator<headway::Inputs<Gps, Speed, Speed>, Sum> {
 public:
  void start() override {
    factor_ = number("factor", 1.0);
    times_ = whole("times", 1);
    x_ = 0.0;
    v_ = {};
    seen_ = 0;
  }
  void before_tuples() override { last_ = 0; }
  void process(const Gps& row) override {
    if (!row.x.known) return refuse(row);
    if (row.name.known && row.name.value.view() == "old") return refuse_late(row);
    x_ += factor_ * row.x.value;
    ++seen_;
  }
  void process(const Speed& row) override {
    v_ = row.v;
    last_ = port();
  }
  void after_tuples() override {
    for (std::int64_t time = 0; time < times_; ++time) {
      Sum out{};
      out.x = headway::known(x_);
      out.v = v_;
      out.seen = headway::known(seen_);
      out.port = headway::known(static_cast<std::int32_t>(last_));
      emit(out);
    }
  }
  void save(headway::StateWriter& writer) const override {
    writer.put(x_);
    headway::save_value(writer, v_);
    writer.put(seen_);
  }
  bool load(headway::StateReader& reader) override {
    return reader.get(x_) && headway::load_value(reader, v_) && reader.get(seen_);
  }

 private:
  double factor_ = 1.0, x_ = 0.0;
  headway::Maybe<double> v_{};
  std::int32_t seen_ = 0;
  std::int64_t times_ = 1;
  headway::Port last_ = 0;
};
"""


def program(most: int, factor: float, times: int) -> str:
    return "\n".join(
        [
            '#include "operator_driver.hpp"',
            '#include "headway/user_operator.hpp"',
            cpp_row("Gps", GPS),
            cpp_row("Speed", SPEED),
            cpp_row("Sum", OUT),
            CPP,
            "constexpr headway::Parameter PARAMETERS[] = {",
            f'    {{"factor", {factor!r}, 0, ""}}, {{"times", {times}.0, {times}, ""}}}};',
            "inline constexpr headway::UserSettings SETTINGS{",
            f'    "together", headway::span(PARAMETERS), {most}}};',
            "int main() {",
            "  return driver::run<headway::Configured<Together, SETTINGS>>(",
            "      {sizeof(Gps), sizeof(Speed), sizeof(Speed)}, sizeof(Sum));",
            "}",
        ]
    )


@pytest.mark.parametrize(("most", "times"), [(-1, 1), (1, 3)])
def test_a_class_does_what_its_twin_does(most: int, times: int) -> None:
    inputs = {"gps": GPS, "speed": SPEED, "other": SPEED}
    model = UserDefined(
        name="together",
        inputs=tuple(Input(name, name) for name in inputs),
        implementation=HERE,
        schema=OUT,
        gather=Gather.TIME,
        timeout=5,
        parameters=(("factor", 0.3), ("times", times)),
        most_outputs=None if most < 0 else most,
    )
    twins = Twins(CustomOperator(*behaving(model, inputs)), inputs, OUT)
    rng = random.Random(4)

    def row(port: str) -> Row:
        number = rng.choice([None, rng.random(), -0.0, float("nan")])
        time = rng.randrange(1000)
        return (time, number, rng.choice(["", "old", None])) if port == "gps" else (time, number)

    for _ in range(200):
        choice = rng.random()
        if choice < 0.1:
            twins.save_and_load()
        elif choice < 0.5:
            port = rng.choice(twins.ports)
            twins.accept(port, row(port), rng.randrange(9))
        else:
            batch = {port: [row(port) for _ in range(rng.randrange(3))] for port in twins.ports}
            if any(batch.values()):
                twins.execute(batch, by_item=rng.random() < 0.5, timed_out=rng.random() < 0.5)
    twins.beyond()
    for one in twins.expected:  # the reason is a number in C++
        for place, answer in enumerate(one):
            if answer[0] == "d" and answer[2] == "unused":
                one[place] = (*answer[:2], "user", *answer[3:])
    twins.check(built(program(most, 0.3, times), SANITIZED))


# -------------------------------------------------------------------- finding it


def test_a_header_brings_those_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "mine.hpp").write_text(
        '#include "streams.hpp"\n#include "deep/er.hpp"\n#include "../out.hpp"\nclass Mine {};\n'
    )
    (folder / "deep").mkdir()
    (folder / "deep" / "er.hpp").write_text('# include "est.hpp"\n')
    (folder / "deep" / "est.hpp").write_text("")
    (tmp_path / "out.hpp").write_text("")
    monkeypatch.syspath_prepend(folder)
    found = native_class("mine.hpp:a::Mine", "op")
    assert found.name == "::a::Mine"
    assert sorted(found.files) == ["deep/er.hpp", "deep/est.hpp", "mine.hpp"]


@pytest.mark.parametrize(
    ("path", "said"), [("none.hpp:Mine", "there is no header"), ("my.hpp:Other", "has no class")]
)
def test_what_is_not_there_is_said(
    path: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my.hpp").write_text("class Mine {};")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QueryError, match=said) as caught:
        native_class(path, "op")
    assert caught.value.problems[0].at == "operators.op.native"


# -------------------------------------------------------------------- in a query

QUERY = """
query: q
sources:
  gps: {{schema: {{x: double}}, rate: 1 per 1 s}}
operators:
  both: {{udo: {udo}, inputs: {{gps: gps}}, schema: {{x: double}}, cost: 1 us{native}}}
outputs:
  out: {{from: both, deadline: 1 s}}
"""


def query_text(udo: str, native: str) -> str:
    return QUERY.format(udo=udo, native=f', native: "{native}"' if native else "")


@pytest.mark.parametrize(
    ("udo", "native"), [("null", "a/b.hpp:n::C"), ('"m:C"', "b.h:C"), ('"m:C"', "")]
)
def test_both_classes_survive_the_round_trip(udo: str, native: str) -> None:
    query = parse_query(query_text(udo, native)).query
    (step,) = query.operators
    assert isinstance(step, UserDefined)
    assert step.native == (native or None)
    assert step.implementation == (None if udo == "null" else "m:C")
    assert parse_query(query_to_yaml(query)).query == query


def test_the_fluent_form_is_the_same() -> None:
    query = hw.QueryBuilder("q")
    gps = query.source("gps", {"x": "double"}, rate="1 per 1 s")
    made = query.udo(
        "both", None, {"gps": gps}, schema={"x": "double"}, cost="1 us", native="a/b.hpp:n::C"
    )
    query.output("out", made, deadline="1 s")
    assert query.build() == parse_query(query_text("null", "a/b.hpp:n::C")).query


@pytest.mark.parametrize("native", ["../b.hpp:C", "/b.hpp:C", "b.cpp:C", "b.hpp:", "b.hpp:C<int>"])
def test_a_place_that_is_none_is_refused(native: str) -> None:
    with pytest.raises(InputError, match=r"C\+\+"):
        parse_query(query_text("null", native))


def test_a_query_without_any_class_is_refused() -> None:
    with pytest.raises(InputError, match="no class"):
        compile_query(parse_query(query_text("null", "")).query)


def test_an_operator_in_one_language_is_refused_by_name_in_the_other() -> None:
    only_native = compile_query(parse_query(query_text("null", "b.hpp:C")).query)
    (operator,) = only_native.query.operators
    assert isinstance(operator, UserDefined)
    with pytest.raises(QueryError, match=r"'both' has only a class in C\+\+, b.hpp:C"):
        CustomOperator(operator, {"gps": GPS}, operator.schema)
    only_python = compile_query(parse_query(query_text('"m:C"', "")).query)
    (said,) = query_problems((), only_python.query.operators)
    assert "'both' has only a Python class, m:C" in said.what
    assert not list(query_problems((), only_native.query.operators))


def test_it_is_code_that_a_stranger_may_have_written() -> None:
    with pytest.raises(QueryError, match=r"names C\+\+ code.*b.hpp:C"):
        refuse_python(parse_query(query_text("null", "b.hpp:C")).query)
