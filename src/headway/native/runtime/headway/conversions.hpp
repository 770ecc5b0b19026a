// Casts between numbers: what lies beyond a range becomes its nearest end, and NaN becomes zero.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace headway {

// The low 32 bits, as a number with its sign.
constexpr std::int32_t low_int(std::int64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value)));
}

// Towards zero.
constexpr std::int32_t to_int(double value) {
  if (value > -2147483649.0 && value < 2147483648.0) {
    return static_cast<std::int32_t>(value);
  }
  if (value != value) {
    return 0;
  }
  return value > 0.0 ? std::numeric_limits<std::int32_t>::max()
                     : std::numeric_limits<std::int32_t>::min();
}

// Towards zero.
constexpr std::int64_t to_bigint(double value) {
  if (value > -9223372036854775808.0 && value < 9223372036854775808.0) {
    return static_cast<std::int64_t>(value);
  }
  if (value != value) {
    return 0;
  }
  return value > 0.0 ? std::numeric_limits<std::int64_t>::max()
                     : std::numeric_limits<std::int64_t>::min();
}

// The nearest float, infinite beyond the largest.
constexpr float to_float(double value) { return static_cast<float>(value); }

inline std::int64_t floor(double value) { return to_bigint(std::floor(value)); }

inline std::int64_t ceiling(double value) { return to_bigint(std::ceil(value)); }

}  // namespace headway
