// A Kalman filter for motion in the plane at nearly constant velocity.
//
// The twin of fusion/kalman.py and fusion/state.py, where the equations are explained. Every sum
// and product stands here in the same order as there, and no compiler may fuse or reorder them
// (-ffp-contract=off), so the estimates are the same to the last bit.
#pragma once

#include <cmath>

#include "headway/operator.hpp"
#include "headway/value.hpp"

namespace headway {

/// How much a speed sensor exaggerates (0.01: by 1 %), and its covariances with the motion.
struct SpeedScale {
  double value;
  double variance;
  double cov_x;
  double cov_y;
  double cov_vx;
  double cov_vy;

  template <class Self, class Visit>
  static bool each(Self& self, Visit& visit) {
    return visit(self.value) && visit(self.variance) && visit(self.cov_x) && visit(self.cov_y) &&
           visit(self.cov_vx) && visit(self.cov_vy);
  }
};

/// An estimate for one moment: metres, seconds, and the covariances between them.
struct FilterState {
  Microseconds timestamp;
  double x;
  double y;
  double vx;
  double vy;
  double var_x;
  double cov_x_y;
  double cov_x_vx;
  double cov_x_vy;
  double var_y;
  double cov_y_vx;
  double cov_y_vy;
  double var_vx;
  double cov_vx_vy;
  double var_vy;
  /// The direction last measured, radians from the x axis to y; carried along, not filtered.
  Maybe<double> heading;
  Maybe<SpeedScale> scale;

