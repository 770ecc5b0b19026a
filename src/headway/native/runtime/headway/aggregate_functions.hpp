// Aggregates of a group's rows: what each keeps, and how it takes in one value that is not NULL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headway/arithmetic.hpp"
#include "headway/value.hpp"

namespace headway {

struct Average {
  double total;
  std::int64_t count;
};

inline void add_to_average(Average& average, double value) {
  average.total += value;
  ++average.count;
}

// NULL of no values.
inline Maybe<double> average_of(const Average& average) {
  if (average.count == 0) {
    return null<double>();
  }
  return known(average.total / static_cast<double>(average.count));
}

inline void add_to_sum(Maybe<double>& sum, double value) {
  sum.value += value;
  sum.known = true;
}

// It wraps around.
inline void add_to_sum(Maybe<std::int64_t>& sum, std::int64_t value) {
  sum.value = add(sum.value, value);
  sum.known = true;
}

template <typename T>
inline void keep_least(Maybe<T>& best, T value) {
  if (!best.known || less(value, best.value)) {
    best = known(value);
  }
}

template <typename T>
inline void keep_greatest(Maybe<T>& best, T value) {
  if (!best.known || less(best.value, value)) {
    best = known(value);
  }
}

template <std::size_t N>
inline void keep_least(Maybe<Text<N>>& best, std::string_view value) {
  if (!best.known || value < best.value.view()) {
    best = known(text<N>(value));
  }
}

template <std::size_t N>
inline void keep_greatest(Maybe<Text<N>>& best, std::string_view value) {
  if (!best.known || best.value.view() < value) {
    best = known(text<N>(value));
  }
}

inline void keep_any(Maybe<bool>& any, bool value) { any = known(value || any.value); }

inline void keep_all(Maybe<bool>& all, bool value) {
  all = known(value && (all.value || !all.known));
}

}  // namespace headway
