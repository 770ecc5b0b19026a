// Type 1: the own vehicle's position and velocity from GPS and speed sensor (AEDSMS section 5.7).
//
// The twin of fusion/own_vehicle.py. Which columns there are, their units and the parameters are
// known when the program is written; the Spec has them, beside all that SensorFusion wants of it:
//
//     static bool read(Port, const void* row, OwnReading&);  // by read_fix and read_speed
//     static constexpr double acceleration_variance = 1.0, scale_variance = 0.0004;
//     static constexpr double heading_variance = 0.0025, velocity_variance = 400.0;
//     static constexpr double least_speed = 1.0;
//     static bool write(const FilterState&, const ObjectKey&, Out&);   // false: a key has no room
#pragma once

#include "headway/fusion.hpp"
#include "headway/fusion_columns.hpp"

namespace headway {

/// What a tuple says: a position (a fix), or a speed along the direction of motion.
struct OwnReading {
  bool is_speed;
  double speed;
  double speed_variance;
  double x;
  double y;
  double var_x;
  double var_y;
  MeasuredVelocity velocity;
  Maybe<double> heading;
};

inline bool read_speed(const Maybe<double>& speed, const Maybe<double>& variance,
                       OwnReading& reading) {
  reading.is_speed = true;
  reading.speed = speed.value;
  reading.speed_variance = variance.value;
  return speed.known && variance.known;
}

inline bool read_fix(const Maybe<double>& x, const Maybe<double>& y, const Maybe<double>& var_x,
                     const Maybe<double>& var_y, const MeasuredVelocity& velocity,
                     const Maybe<double>& heading, OwnReading& reading) {
  reading.is_speed = false;
  reading.x = x.value;
  reading.y = y.value;
  reading.var_x = var_x.value;
  reading.var_y = var_y.value;
  reading.velocity = velocity;
  reading.heading = heading;
  return x.known && y.known && var_x.known && var_y.known;
}

/// A direction as radians from the x axis towards y; `clockwise` ones count from the y axis.
inline Maybe<double> motion_direction(Maybe<double> angle, bool degrees, bool clockwise) {
  constexpr double HALF_TURN = 3.141592653589793;
  if (!angle.known) return angle;
  if (degrees) angle.value = angle.value * (HALF_TURN / 180.0);
  if (clockwise) angle.value = HALF_TURN / 2 - angle.value;
  return angle;
}

/// One estimate per execution and object, for its newest measurement. Needs a fix to start.
///
/// A speed is a measurement along the direction of motion. That direction is the estimated
/// velocity's, where it is faster than `least_speed` and than its own standard deviation; else the
/// heading last measured; without one the velocity is anywhere on a circle: (0, 0), variance v2/2
/// more per axis. A heading also says that the velocity across it is nil, within
/// heading_variance * speed2.
template <class Spec>
class OwnVehicleFusion final : public SensorFusion<Spec, OwnReading> {
  using Base = SensorFusion<Spec, OwnReading>;
  using typename Base::Measured;
  using typename Base::ObjectKey;
  using typename Base::Out;

  /// Seconds in which the speed sensor's scale becomes as uncertain again as it was at first.
  static constexpr double SCALE_MEMORY = 600.0;

 protected:
  bool read(Port port, const void* row, OwnReading& reading) override {
    return Spec::read(port, row, reading);
  }

  bool first(const ObjectKey& object, const Measured& measurement, FilterState& state) override {
    (void)object;
    const OwnReading& fix = measurement.reading;
    if (fix.is_speed) return false;
    const MeasuredVelocity& velocity = fix.velocity;
    const double unknown = Spec::velocity_variance;
    state = start_state(measurement.timestamp, fix.x, fix.y, fix.var_x, fix.var_y,
                        velocity.known ? velocity.vx : 0.0, velocity.known ? velocity.vy : 0.0,
                        velocity.known ? velocity.var_vx : unknown,
                        velocity.known ? velocity.var_vy : unknown);
    state.heading = fix.heading;
    state.scale = known(SpeedScale{0.0, Spec::scale_variance, 0.0, 0.0, 0.0, 0.0});
    return true;
  }

  void predict(FilterState& state, Microseconds to) const override {
    predict_state(state, to, Spec::acceleration_variance, Spec::scale_variance / SCALE_MEMORY);
  }

  void update(FilterState& state, const Measured& measurement) const override {
    const OwnReading& reading = measurement.reading;
    if (reading.is_speed) {
      update_speed(state, reading);
      return;
    }
    observe_position(state, reading.x, reading.y, reading.var_x, reading.var_y);
    const MeasuredVelocity& velocity = reading.velocity;
    if (velocity.known) {
      observe_velocity(state, velocity.vx, velocity.vy, velocity.var_vx, velocity.var_vy);
    }
    if (reading.heading.known) update_heading(state, reading.heading.value);
  }

  /// Of the position: a speed says nothing of where the vehicle is.
  GateDistance distance(const FilterState& state, const Measured& measurement) const override {
    if constexpr (Base::GATED) {
      const OwnReading& fix = measurement.reading;
      if (fix.is_speed) return {0.0, 0};
      return {position_distance(state, fix.x, fix.y, fix.var_x, fix.var_y), 2};
    } else {
      return Base::distance(state, measurement);
    }
  }

  void report(Microseconds at, Span<ObjectKey> measured) override {
    for (const ObjectKey& object : measured) {
      FilterState state{};
      if (!this->estimate(object, at, state)) continue;
      Out out{};
      if (Spec::write(state, object, out)) {
        this->emit(out);
      } else {
        this->refuse(out);
      }
    }
  }

 private:
  static void update_speed(FilterState& state, const OwnReading& measured) {
    const double speed = speed_of(state);
    if (speed > Spec::least_speed && speed * speed > state.var_vx + state.var_vy) {
      observe_scaled(state, state.vx / speed, state.vy / speed, measured.speed,
                     measured.speed_variance);
    } else if (state.heading.known) {
      const double heading = state.heading.value;
      observe_scaled(state, std::cos(heading), std::sin(heading), measured.speed,
                     measured.speed_variance);
    } else {
      const double spread = measured.speed_variance + measured.speed * measured.speed / 2;
      observe_velocity(state, 0.0, 0.0, spread, spread);
    }
  }

  static void update_heading(FilterState& state, double heading) {
    double speed = speed_of(state);
    if (Spec::least_speed > speed) speed = Spec::least_speed;
    const double spread = Spec::heading_variance * speed * speed;
    observe_along(state, -std::sin(heading), std::cos(heading), 0.0, spread);
    state.heading = known(heading);
  }
};

}  // namespace headway