  template <class Self, class Visit>
  static bool each(Self& self, Visit& visit) {
    return visit(self.timestamp) && visit(self.x) && visit(self.y) && visit(self.vx) &&
           visit(self.vy) && visit(self.var_x) && visit(self.cov_x_y) && visit(self.cov_x_vx) &&
           visit(self.cov_x_vy) && visit(self.var_y) && visit(self.cov_y_vx) &&
           visit(self.cov_y_vy) && visit(self.var_vx) && visit(self.cov_vx_vy) &&
           visit(self.var_vy) && visit(self.heading) && visit(self.scale);
  }
};

/// Half-width, in standard deviations, of the symmetric interval that holds 95 % of a normal law.
inline constexpr double NORMAL_95 = 1.96;

/// The estimate that a first measurement gives; nothing is correlated yet.
inline FilterState start_state(Microseconds timestamp, double x, double y, double var_x,
                               double var_y, double vx, double vy, double var_vx, double var_vy) {
  FilterState state{};
  state.timestamp = timestamp;
  state.x = x;
  state.y = y;
  state.vx = vx;
  state.vy = vy;
  state.var_x = var_x;
  state.var_y = var_y;
  state.var_vx = var_vx;
  state.var_vy = var_vy;
  return state;
}

/// Half-width (m) of the symmetric 95 % interval of the position along its least certain direction.
inline double confidence(const FilterState& state) {
  const double mean = (state.var_x + state.var_y) / 2.0;
  const double half_difference = (state.var_x - state.var_y) / 2.0;
  return NORMAL_95 * std::sqrt(mean + std::sqrt(half_difference * half_difference +
                                                state.cov_x_y * state.cov_x_y));
}

inline double speed_of(const FilterState& state) {
  return std::sqrt(state.vx * state.vx + state.vy * state.vy);
}

inline double heading_of(const FilterState& state) { return std::atan2(state.vy, state.vx); }

/// One measured number: its `residual_variance` is S, its covariances with the state P H'.
inline void correct(FilterState& state, double residual, double residual_variance, double cov_x,
                    double cov_y, double cov_vx, double cov_vy, double cov_scale) {
  const double gain_x = cov_x / residual_variance;
  const double gain_y = cov_y / residual_variance;
  const double gain_vx = cov_vx / residual_variance;
  const double gain_vy = cov_vy / residual_variance;
  if (state.scale.known) {
    SpeedScale& scale = state.scale.value;
    scale.value = scale.value + cov_scale / residual_variance * residual;
    scale.variance = scale.variance - cov_scale / residual_variance * cov_scale;
    scale.cov_x = scale.cov_x - gain_x * cov_scale;
    scale.cov_y = scale.cov_y - gain_y * cov_scale;
    scale.cov_vx = scale.cov_vx - gain_vx * cov_scale;
    scale.cov_vy = scale.cov_vy - gain_vy * cov_scale;
  }
  state.x = state.x + gain_x * residual;
  state.y = state.y + gain_y * residual;
  state.vx = state.vx + gain_vx * residual;
  state.vy = state.vy + gain_vy * residual;
  state.var_x = state.var_x - gain_x * cov_x;
  state.cov_x_y = state.cov_x_y - gain_x * cov_y;
  state.cov_x_vx = state.cov_x_vx - gain_x * cov_vx;
  state.cov_x_vy = state.cov_x_vy - gain_x * cov_vy;
  state.var_y = state.var_y - gain_y * cov_y;
  state.cov_y_vx = state.cov_y_vx - gain_y * cov_vx;
  state.cov_y_vy = state.cov_y_vy - gain_y * cov_vy;
  state.var_vx = state.var_vx - gain_vx * cov_vx;
  state.cov_vx_vy = state.cov_vx_vy - gain_vx * cov_vy;
  state.var_vy = state.var_vy - gain_vy * cov_vy;
}

/// The estimate for a later moment. `acceleration_variance` (m2/s4) is that of the acceleration
/// averaged over one second; `scale_drift` the variance that the speed sensor's scale gains per
/// second.
inline void predict_state(FilterState& state, Microseconds to, double acceleration_variance,
                          double scale_drift) {
  if (to == state.timestamp) return;
  const auto apart = static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(state.timestamp);
  const double dt = static_cast<double>(static_cast<std::int64_t>(apart)) * 1e-6;
  const double noise = acceleration_variance * dt;
  const double both = noise * dt / 2.0;
  const double position = both * dt / 1.5;
  if (state.scale.known) {
    SpeedScale& scale = state.scale.value;
    scale.cov_x = scale.cov_x + dt * scale.cov_vx;
    scale.cov_y = scale.cov_y + dt * scale.cov_vy;
    scale.variance = scale.variance + scale_drift * dt;
  }
  const FilterState old = state;
  state.timestamp = to;
  state.x = old.x + dt * old.vx;
  state.y = old.y + dt * old.vy;
  state.var_x = old.var_x + dt * (2.0 * old.cov_x_vx + dt * old.var_vx) + position;
  state.cov_x_y = old.cov_x_y + dt * (old.cov_x_vy + old.cov_y_vx + dt * old.cov_vx_vy);
  state.cov_x_vx = old.cov_x_vx + dt * old.var_vx + both;
  state.cov_x_vy = old.cov_x_vy + dt * old.cov_vx_vy;
  state.var_y = old.var_y + dt * (2.0 * old.cov_y_vy + dt * old.var_vy) + position;
  state.cov_y_vx = old.cov_y_vx + dt * old.cov_vx_vy;
  state.cov_y_vy = old.cov_y_vy + dt * old.var_vy + both;
  state.var_vx = old.var_vx + noise;
  state.var_vy = old.var_vy + noise;
}

/// The estimate, knowing a measured position too.
inline void observe_position(FilterState& state, double x, double y, double var_x, double var_y) {
  correct(state, x - state.x, state.var_x + var_x, state.var_x, state.cov_x_y, state.cov_x_vx,
          state.cov_x_vy, state.scale.known ? state.scale.value.cov_x : 0.0);
  correct(state, y - state.y, state.var_y + var_y, state.cov_x_y, state.var_y, state.cov_y_vx,
          state.cov_y_vy, state.scale.known ? state.scale.value.cov_y : 0.0);
}

/// The estimate, knowing a measured velocity too.
inline void observe_velocity(FilterState& state, double vx, double vy, double var_vx,
                             double var_vy) {
  correct(state, vx - state.vx, state.var_vx + var_vx, state.cov_x_vx, state.cov_y_vx, state.var_vx,
          state.cov_vx_vy, state.scale.known ? state.scale.value.cov_vx : 0.0);
  correct(state, vy - state.vy, state.var_vy + var_vy, state.cov_x_vy, state.cov_y_vy,
          state.cov_vx_vy, state.var_vy, state.scale.known ? state.scale.value.cov_vy : 0.0);
}

/// The estimate, knowing the velocity's component along a unit vector too (H = 0, 0, along).
inline void observe_along(FilterState& state, double along_x, double along_y, double speed,
                          double variance) {
  const double cov_vx = along_x * state.var_vx + along_y * state.cov_vx_vy;
  const double cov_vy = along_x * state.cov_vx_vy + along_y * state.var_vy;
  const SpeedScale& scale = state.scale.value;
  correct(state, speed - (along_x * state.vx + along_y * state.vy),
          along_x * cov_vx + along_y * cov_vy + variance,
          along_x * state.cov_x_vx + along_y * state.cov_x_vy,
          along_x * state.cov_y_vx + along_y * state.cov_y_vy, cov_vx, cov_vy,
          state.scale.known ? along_x * scale.cov_vx + along_y * scale.cov_vy : 0.0);
}

/// As observe_along, measured by the sensor whose scale is estimated: it shows
/// (1 + scale) * component; linearised, H = (0, 0, (1 + scale) * along, component).
inline void observe_scaled(FilterState& state, double along_x, double along_y, double speed,
                           double variance) {
  if (!state.scale.known) {
    observe_along(state, along_x, along_y, speed, variance);
    return;
  }
  const SpeedScale& scale = state.scale.value;
  const double component = along_x * state.vx + along_y * state.vy;
  const double shown_x = along_x * (1.0 + scale.value);
  const double shown_y = along_y * (1.0 + scale.value);
  const double cov_vx =
      shown_x * state.var_vx + shown_y * state.cov_vx_vy + component * scale.cov_vx;
  const double cov_vy =
      shown_x * state.cov_vx_vy + shown_y * state.var_vy + component * scale.cov_vy;
  const double cov_scale =
      shown_x * scale.cov_vx + shown_y * scale.cov_vy + component * scale.variance;
  correct(state, speed - component * (1.0 + scale.value),
          shown_x * cov_vx + shown_y * cov_vy + component * cov_scale + variance,
          shown_x * state.cov_x_vx + shown_y * state.cov_x_vy + component * scale.cov_x,
          shown_x * state.cov_y_vx + shown_y * state.cov_y_vy + component * scale.cov_y, cov_vx,
          cov_vy, cov_scale);
}

// ---------------------------------------------------------------- reports that depend on each
// other

/// Of a correlation matrix; one below that is rounding, not knowledge.
inline constexpr double LEAST_DETERMINANT = 1e-9;
/// Of what is known already: never so little that what no report tells would be lost.
inline constexpr double LEAST_SHARE = 1e-6;

/// Covariance intersection of what is known of one axis with a report whose error may depend on it
/// in any way.
inline void intersect_axis(double& at, double& speed, double& position, double& cov,
                           double& velocity, double told, double var_told,
                           const Maybe<double>& told_speed, double var_told_speed) {
  const double residual = told - at;
  const double residual_velocity = told_speed.known ? told_speed.value - speed : 0.0;
  double determinant = position * velocity - cov * cov;
  const double least = LEAST_DETERMINANT * position * velocity;
  if (!(determinant > least)) determinant = least;
  const double known_p = velocity / determinant;
  const double known_c = -cov / determinant;
  const double known_v = position / determinant;
  const double told_p = 1.0 / var_told;
  const double told_v = told_speed.known ? 1.0 / var_told_speed : 0.0;
  const double ours = 1.0 / determinant;
  const double theirs = told_p * told_v;
  const double mixed = known_p * told_v + known_v * told_p;
  const double bend = mixed - ours - theirs;
  double share = ours >= theirs ? 1.0 : 0.0;
  if (bend > 0.0) share = (mixed - 2.0 * theirs) / (2.0 * bend);
  if (!(share > LEAST_SHARE)) share = LEAST_SHARE;
  if (share > 1.0) share = 1.0;
  const double rest = 1.0 - share;
  const double info_p = share * known_p + rest * told_p;
  const double info_c = share * known_c;
  const double info_v = share * known_v + rest * told_v;
  determinant = info_p * info_v - info_c * info_c;
  position = info_v / determinant;
  cov = -info_c / determinant;
  velocity = info_p / determinant;
  const double pull = rest * told_p * residual;
  const double pull_velocity = rest * told_v * residual_velocity;
  at = at + (position * pull + cov * pull_velocity);
  speed = speed + (cov * pull + velocity * pull_velocity);
}

/// Squared Mahalanobis distance of two numbers with these (co)variances from zero.
inline double squared_distance(double residual_x, double residual_y, double var_x, double cov,
                               double var_y) {
  const double part = cov / var_x;
  const double rest = residual_y - part * residual_x;
  return residual_x * residual_x / var_x + rest * rest / (var_y - part * cov);
}

inline double position_distance(const FilterState& state, double x, double y, double var_x,
                                double var_y) {
  return squared_distance(x - state.x, y - state.y, state.var_x + var_x, state.cov_x_y,
                          state.var_y + var_y);
}

inline double velocity_distance(const FilterState& state, double vx, double vy, double var_vx,
                                double var_vy) {
  return squared_distance(vx - state.vx, vy - state.vy, state.var_vx + var_vx, state.cov_vx_vy,
                          state.var_vy + var_vy);
}

}  // namespace headway
