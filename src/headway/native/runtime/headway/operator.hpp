// What an operator with state is to the kernel: rows in, rows out, and no idea of scheduling.
//
// The twin of `StatefulOperator` in the Python engine. Rows are pointers to the generated structs
// of their streams; whoever is given one copies what it keeps. What an operator cannot use goes to
// `OperatorOutput::drop`, so nothing is lost without a word.
#pragma once

#include <cstdint>

#include "headway/storage.hpp"

namespace headway {

/// The engine's time (ns).
using Nanoseconds = std::int64_t;
/// Sensing time, as in the column `timestamp` (us since the epoch).
using Microseconds = std::int64_t;
/// The place of an input among an operator's inputs.
using Port = std::uint8_t;

inline constexpr Nanoseconds NEVER = std::int64_t{1} << 62;
/// In place of a watermark or due time: there is none yet.
inline constexpr Microseconds NO_TIME = INT64_MIN;
inline constexpr Port NO_PORT = 255;

/// Every row begins with its sensing time.
inline Microseconds timestamp_of(const void* row) {
  Microseconds timestamp;
  std::memcpy(&timestamp, row, sizeof timestamp);
  return timestamp;
}

enum class DropKind : std::uint8_t { LATE, FAILED, REJECTED, SHED };

/// Why a tuple left its way; `detail` of a drop is the number that the sentence needs.
enum class Reason : std::uint8_t {
  MARKED_LATE,           // marked late at its source
  OLDER_THAN_WATERMARK,  // detail: the watermark
  WINDOWS_CLOSED,        // its windows are closed
  QUOTA_USED,            // detail: tuples that have passed in this window
  BELOW_THRESHOLD,       // its value is below the threshold
  LESS_VALUABLE,         // detail: tuples of its window that are more valuable
  BEYOND_RATE,           // detail: the source
  NO_TIME_LEFT,          // no processor time is left to reserve
  NO_TIME_LEFT_HARD,     // ... for a hard output
  NO_ROOM,               // its buffer is full: more than the declared rates allow
  FUSION_LATE,           // older than the windows of its object
  FUSION_UNUSABLE,       // a value it cannot do without is missing or out of bounds
  FUSION_UNSTARTED,      // nothing came that an estimate could have started with
  USER,                  // detail: a number that the user's class gave
  MALFORMED,             // not of the form that its source promises: known to who brought it
  FUSION_OUTSIDE,        // outside the gate of its object, and of no other that took over the key
};

/// Where an operator puts what it makes. The kernel copies rows at once.
class OperatorOutput {
 public:
  /// A result: a row of the operator's output stream.
  virtual void emit(const void* row) = 0;
  virtual void drop(DropKind kind, Reason reason, std::int64_t detail, Port port,
                    const void* row) = 0;
  /// Asks for `expire(token)` at that time, after all arrivals of that instant.
  virtual void start_timer(Nanoseconds at, std::int64_t token) = 0;

 protected:
  ~OperatorOutput() = default;
};

/// Bytes of a state, written in one order and read in the same. A writer or reader that has its
/// memory at hand says where, and no call is made for a value; not in small programs, where the
/// calls take less room.
class StateWriter {
 public:
  virtual void write(const void* bytes, std::size_t count) = 0;
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (GROWS && sizeof value < static_cast<std::size_t>(end_ - next_)) {
      std::memcpy(next_, &value, sizeof value);
      next_ += sizeof value;
    } else {
      write(&value, sizeof value);
    }
  }

 protected:
  ~StateWriter() = default;
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
};

class StateReader {
 public:
  /// False when the state ends before so many bytes.
  virtual bool read(void* bytes, std::size_t count) = 0;
  template <class T>
  bool get(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!GROWS || sizeof value > left_) return read(&value, sizeof value);
    std::memcpy(&value, next_, sizeof value);
    next_ += sizeof value;
    left_ -= sizeof value;
    return true;
  }

 protected:
  ~StateReader() = default;
  const std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

class Operator {
 public:
  /// Results beyond the number that the query declares.
  std::int64_t beyond = 0;

  /// Lays out its memory; called once, before the first tuple.
  virtual void open(Arena& arena) = 0;

  /// One tuple comes in by a port; `late` is the mark it got at its source.
  virtual void accept(Port port, const void* row, Nanoseconds now, bool late,
                      OperatorOutput& output) = 0;

