// Latencies in a fixed number of buckets, each at most 1/32 wide of what is in it: percentiles of
// any number of tuples without keeping them.
#pragma once

#include <cstdint>

#include "headway/operator.hpp"

namespace headway {

class LatencyHistogram {
 public:
  void add(Nanoseconds latency) {
    const std::uint64_t value = latency < 0 ? 0 : static_cast<std::uint64_t>(latency);
    ++counts_[bucket_of(value)];
    ++total_;
    if (latency > longest_) longest_ = latency;
  }

  std::int64_t total() const { return total_; }
  Nanoseconds longest() const { return longest_; }

  /// At least `parts` of a million of the latencies are not longer; the upper end of their bucket.
  Nanoseconds percentile(std::int64_t parts) const {
    if (total_ == 0) return 0;
    std::int64_t wanted = (total_ * parts + MILLION - 1) / MILLION;
    if (wanted < 1) wanted = 1;
    std::int64_t seen = 0;
    for (std::uint32_t bucket = 0; bucket < BUCKETS; ++bucket) {
      seen += counts_[bucket];
      if (seen < wanted) continue;
      const Nanoseconds end = end_of(bucket);
      return end < longest_ ? end : longest_;
    }
    return longest_;
  }

 private:
  static constexpr std::int64_t MILLION = 1'000'000;
  static constexpr std::uint32_t FINE_BITS = 5;
  static constexpr std::uint32_t FINE = 1u << FINE_BITS;
  static constexpr std::uint32_t BUCKETS = (64 - FINE_BITS) * FINE;

  static std::uint32_t bucket_of(std::uint64_t value) {
    if (value < FINE) return static_cast<std::uint32_t>(value);
    const std::uint32_t bits = 63u - static_cast<std::uint32_t>(__builtin_clzll(value));
    const std::uint32_t shift = bits - FINE_BITS;
    return (shift + 1) * FINE + static_cast<std::uint32_t>((value >> shift) & (FINE - 1));
  }

  static Nanoseconds end_of(std::uint32_t bucket) {
    if (bucket < FINE) return bucket;
    const std::uint32_t shift = bucket / FINE - 1;
    const std::uint64_t first = (std::uint64_t{FINE} + bucket % FINE) << shift;
    return static_cast<Nanoseconds>(first + ((std::uint64_t{1} << shift) - 1));
  }

  std::int64_t counts_[BUCKETS] = {};
  std::int64_t total_ = 0;
  Nanoseconds longest_ = 0;
};

}  // namespace headway
