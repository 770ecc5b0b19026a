// The least and the greatest of several values, of which those that are NULL do not count.
#pragma once

#include <initializer_list>

#include "headway/value.hpp"

namespace headway {

// NULL when all are. NaN is larger than every number; of equal values the first is taken.
template <typename T>
constexpr Maybe<T> least(std::initializer_list<Maybe<T>> values) {
  Maybe<T> best = null<T>();
  for (const Maybe<T>& value : values) {
    if (value.known && (!best.known || less(value.value, best.value))) {
      best = value;
    }
  }
  return best;
}

template <typename T>
constexpr Maybe<T> greatest(std::initializer_list<Maybe<T>> values) {
  Maybe<T> best = null<T>();
  for (const Maybe<T>& value : values) {
    if (value.known && (!best.known || less(best.value, value.value))) {
      best = value;
    }
  }
  return best;
}

}  // namespace headway