  /// No tuple older than this comes any more, unless it is marked late.
  virtual void advance(Microseconds watermark, OperatorOutput& output) {
    (void)watermark;
    (void)output;
  }

  /// `advance` does nothing before this watermark; NO_TIME: it may at any.
  virtual Microseconds next_due() const { return NO_TIME; }

  /// The input has ended: what waits for a later watermark goes out.
  virtual void finish(OperatorOutput& output) { (void)output; }

  /// No later output is older than this, given the watermark of the inputs.
  virtual Microseconds output_watermark(Microseconds watermark) const { return watermark; }

  /// A timer is over; nothing happens if it no longer matters.
  virtual void expire(std::int64_t token, Nanoseconds now, OperatorOutput& output) {
    (void)token;
    (void)now;
    (void)output;
  }

  /// Whether a result may be older than what caused it and all that is kept (a user's class).
  virtual bool own_timestamps() const { return false; }

  /// Forgets at once what no tuple at or after the watermark can meet, so that a state holds no
  /// more than it must. Nothing else changes: neither results nor what is told of lost tuples.
  virtual void tidy(Microseconds watermark) { (void)watermark; }

  /// Whether `save` writes all that it remembers (a user's class may have none of its own).
  virtual bool saves() const { return true; }
  virtual void save(StateWriter& writer) const = 0;
  /// In place of the present state; false when the bytes are not such a state.
  virtual bool load(StateReader& reader) = 0;

 protected:
  ~Operator() = default;
};

/// A tuple of a gathered batch.
struct Gathered {
  Gathered* next;
  Port port;
  bool late;
  /// The row follows, at ROW_OFFSET.
  static constexpr std::size_t ROW_OFFSET = aligned(sizeof(void*) + 2);
  const void* row() const { return reinterpret_cast<const std::byte*>(this) + ROW_OFFSET; }
  void* row() { return reinterpret_cast<std::byte*>(this) + ROW_OFFSET; }
};

inline constexpr std::size_t MOST_PORTS = 16;

/// What an operator with a timeout gets at once: the tuples of each port, in order of arrival.
struct Batch {
  Gathered* first[MOST_PORTS] = {};
  Gathered* last[MOST_PORTS] = {};
  std::uint32_t items = 0;
};

/// A row inside a train, before the operator `step`; it follows at ROW_OFFSET.
struct InnerRow {
  InnerRow* next;
  std::uint16_t step;
  bool late;

  static constexpr std::size_t ROW_OFFSET = aligned(sizeof(void*) + 4);
  void* row() { return reinterpret_cast<std::byte*>(this) + ROW_OFFSET; }
};

/// The results of an execution, which wait while its optional part makes them better.
template <class Row>
class WaitingRows {
 public:
  class Iterator {
   public:
    explicit Iterator(InnerRow* at) : at_(at) {}
    Row& operator*() const { return *static_cast<Row*>(at_->row()); }
    Iterator& operator++() {
      at_ = at_->next;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    InnerRow* at_;
  };

  explicit WaitingRows(InnerRow* first) : first_(first) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }

 private:
  InnerRow* first_;
};

/// An operator that takes gathered batches (a fusion, a user's class). One that runs item by item
/// is given `begin`, then `item` for each tuple (ports in order, each in order of arrival), then
/// `end`; `execute` is all of that in one go.
class GatheringOperator : public Operator {
 public:
  virtual void begin(const Batch& batch, Nanoseconds now, bool timed_out) = 0;
  virtual void item(const Gathered& tuple, OperatorOutput& output) = 0;
  virtual void end(Nanoseconds now, OperatorOutput& output) = 0;

  /// One piece of the optional part of an execution that ended at `since`, after so many other
  /// pieces: makes its results better where they stand. False: nothing was left to do.
  virtual bool refine(InnerRow* results, std::uint32_t piece, Nanoseconds since) {
    (void)results;
    (void)piece;
    (void)since;
    return false;
  }

  void execute(const Batch& batch, std::uint32_t ports, Nanoseconds now, bool timed_out,
               OperatorOutput& output) {
    begin(batch, now, timed_out);
    for (std::uint32_t port = 0; port < ports; ++port) {
      for (const Gathered* one = batch.first[port]; one != nullptr; one = one->next) {
        item(*one, output);
      }
    }
    end(now, output);
  }

 protected:
  ~GatheringOperator() = default;
};

}  // namespace headway
