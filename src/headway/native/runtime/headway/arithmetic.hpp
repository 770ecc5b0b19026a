// Arithmetic of SQL: whole numbers wrap around, and what is divided by zero is NULL.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "headway/value.hpp"

namespace headway {

// ---------------------------------------------------------------- whole numbers, two's complement
//
// Computed without sign, where C++ defines what happens beyond the range.

constexpr std::int32_t add(std::int32_t left, std::int32_t right) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(left) +
                                   static_cast<std::uint32_t>(right));
}

constexpr std::int64_t add(std::int64_t left, std::int64_t right) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) +
                                   static_cast<std::uint64_t>(right));
}

constexpr std::int32_t subtract(std::int32_t left, std::int32_t right) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(left) -
                                   static_cast<std::uint32_t>(right));
}

constexpr std::int64_t subtract(std::int64_t left, std::int64_t right) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) -
                                   static_cast<std::uint64_t>(right));
}

constexpr std::int32_t multiply(std::int32_t left, std::int32_t right) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(left) *
                                   static_cast<std::uint32_t>(right));
}

constexpr std::int64_t multiply(std::int64_t left, std::int64_t right) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) *
                                   static_cast<std::uint64_t>(right));
}

constexpr std::int32_t negate(std::int32_t value) { return subtract(std::int32_t{0}, value); }

constexpr std::int64_t negate(std::int64_t value) { return subtract(std::int64_t{0}, value); }

constexpr std::int32_t absolute(std::int32_t value) { return value < 0 ? negate(value) : value; }

constexpr std::int64_t absolute(std::int64_t value) { return value < 0 ? negate(value) : value; }

inline float absolute(float value) { return std::fabs(value); }

inline double absolute(double value) { return std::fabs(value); }

// ---------------------------------------------------------------- division

// Towards zero; the lowest number by -1 wraps around.
constexpr Maybe<std::int64_t> quotient(std::int64_t left, std::int64_t right) {
  if (right == 0) {
    return null<std::int64_t>();
  }
  return known(right == -1 ? negate(left) : left / right);
}

constexpr Maybe<double> quotient(double left, double right) {
  return right == 0.0 ? null<double>() : known(left / right);
}

// The sign is the dividend's.
template <typename Whole>
constexpr Maybe<Whole> whole_remainder(Whole left, Whole right) {
  if (right == 0) {
    return null<Whole>();
  }
  return known(right == -1 ? Whole{0} : static_cast<Whole>(left % right));
}

constexpr Maybe<std::int32_t> remainder(std::int32_t left, std::int32_t right) {
  return whole_remainder(left, right);
}

constexpr Maybe<std::int64_t> remainder(std::int64_t left, std::int64_t right) {
  return whole_remainder(left, right);
}

// Exact. Of an infinite number it is NaN.
template <typename Real>
inline Maybe<Real> real_remainder(Real left, Real right) {
  if (right == Real{0}) {
    return null<Real>();
  }
  return known(std::isinf(left) ? std::numeric_limits<Real>::quiet_NaN() : std::fmod(left, right));
}

inline Maybe<float> remainder(float left, float right) { return real_remainder(left, right); }

inline Maybe<double> remainder(double left, double right) { return real_remainder(left, right); }

}  // namespace headway
