// Rounding half away from zero, on the decimal number that is shown: 1.005 to two digits is 1.01.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace headway {

// 10 to the power of 0 to 19.
constexpr std::uint64_t power_of_ten(int exponent) {
  std::uint64_t power = 1;
  for (int count = 0; count < exponent; ++count) {
    power *= 10U;
  }
  return power;
}

// ---------------------------------------------------------------- whole numbers

constexpr std::uint64_t rounded_size(std::uint64_t size, int digits) {
  const std::uint64_t step = power_of_ten(-digits);
  return (size + step / 2U) / step * step;
}

// To a multiple of ten, a hundred, … where `digits` (-18 to 18) is negative; it wraps around.
constexpr std::int64_t round_whole(std::int64_t value, int digits = 0) {
  if (digits >= 0) {
    return value;
  }
  const std::uint64_t bits = static_cast<std::uint64_t>(value);
  const std::uint64_t size = rounded_size(value < 0 ? 0U - bits : bits, digits);
  return static_cast<std::int64_t>(value < 0 ? 0U - size : size);
}

constexpr std::int32_t round_whole(std::int32_t value, int digits = 0) {
  const std::int64_t wide = round_whole(static_cast<std::int64_t>(value), digits);
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(wide)));
}

// ---------------------------------------------------------------- real numbers

// The number nearest to digits * 10^exponent.
inline double read_decimal(std::uint64_t digits, int exponent) {
  char written[40];
  std::snprintf(written, sizeof written, "%llue%d", static_cast<unsigned long long>(digits),
                exponent);
  return std::strtod(written, nullptr);
}

// The same, at once for most digits, for an exponent of -19 to 19.
inline double nearest_double(std::uint64_t digits, int exponent) {
  constexpr std::uint64_t EXACT = std::uint64_t{1} << 53U;
  if (digits <= EXACT) {
    // Both parts are exact, so only the result is rounded, once.
    const double whole = static_cast<double>(digits);
    return exponent < 0 ? whole / static_cast<double>(power_of_ten(-exponent))
                        : whole * static_cast<double>(power_of_ten(exponent));
  }
  return read_decimal(digits, exponent);
}

// A positive number as `digits` times ten to the power of `exponent`.
struct Decimal {
  std::uint64_t digits;
  int exponent;
};

// The number as it is shown: with the fewest digits, 15 at least, that name it.
inline Decimal shown_decimal(double value) {
  constexpr int FEWEST = 15;
  constexpr int MOST = 17;
  Decimal decimal{0, 0};
  for (int count = FEWEST; count <= MOST; ++count) {
    char written[40];
    std::snprintf(written, sizeof written, "%.*e", count - 1, value);
    decimal = {0, 0};
    const char* place = written;
    for (; *place != 'e'; ++place) {
      if (*place >= '0' && *place <= '9') {
        decimal.digits = decimal.digits * 10U + static_cast<std::uint64_t>(*place - '0');
      }
    }
    decimal.exponent = std::atoi(place + 1) - (count - 1);
    // Below a power of two numbers lie closer than above it: of the decimals around one, the
    // nearest may belong to its neighbour and only the next be its own.
    for (const std::uint64_t more : {0U, 1U}) {
      if (read_decimal(decimal.digits + more, decimal.exponent) == value) {
        decimal.digits += more;
        return decimal;
      }
    }
  }
  return decimal;
}

// Where so many digits stay that what is shown may not be the number: rounds what is shown.
inline double round_shown(double size, int digits) {
  const Decimal decimal = shown_decimal(size);
  const int dropped = -digits - decimal.exponent;
  if (dropped <= 0) {
    return size;
  }
  const std::uint64_t step = power_of_ten(dropped);
  return nearest_double((decimal.digits + step / 2U) / step, -digits);
}

// To so many digits (-18 to 18) behind the point; never -0.0.
//
// What is shown are the fewest digits that name the number. A decimal of up to 15 digits names only
// one number, so where the half that is rounded at has no more, what is shown reaches it exactly if
// the number reaches the number that the half names.
inline double round_half_up(double value, int digits = 0) {
  constexpr double SHORT_HALVES = 1e14;
  constexpr double NOTHING_DROPPED = 2e17;
  const double size = std::fabs(value);
  const double unit = static_cast<double>(power_of_ten(digits < 0 ? -digits : digits));
  const double scaled = digits < 0 ? size / unit : size * unit;
  if (!(scaled < NOTHING_DROPPED)) {
    return value;
  }
  double rounded = 0.0;
  if (scaled < SHORT_HALVES) {
    std::uint64_t count = static_cast<std::uint64_t>(scaled + 0.5) + 1U;
    while (count > 0 && size < nearest_double(10U * count - 5U, -digits - 1)) {
      --count;
    }
    rounded = nearest_double(count, -digits);
  } else {
    rounded = round_shown(size, digits);
  }
  return value < 0.0 && rounded > 0.0 ? -rounded : rounded;
}

}  // namespace headway
