// An application that is linked into a node: it gets the outputs as they are completed and may push
// tuples to sources.
//
// `headway build --app` writes a class `Application` for the node beside its streams, with a
// function for each output (`on_output2(const Output2& row, headway::Nanoseconds completed)`) and
// for each source that a sensor of the node feeds (`push_speed(const Speed& row)`). An application
// inherits it and says which object is the one to be called:
//
//   collision_warning::Application& collision_warning::application() {
//     static BrakeAssistant assistant;
//     return assistant;
//   }
//
// All of it is called in the node's only thread, between two operators, so what it does delays
// them: hand long work to a thread of your own. What is pushed is taken in before the next
// operator.
#pragma once

#include <cstring>

#include "headway/node_tables.hpp"

namespace headway {

/// A tuple of an application; without a row: the end of its source.
struct PushedTuple {
  Index source = NONE;
  const void* row = nullptr;
};

/// Tuples that may wait between two operators.
inline constexpr std::size_t MOST_PUSHED = 64;
inline constexpr std::size_t MOST_PUSHED_BYTES = 1024;

class ApplicationBase {
 public:
  /// Before the first tuple, and after the last. `now` is the engine's time.
  virtual void on_start(Nanoseconds now) { (void)now; }
  virtual void on_end() {}

  /// A descriptor of the application (a socket, a device, a timer) that is looked at whenever the
  /// node waits; -1: none.
  virtual int watched_descriptor() const { return -1; }
  virtual void on_readable() {}

  /// Which sources it feeds: they wait for it, and end when it says so. Others are replayed, or fed
  /// by a driver.
  virtual bool feeds(Index source) const {
    (void)source;
    return false;
  }

  /// A tuple of an output is complete.
  virtual void output(Index output, const void* row, Nanoseconds completed) = 0;

  /// The next tuple that was pushed; its row is valid until the one after it is asked for.
  bool take(PushedTuple& pushed) {
    if (taken_ == pushed_) return false;
    Slot& slot = slots_[taken_++ % MOST_PUSHED];
    pushed = {slot.source, slot.is_end ? nullptr : slot.row};
    return true;
  }

  /// Tuples that did not fit between two operators.
  std::int64_t overflowed() const { return overflowed_; }

 protected:
  ~ApplicationBase() = default;

  /// False when too many wait.
  bool push_row(Index source, const void* row, std::size_t bytes) {
    if (bytes > MOST_PUSHED_BYTES || pushed_ - taken_ >= MOST_PUSHED - 1) {
      ++overflowed_;
      return false;
    }
    Slot& slot = slots_[pushed_++ % MOST_PUSHED];
    slot.source = source;
    slot.is_end = false;
    std::memcpy(slot.row, row, bytes);
    return true;
  }

  bool push_end(Index source) {
    if (pushed_ - taken_ >= MOST_PUSHED - 1) return false;
    Slot& slot = slots_[pushed_++ % MOST_PUSHED];
    slot.source = source;
    slot.is_end = true;
    return true;
  }

 private:
  struct Slot {
    alignas(ALIGNMENT) std::byte row[MOST_PUSHED_BYTES];
    Index source;
    bool is_end;
  };
  Slot slots_[MOST_PUSHED];
  std::size_t pushed_ = 0;
  std::size_t taken_ = 0;
  std::int64_t overflowed_ = 0;
};

}  // namespace headway
