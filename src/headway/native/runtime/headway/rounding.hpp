// Rounding half away from zero, on the decimal number that is shown: 1.005 to two digits is 1.01.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

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

// A positive number as `digits` times ten to the power of `exponent`, with the fewest digits that
// name it.
struct ShortestDecimal {
    std::uint64_t digits;
    int count;
    int exponent;
};

inline ShortestDecimal shortest_decimal(double value) {
    char shown[32];
    const std::to_chars_result end =
        std::to_chars(shown, shown + sizeof shown, value, std::chars_format::scientific);
    ShortestDecimal decimal{0, 0, 0};
    const char* place = shown;
    for (; place != end.ptr && *place != 'e'; ++place) {
        if (*place != '.') {
            decimal.digits = decimal.digits * 10U + static_cast<std::uint64_t>(*place - '0');
            ++decimal.count;
        }
    }
    const bool small = place[1] == '-';
    for (place += 2; place != end.ptr; ++place) {
        decimal.exponent = decimal.exponent * 10 + (*place - '0');
    }
    decimal.exponent = (small ? -decimal.exponent : decimal.exponent) - (decimal.count - 1);
    return decimal;
}

// The number nearest to digits * 10^exponent, for an exponent of -18 to 18.
inline double nearest_double(std::uint64_t digits, int exponent) {
    constexpr std::uint64_t EXACT = std::uint64_t{1} << 53U;
    if (digits <= EXACT) {
        // Both parts are exact, so only the result is rounded, once.
        const double whole = static_cast<double>(digits);
        return exponent < 0 ? whole / static_cast<double>(power_of_ten(-exponent))
                            : whole * static_cast<double>(power_of_ten(exponent));
    }
    char shown[32];
    char* place = std::to_chars(shown, shown + 20, digits).ptr;
    *place++ = 'e';
    place = std::to_chars(place, place + 4, exponent).ptr;
    *place = '\0';
    return std::strtod(shown, nullptr);
}

// To so many digits (-18 to 18) behind the point; never -0.0.
inline double round_half_up(double value, int digits = 0) {
    if (!std::isfinite(value) || value == 0.0) {
        return value + 0.0;
    }
    const ShortestDecimal decimal = shortest_decimal(std::fabs(value));
    const int dropped = -digits - decimal.exponent;
    if (dropped <= 0) {
        return value;
    }
    std::uint64_t kept = 0;
    if (dropped <= decimal.count) {
        const std::uint64_t step = power_of_ten(dropped);
        kept = decimal.digits / step;
        const std::uint64_t rest = decimal.digits % step;
        if (rest >= step / 2U) {
            ++kept;
        }
    }
    const double size = nearest_double(kept, -digits);
    return value < 0.0 && kept > 0 ? -size : size;
}

}  // namespace headway
