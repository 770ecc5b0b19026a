// Functions of real numbers, with SQL's answers at their edges: NaN where there is no real value,
// NULL for the logarithm of zero and less, infinity beyond the largest number.
//
// Their last places are the C library's. With the one that Python has, all are within one unit in
// the last place of Python's; with another one (musl) the cube root is within 4 and log10 within 2.
#pragma once

#include <cmath>
#include <limits>

#include "headway/value.hpp"

namespace headway {

constexpr double PI = 3.141592653589793;
constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();

inline double square_root(double value) { return value >= 0.0 ? std::sqrt(value) : NOT_A_NUMBER; }

inline double cube_root(double value) { return std::cbrt(value); }

// 1 to the power of NaN is NaN, and -1 to an infinite power too.
inline double power(double base, double exponent) {
  if (exponent == 0.0) {
    return 1.0;
  }
  if (is_nan(exponent) || (std::fabs(base) == 1.0 && std::isinf(exponent))) {
    return NOT_A_NUMBER;
  }
  return std::pow(base, exponent);
}

inline double exponential(double value) { return std::exp(value); }

inline Maybe<double> natural_logarithm(double value) {
  return value <= 0.0 ? null<double>() : known(std::log(value));
}

// Some libraries lose the last half of the digits for numbers so small that they have few.
inline Maybe<double> common_logarithm(double value) {
  if (value <= 0.0) {
    return null<double>();
  }
  const bool subnormal = value < std::numeric_limits<double>::min();
  return known(subnormal ? std::log10(value * 1e20) - 20.0 : std::log10(value));
}

inline double sine(double value) { return std::isinf(value) ? NOT_A_NUMBER : std::sin(value); }

inline double cosine(double value) { return std::isinf(value) ? NOT_A_NUMBER : std::cos(value); }

inline double tangent(double value) { return std::isinf(value) ? NOT_A_NUMBER : std::tan(value); }

inline double arc_sine(double value) {
  return std::fabs(value) <= 1.0 ? std::asin(value) : NOT_A_NUMBER;
}

inline double arc_cosine(double value) {
  return std::fabs(value) <= 1.0 ? std::acos(value) : NOT_A_NUMBER;
}

inline double arc_tangent(double value) { return std::atan(value); }

// The angle of a point. Adding 0.0 makes -0.0 positive.
inline double direction(double y, double x) { return std::atan2(y + 0.0, x + 0.0); }

inline double hypotenuse(double left, double right) { return std::hypot(left, right); }

constexpr double to_radians(double degrees) { return degrees * (PI / 180.0); }

constexpr double to_degrees(double radians) { return radians * (180.0 / PI); }

constexpr double sign(double value) { return value > 0.0 ? 1.0 : value < 0.0 ? -1.0 : value; }

}  // namespace headway
