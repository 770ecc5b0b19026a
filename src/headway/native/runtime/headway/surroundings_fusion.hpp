// Type 2: own and surrounding vehicles from on-board sensors and V2V (AEDSMS section 5.7).
//
// The twin of fusion/surroundings.py. Which columns there are and the parameters are known when the
// program is written; the Spec has them, beside all that SensorFusion wants of it:
//
//     static bool read(Port, const void* row, Sighting&);     // by read_sighting
//     static bool own(Port, const void* row);                 // whether a column `own` says true
//     static bool own_id(ObjectKey&);                         // the parameter; false: none
//     static constexpr double acceleration_variance = 4.0, velocity_variance = 400.0;
//     static bool write(const FilterState&, const ObjectKey&, bool own, Out&);
#pragma once

#include "headway/fusion.hpp"
#include "headway/fusion_columns.hpp"

namespace headway {

/// What one tuple says about its object.
struct Sighting {
  double x;
  double y;
  double var_x;
  double var_y;
  MeasuredVelocity velocity;
};

inline bool read_sighting(const Maybe<double>& x, const Maybe<double>& y,
                          const Maybe<double>& var_x, const Maybe<double>& var_y,
                          const MeasuredVelocity& velocity, Sighting& reading) {
  reading = {x.value, y.value, var_x.value, var_y.value, velocity};
  return x.known && y.known && var_x.known && var_y.known;
}

/// One estimate for every object measured in this execution, and always the own vehicle's.
///
/// All estimates of an execution are for the same moment, its newest measurement, and carry the
/// same timestamp, so a join on either brings them together. The own vehicle comes first.
template <class Spec>
class SurroundingsFusion final : public SensorFusion<Spec, Sighting> {
  using Base = SensorFusion<Spec, Sighting>;
  using typename Base::Measured;
  using typename Base::ObjectKey;
  using typename Base::Out;

 public:
  SurroundingsFusion() { own_known_ = Spec::own_id(own_); }

  void save(StateWriter& writer) const override {
    Base::save(writer);
    save_value(writer, own_known_);
    save_value(writer, own_);
  }

  bool load(StateReader& reader) override {
    own_known_ = false;
    own_ = ObjectKey{};
    if (Base::load(reader) && load_value(reader, own_known_) && load_value(reader, own_)) {
      return true;
    }
    own_known_ = Spec::own_id(own_);
    return false;
  }

 protected:
  bool read(Port port, const void* row, Sighting& reading) override {
    if (!Spec::read(port, row, reading)) return false;
    if (Spec::own(port, row)) own_known_ = Spec::object(port, row, own_);
    return true;
  }

  bool first(const ObjectKey& object, const Measured& measurement, FilterState& state) override {
    (void)object;
    const Sighting& seen = measurement.reading;
    const MeasuredVelocity& velocity = seen.velocity;
    const double unknown = Spec::velocity_variance;
    state = start_state(measurement.timestamp, seen.x, seen.y, seen.var_x, seen.var_y,
                        velocity.known ? velocity.vx : 0.0, velocity.known ? velocity.vy : 0.0,
                        velocity.known ? velocity.var_vx : unknown,
                        velocity.known ? velocity.var_vy : unknown);
    return true;
  }

  void predict(FilterState& state, Microseconds to) const override {
    predict_state(state, to, Spec::acceleration_variance, 0.0);
  }

  void update(FilterState& state, const Measured& measurement) const override {
    const Sighting& seen = measurement.reading;
    const MeasuredVelocity& velocity = seen.velocity;
    if constexpr (IsCorrelated<Spec>::value) {
      intersect_axis(state.x, state.vx, state.var_x, state.cov_x_vx, state.var_vx, seen.x,
                     seen.var_x, maybe(velocity.known, velocity.vx), velocity.var_vx);
      intersect_axis(state.y, state.vy, state.var_y, state.cov_y_vy, state.var_vy, seen.y,
                     seen.var_y, maybe(velocity.known, velocity.vy), velocity.var_vy);
      return;
    }
    observe_position(state, seen.x, seen.y, seen.var_x, seen.var_y);
    if (velocity.known) {
      observe_velocity(state, velocity.vx, velocity.vy, velocity.var_vx, velocity.var_vy);
    }
  }

  GateDistance distance(const FilterState& state, const Measured& measurement) const override {
    if constexpr (Base::GATED) {
      const Sighting& seen = measurement.reading;
      const MeasuredVelocity& velocity = seen.velocity;
      const double squared = position_distance(state, seen.x, seen.y, seen.var_x, seen.var_y);
      if (!velocity.known) return {squared, 2};
      FilterState moved = state;
      observe_position(moved, seen.x, seen.y, seen.var_x, seen.var_y);
      return {squared + velocity_distance(moved, velocity.vx, velocity.vy, velocity.var_vx,
                                          velocity.var_vy),
              4};
    } else {
      return Base::distance(state, measurement);
    }
  }

  void report(Microseconds at, Span<ObjectKey> measured) override {
    if (own_known_) report_one(own_, at);
    for (const ObjectKey& object : measured) {
      if (!is_own(object)) report_one(object, at);
    }
  }

 private:
  bool is_own(const ObjectKey& object) const { return own_known_ && object == own_; }

  void report_one(const ObjectKey& object, Microseconds at) {
    FilterState state{};
    if (!this->estimate(object, at, state)) return;
    Out out{};
    if (Spec::write(state, object, is_own(object), out)) {
      this->emit(out);
    } else {
      this->refuse(out);
    }
  }

  ObjectKey own_{};
  bool own_known_ = false;
};

}  // namespace headway
