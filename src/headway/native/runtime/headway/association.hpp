// Whether a measurement is of the object that its key has meant so far: a gate, and a rival.
//
// The twin of fusion/association.py, where it is explained. A Spec of a fusion with a gate has,
// beside all else:
//
//     static constexpr double gate_limits[5] = {...};   // chi-square quantiles by numbers measured
//     static constexpr std::int64_t gate_confirm = 3;
#pragma once

#include <type_traits>

#include "headway/operator.hpp"
#include "headway/value.hpp"

namespace headway {

/// Whether the query declares a gate for a fusion.
template <class Spec, class = void>
struct HasGate : std::false_type {};
template <class Spec>
struct HasGate<Spec, std::void_t<decltype(Spec::gate_confirm)>> : std::true_type {};

/// Whether the query says that the errors of a fusion's inputs may depend on each other.
template <class Spec, class = void>
struct IsCorrelated : std::false_type {};
template <class Spec>
struct IsCorrelated<Spec, std::void_t<decltype(Spec::correlated)>> : std::true_type {};

/// How far a measurement is from an estimate: the squared Mahalanobis distance, and of how many
/// numbers; none if it does not tell where its object is.
struct GateDistance {
  double squared;
  std::uint32_t numbers;
};

/// What is known of a key after one measurement.
template <class State>
struct Associated {
  /// The object that the key means.
  State believed;
  /// When it was first measured.
  Microseconds born;
  /// The one that it may mean instead.
  Maybe<State> rival;
  Microseconds rival_born;
  /// At how many moments the rival was measured.
  std::int64_t agreed;
  /// Whether the measurement did not go into `believed`.
  bool outside;

  template <class Self, class Visit>
  static bool each(Self& self, Visit& visit) {
    return visit(self.believed) && visit(self.born) && visit(self.rival) &&
           visit(self.rival_born) && visit(self.agreed) && visit(self.outside);
  }
};

}  // namespace headway
