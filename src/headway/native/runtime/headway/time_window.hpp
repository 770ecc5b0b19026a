// Arithmetic of sensing times that cannot overflow, and tables by key and stretch of time.
//
// Whatever a tuple claims as its timestamp, a sum stays within what a Microseconds holds: times at
// the ends of the scale are so far apart from all others that nothing is nearer for it.
#pragma once

#include <cstdint>

#include "headway/key_table.hpp"
#include "headway/operator.hpp"
#include "headway/value.hpp"

namespace headway {

constexpr Microseconds later_by(Microseconds time, Microseconds length) {
  return time > INT64_MAX - length ? INT64_MAX : time + length;
}

constexpr Microseconds earlier_by(Microseconds time, Microseconds length) {
  return time < INT64_MIN + length ? INT64_MIN : time - length;
}

/// The number of the stretch of time that a moment lies in; `length` is positive.
constexpr std::int64_t stretch_of(Microseconds time, Microseconds length) {
  const std::int64_t whole = time / length;
  return time % length < 0 ? whole - 1 : whole;
}

/// The last multiple of `step` that is not later than a moment.
constexpr Microseconds floor_to(Microseconds time, Microseconds step) {
  const Microseconds past = time % step < 0 ? time % step + step : time % step;
  return earlier_by(time, past);
}

/// Of a key, what happened in one stretch of time.
template <class Key>
struct KeyAndStretch {
  Key key;
  std::int64_t stretch;

  static std::uint64_t hash(std::uint64_t key_hash, std::int64_t stretch) {
    return key_hash_bits(key_hash, static_cast<std::uint64_t>(stretch));
  }
  std::uint64_t hash() const { return hash(key.hash(), stretch); }
  bool operator==(const KeyAndStretch& other) const {
    return stretch == other.stretch && key == other.key;
  }
};

/// Walks round and round the places of a table, a few at each insertion, to find what is too old.
///
/// With LOOKS looks at each insertion, all that died is found before `capacity / LOOKS` more have
/// come. So a table of `LOOKS / (LOOKS - 1)` times what can be alive at once never fills up, and
/// no tuple ever pays for a sweep of the whole.
class Sweeper {
 public:
  static constexpr std::size_t LOOKS = 4;
  /// The capacity that holds so many at once, with the dead that have not been found yet.
  static constexpr std::size_t capacity_for(std::size_t alive) {
    return alive + alive / (LOOKS - 1) + LOOKS;
  }

  /// Calls `look(place)` for the next few of so many places.
  template <class Look>
  void sweep(std::size_t places, Look look) {
    for (std::size_t looks = places < LOOKS ? places : LOOKS; looks > 0; --looks) {
      if (hand_ >= places) hand_ = 0;
      look(static_cast<Place>(hand_));
      ++hand_;
    }
  }

 private:
  std::size_t hand_ = 0;
};

}  // namespace headway
