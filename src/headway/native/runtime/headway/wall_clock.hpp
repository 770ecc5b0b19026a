// Clocks: where a run in wall-clock time gets its time from, and whether it keeps up.
//
// A clock counts nanoseconds and never goes back. The engine's own time is that of the recording
// or, live, of the world; `PacedClock` ties the two together.
#pragma once

#include <time.h>

#include "headway/operator.hpp"

namespace headway {

/// The machine's clock: the same for all processes of the machine, unmoved by the calendar.
inline Nanoseconds monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return Nanoseconds{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Time of the world.
inline Nanoseconds world_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return Nanoseconds{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

struct MonotonicClock {
  Nanoseconds now() const { return monotonic_now(); }
};

/// For tests: time passes when somebody says so.
class ManualClock {
 public:
  Nanoseconds now() const { return now_; }
  void advance(Nanoseconds duration) { now_ += duration; }
  void reach(Nanoseconds time) {
    if (time > now_) now_ = time;
  }

 private:
  Nanoseconds now_ = 0;
};

/// The engine's time is `epoch` when the clock shows `start`, and runs `speed` times as fast. At
/// another speed than 1 an operator's own time counts that many times as much.
template <class Clock>
class PacedClock {
 public:
  explicit PacedClock(Clock& clock) : clock_(clock) {}

  void set(Nanoseconds epoch, Nanoseconds start, double speed) {
    epoch_ = epoch;
    start_ = start;
    speed_ = speed;
  }

  Clock& clock() { return clock_; }

  /// The engine's time.
  Nanoseconds now() const {
    const Nanoseconds passed = clock_.now() - start_;
    if (speed_ == 1.0) return epoch_ + passed;
    return epoch_ + static_cast<Nanoseconds>(static_cast<double>(passed) * speed_);
  }

  /// What the clock shows at a time of the engine (rounded up).
  Nanoseconds clock_time(Nanoseconds time) const {
    if (time >= NEVER) return NEVER;
    const Nanoseconds passed = time - epoch_;
    if (speed_ == 1.0) return start_ + passed;
    return start_ + static_cast<Nanoseconds>(static_cast<double>(passed) / speed_) + 1;
  }

  /// How long a span of the engine's time really takes.
  Nanoseconds clock_duration(Nanoseconds duration) const {
    if (speed_ == 1.0) return duration;
    return static_cast<Nanoseconds>(static_cast<double>(duration) / speed_);
  }

 private:
  Clock& clock_;
  Nanoseconds epoch_ = 0;
  Nanoseconds start_ = 0;
  double speed_ = 1.0;
};

/// Two signs say that a run cannot keep up: a tuple is taken in later than `tolerance` after it was
/// due, or many jobs wait.
struct KeepingUp {
  Nanoseconds tolerance = 50'000'000;
  std::int64_t late_arrivals = 0;
  Nanoseconds worst_lag = 0;
  std::int64_t worst_backlog = 0;

  void arrived(Nanoseconds lag) {
    if (lag > worst_lag) worst_lag = lag;
    if (lag > tolerance) ++late_arrivals;
  }
  void queued(std::size_t waiting) {
    const std::int64_t count = static_cast<std::int64_t>(waiting);
    if (count > worst_backlog) worst_backlog = count;
  }
};

}  // namespace headway
