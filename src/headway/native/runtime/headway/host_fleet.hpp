// Many vehicles through one program, one after another: each vehicle's state is taken up, its
// tuples arrive, its timers run out up to a bound, and its new state is put down behind the others.
//
// What a vehicle costs follows what its state holds, not what the program has room for. A state
// here is its sections' sizes and then its sections, so that a program with other operators can
// find those that it shares. It has no checksum of its own: whoever keeps the states of many
// vehicles together keeps one for all of them.
#pragma once

#include "headway/host_results.hpp"
#include "headway/jobs.hpp"
#include "headway/snapshot.hpp"

namespace headway::host {

struct Bytes {
  const std::byte* data;
  std::uint64_t size;
};

/// The vehicles and their tuples. Those of vehicle n are the arrivals from `first_arrival[n]` up to
/// `first_arrival[n + 1]`, in order.
struct FleetGiven {
  std::uint64_t vehicles;
  const std::uint64_t* first_arrival;
  /// Timers before this run out, after the tuples.
  const Nanoseconds* bounds;
  /// Each vehicle's state lies between its begin and its end; one without bytes is at its
  /// beginning.
  const std::byte* states;
  const std::uint64_t* state_begins;
  const std::uint64_t* state_ends;
  // Of each arrival:
  const Microseconds* times;
  /// With MALFORMED added where it does not have the form of its source.
  const std::uint16_t* sources;
  /// Its place among the rows of its source.
  const std::uint32_t* places;
  /// By source.
  const std::byte* const* rows;
  /// Whether the input has ended: all timers run out and all windows close.
  std::uint8_t ends;
};

/// Arrays by vehicle: where its state ends, when its next timer is over, and how many tuples of
/// each output, then how many lost ones, there are up to its last.
struct FleetGave {
  Bytes states;
  Bytes state_ends;
  Bytes timers;
  Bytes counts;
  /// A vehicle whose state was none.
  std::uint64_t wrong;
};

enum class FleetEnd : std::uint8_t { ALL_RAN, WRONG_STATE, NO_MEMORY };

/// Added to the source of an arrival that does not have the form its source promises; it has no
/// row.
inline constexpr std::uint16_t MALFORMED = 0x8000;

/// The state of a program goes to the end of a buffer, which knows of it after `end`.
class BufferWriter final : public StateWriter {
 public:
  explicit BufferWriter(Buffer& buffer) : buffer_(buffer) { begin(); }

  void write(const void* bytes, std::size_t count) override {
    end();
    if (!buffer_.append(bytes, count)) complete_ = false;
    begin();
  }

  /// Bytes of the buffer with all that was written.
  std::size_t size() const {
    return next_ == nullptr ? buffer_.size() : static_cast<std::size_t>(next_ - buffer_.data());
  }

  /// Whether there was memory for all.
  bool end() {
    buffer_.lengthen(size());
    next_ = end_ = nullptr;
    return complete_;
  }

 private:
  void begin() {
    if (buffer_.capacity() == 0) return;
    next_ = buffer_.at(buffer_.size());
    end_ = buffer_.at(buffer_.capacity());
  }

  Buffer& buffer_;
  bool complete_ = true;
};

/// Of a time keeper that takes tuples one by one and whose state has sections.
template <class Time>
class FleetLoop {
 public:
  FleetLoop(Time& time, Results& results, const Program& program)
      : time_(time), results_(results), program_(program) {}

  /// Before the first tuple: what the state of the beginning is.
  bool open() {
    sections_ = time_.sections();
    return save(beginning_);
  }

  FleetEnd run(const FleetGiven& given, FleetGave& gave) {
    clear();
    const FleetEnd end = run_all(given, gave);
    if (end != FleetEnd::ALL_RAN && !load(beginning_.data(), beginning_.size())) {
      return FleetEnd::NO_MEMORY;
    }
    gave.states = {states_.data(), states_.size()};
    gave.state_ends = {state_ends_.data(), state_ends_.size()};
    gave.timers = {timers_.data(), timers_.size()};
    gave.counts = {counts_.data(), counts_.size()};
    return end;
  }

 private:
  using Size = std::uint32_t;

  void clear() {
    states_.clear();
    state_ends_.clear();
    timers_.clear();
    counts_.clear();
  }

  FleetEnd run_all(const FleetGiven& given, FleetGave& gave) {
    for (std::uint64_t vehicle = 0; vehicle < given.vehicles; ++vehicle) {
      const std::uint64_t begin = given.state_begins[vehicle], end = given.state_ends[vehicle];
      const bool known = begin == end ? load(beginning_.data(), beginning_.size())
                                      : load(given.states + begin, end - begin);
      if (!known) {
        gave.wrong = vehicle;
        return FleetEnd::WRONG_STATE;
      }
      take(given, given.first_arrival[vehicle], given.first_arrival[vehicle + 1]);
      time_.run_until(given.bounds[vehicle]);
      if (given.ends != 0) time_.finish();
      time_.tidy();
      if (!save(states_) || !note_counts() || !results_.complete()) return FleetEnd::NO_MEMORY;
    }
    return FleetEnd::ALL_RAN;
  }

  void take(const FleetGiven& given, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t place = first; place < last; ++place) {
      const std::uint16_t marked = given.sources[place];
      const Index source = static_cast<Index>(marked & ~MALFORMED);
      const Nanoseconds time = nanoseconds_of(given.times[place]);
      if ((marked & MALFORMED) != 0) {
        time_.reject(time, source, nullptr);
      } else {
        const std::size_t row_bytes = program_.sources[source].row_bytes;
        time_.take(time, source, given.rows[source] + given.places[place] * row_bytes);
      }
    }
  }

  bool note_counts() {
    const std::uint64_t end = states_.size();
    const Nanoseconds timer = time_.next_timer();
    bool complete = state_ends_.append(&end, sizeof end) && timers_.append(&timer, sizeof timer);
    for (std::uint32_t output = 0; output < program_.outputs.count; ++output) {
      const std::uint64_t count = results_.count_of(static_cast<Index>(output));
      complete = complete && counts_.append(&count, sizeof count);
    }
    const std::uint64_t drops = results_.drops().size() / sizeof(DropRecord);
    return complete && counts_.append(&drops, sizeof drops);
  }

  /// Appends the present state.
  bool save(Buffer& buffer) {
    const std::size_t sizes_at = buffer.size();
    if (buffer.add(sections_ * sizeof(Size)) == nullptr) return false;
    BufferWriter writer(buffer);
    std::size_t section = 0, before = writer.size();
    time_.save_sections(writer, [&] {
      const Size size = static_cast<Size>(writer.size() - before);
      before = writer.size();
      std::memcpy(buffer.at(sizes_at + section++ * sizeof size), &size, sizeof size);
    });
    return writer.end();
  }

  /// Takes up a state in place of the present one; false when it is none of this program.
  bool load(const std::byte* bytes, std::size_t count) {
    const std::size_t header = sections_ * sizeof(Size);
    if (count < header) return false;
    BlockReader reader(bytes + header, count - header);
    std::size_t section = 0, left = reader.left();
    const bool fits = time_.load_sections(reader, [&] {
      Size size = 0;
      std::memcpy(&size, bytes + section++ * sizeof size, sizeof size);
      const bool right = left - reader.left() == size;
      left = reader.left();
      return right;
    });
    return fits && reader.left() == 0;
  }

  Time& time_;
  Results& results_;
  const Program& program_;
  std::uint32_t sections_ = 0;
  Buffer beginning_;
  Buffer states_;
  Buffer state_ends_;
  Buffer timers_;
  Buffer counts_;
};

}  // namespace headway::host
