// What a fusion believes of its columns. The twin of fusion/columns.py.
#pragma once

#include <limits>

#include "headway/value.hpp"

namespace headway {

/// No coordinate, speed or angle beyond this is believed; it keeps every later product finite.
inline constexpr double LARGEST = 1e9;
/// A sensor is trusted to a millimetre at best and a kilometre at worst (in m2, and so for m/s);
/// within these bounds rounding cannot make a variance negative.
inline constexpr double LEAST_VARIANCE = 1e-6, LARGEST_VARIANCE = 1e6;

/// A value as a believable number; NULL when it is NULL, NaN, infinite or absurdly large.
template <class T>
Maybe<double> believed(const Maybe<T>& column) {
  if (!column.known) return null<double>();
  const auto value = static_cast<double>(column.value);
  return maybe(-LARGEST <= value && value <= LARGEST, value);
}

/// A value as a variance within the bounds of trust; NULL when NULL, NaN, infinite or negative.
template <class T>
Maybe<double> believed_variance(const Maybe<T>& column) {
  if (!column.known) return null<double>();
  double value = static_cast<double>(column.value);
  if (!(0.0 <= value && value < std::numeric_limits<double>::infinity())) return null<double>();
  if (LEAST_VARIANCE > value) value = LEAST_VARIANCE;
  if (LARGEST_VARIANCE < value) value = LARGEST_VARIANCE;
  return known(value);
}

/// A measured velocity and its variances; `known` only if all of them are.
struct MeasuredVelocity {
  bool known;
  double vx;
  double vy;
  double var_vx;
  double var_vy;
};

inline MeasuredVelocity measured_velocity(const Maybe<double>& vx, const Maybe<double>& vy,
                                          const Maybe<double>& var_vx,
                                          const Maybe<double>& var_vy) {
  const bool all = vx.known && vy.known && var_vx.known && var_vy.known;
  return {all, vx.value, vy.value, var_vx.value, var_vy.value};
}

}  // namespace headway
