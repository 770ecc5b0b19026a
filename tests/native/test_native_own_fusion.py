"""A fusion of the user in C++: a class template over the Spec that Headway writes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from tests.compiled import behaving
from tests.native.cpp_compiler import SANITIZED
from tests.native.operator_driver import GROWS, Twins, built
from tests.native.test_native_fusion import drive, fusion_source

from headway.engine.operators.user_defined import CustomOperator
from headway.fusion.operator import SensorFusion
from headway.fusion.state import FilterState, start
from headway.fusion.track import Key, Measurement
from headway.model.operators import Fusion, Input
from headway.model.quantities import MICROSECOND
from headway.model.schema import schema
from headway.model.user_operator import Row

SEEN = schema(id="bigint", x="double")
OUT = schema(id="bigint", x="double", weight="double")


class Halfway(SensorFusion[float]):
    """An estimate is drawn towards each measurement; the second input cannot start one."""

    def read(self, port: str, row: Row) -> float | None:
        if row[2] is None or row[2] != row[2]:
            return None
        return -1.0 if port == "second" else float(row[2])

    def first(self, object: Key, measurement: Measurement[float]) -> FilterState | None:
        if measurement.port == "second":
            return None
        x = measurement.reading
        return start(measurement.timestamp, (x, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))

    def predict(self, state: FilterState, to: int) -> FilterState:
        return state._replace(timestamp=to)

    def update(self, state: FilterState, measurement: Measurement[float]) -> FilterState:
        weight = float(self.context.parameters["weight"])
        return state._replace(x=state.x + weight * (measurement.reading - state.x))

    def emit(self, at: int, measured: Sequence[Key]) -> Iterable[Row]:
        for object in measured:
            state = self.estimate(object, at)
            if state is not None:
                yield None, object, state.x, float(self.context.parameters["weight"])


CPP = """
#include "headway/fusion.hpp"

struct Point { double x; };

/// A state of its own: no more than a place.
struct Place1 {
  headway::Microseconds timestamp;
  double x;
  template <class Self, class Visit>
  static bool each(Self& self, Visit& visit) { return visit(self.timestamp) && visit(self.x); }
};

namespace mine {

template <class Spec>
class Halfway final : public headway::SensorFusion<Spec, Point, Place1> {
  using Base = headway::SensorFusion<Spec, Point, Place1>;
  using typename Base::Measured;
  using typename Base::ObjectKey;
  using typename Base::Out;

 protected:
  bool read(headway::Port port, const void* row, Point& reading) override {
    const auto& seen = *static_cast<const typename Spec::Rows::first*>(row);
    reading.x = port == 1 ? -1.0 : seen.x.value;
    return seen.x.known && !headway::is_nan(seen.x.value);
  }
  bool first(const ObjectKey&, const Measured& measured, Place1& state) override {
    state = {measured.timestamp, measured.reading.x};
    return measured.port == 0;
  }
  void predict(Place1& state, headway::Microseconds to) const override { state.timestamp = to; }
  void update(Place1& state, const Measured& measured) const override {
    state.x = state.x + Spec::Parameters::weight * (measured.reading.x - state.x);
  }
  void report(headway::Microseconds at, headway::Span<ObjectKey> measured) override {
    for (const ObjectKey& object : measured) {
      Place1 state{};
      if (!this->estimate(object, at, state)) continue;
      Out out{};
      out.id = headway::known(object.number);
      out.x = headway::known(state.x);
      out.weight = headway::known(Spec::Parameters::weight);
      this->emit(out);
    }
  }
};

}  // namespace mine
"""


def test_a_fusion_of_the_user_does_what_its_twin_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "halfway.hpp").write_text(CPP)
    monkeypatch.chdir(tmp_path)
    fusion = Fusion(
        name="halfway",
        inputs=(Input("first", "a"), Input("second", "b")),
        implementation=f"{__name__}:Halfway",
        native="halfway.hpp:mine::Halfway",
        schema=OUT,
        front=300 * MICROSECOND,
        rear=900 * MICROSECOND,
        object_key="id",
        parameters=(("weight", 0.3), ("name", "a"), ("count", 3), ("on", True)),
    )
    inputs = {"first": SEEN, "second": SEEN}
    source = fusion_source(fusion, inputs).replace('#include "halfway.hpp"', CPP)
    for seed in range(4):
        twins = Twins(CustomOperator(*behaving(fusion, inputs)), inputs, OUT)
        drive(twins, random.Random(seed), 100, wild=0.05)
        assert any(
            answer[2] == "unstarted" for one in twins.expected for answer in one if answer[0] == "d"
        )
        twins.check(built(source, (*GROWS, *SANITIZED)))
