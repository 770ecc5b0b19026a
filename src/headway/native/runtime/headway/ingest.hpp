// Where tuples enter the query: shed, and marked if they are late; rates are watched.
//
// Whether a tuple is late is decided here, once: it is if its timestamp lies more than the source's
// lateness behind the newest that entered before it. A load shedder lets at most N tuples pass per
// window [k * per, (k + 1) * per) of the engine's time, the best by value; equal values go by
// arrival, the earlier first.
//
// - Deciding on arrival, a tuple passes if fewer than N have passed in its window and its value is
//   at least the threshold: the N-th largest value of the window just before, if that had more than
//   N tuples; otherwise there is none.
// - Deciding at the window's end, exactly the best N pass, in arrival order, at that end.
#pragma once

#include <algorithm>

#include "headway/jobs.hpp"

namespace headway {

// ---------------------------------------------------------------- declared rates

/// Counts the arrivals of a source that come earlier than its rate allows. "At most n in any P,
/// displaced by up to J" holds just when each tuple comes no earlier than J before a due time that
/// moves on by P; every n-th tuple has the same due time (the generic cell rate algorithm, once for
/// each of n places). One that comes too early takes no place.
class RateWatch {
 public:
  std::int64_t beyond = 0;

  static constexpr std::size_t bytes(const DeclaredRate& rate) {
    return List<Nanoseconds>::bytes(kept_at_first(rate));
  }

  void open(const DeclaredRate& rate, Arena& arena) {
    rate_ = rate;
    earliest_.open(arena, kept_at_first(rate));
    earliest_.push(-NEVER);  // what stands first was there before any tuple
  }

  /// When the next tuple may come at the earliest.
  Nanoseconds earliest() const { return earliest_[first_]; }

  void arrived(Nanoseconds now) {
    if (rate_.offset >= 0) {
      arrived_at_instant(now);
      return;
    }
    const Nanoseconds first = earliest_[first_];
    if (now < first) {
      ++beyond;
      return;
    }
    const Nanoseconds due = first + rate_.jitter;
    append((now < due ? due : now) + rate_.period - rate_.jitter);
  }

 private:
  /// A place for each of the n; a simulation makes room as they come.
  static constexpr std::size_t kept_at_first(const DeclaredRate& rate) {
    return GROWS && rate.count > 1024 ? 1024 : rate.count;
  }

  void arrived_at_instant(Nanoseconds now) {
    const Nanoseconds past = (now - rate_.offset) % rate_.period;
    const Nanoseconds later = past < 0 ? past + rate_.period : past;
    const bool same = now - later == instant_;
    if (later > rate_.jitter || (same && taken_ == rate_.count)) {
      ++beyond;
      return;
    }
    taken_ = same ? taken_ + 1 : 1;
    instant_ = now - later;
  }

  void append(Nanoseconds time) {
    if (earliest_.size() < rate_.count && earliest_.push(time)) return;
    earliest_[first_] = time;
    if (++first_ == earliest_.size()) first_ = 0;
  }

  DeclaredRate rate_{};
  List<Nanoseconds> earliest_;
  std::size_t first_ = 0;
  Nanoseconds instant_ = -NEVER;
  std::uint32_t taken_ = 0;
};

// ---------------------------------------------------------------- the load shedder

/// A tuple that waits for the end of its window. The least is shed first.
struct Held {
  ShedValue value;
  /// Its place in the window, from 1.
  std::int64_t place;
  void* row;
  bool late;
};
inline bool operator<(const Held& left, const Held& right) {
  if (left.value < right.value) return true;
  if (right.value < left.value) return false;
  return left.place > right.place;
}

/// A tuple that the shedder did not let pass.
struct ShedTuple {
  const void* row;
  ShedValue value;
  Reason reason;
  bool there = false;
};

class Shedder {
 public:
  static constexpr std::size_t bytes(const Shedding& table, std::uint32_t row_bytes) {
    return 2 * List<Held>::bytes(table.at_most) + List<ShedValue>::bytes(table.at_most) +
           Slots::bytes(row_bytes, table.at_most + 1);
  }

  void open(const Shedding& table, std::uint32_t row_bytes, Arena& arena) {
    table_ = &table;
    row_bytes_ = row_bytes;
    held_.open(arena, table.at_most);
    released_.open(arena, table.at_most);
    best_.open(arena, table.at_most);
    rows_.open(arena, row_bytes, table.at_most + 1);
  }

  /// When `release` is to be called: the end of the window of the tuples held; NEVER: none is.
  Nanoseconds due() const { return held_.empty() ? NEVER : (window_ + 1) * table_->per; }

  /// The tuples held whose window has ended, in arrival order; to be given back by `done`.
  List<Held>& release(Nanoseconds now) {
    released_.clear();
    if (!held_.empty() && now >= due()) {
      for (const Held& one : held_.items()) released_.push(one);
      held_.clear();
      // std::sort would be a tenth of a small node's program.
      const auto before = [](const Held& left, const Held& right) {
        return left.place < right.place;
      };
      std::make_heap(released_.begin(), released_.end(), before);
      std::sort_heap(released_.begin(), released_.end(), before);
    }
    return released_;
  }
  void done() {
    for (const Held& one : released_) rows_.give(one.row);
    released_.clear();
  }

  /// A tuple arrives, after `release`; whether it passes now. `shed` is set if one does not.
  bool offer(const void* row, Nanoseconds now, ShedTuple& shed) {
    const ShedValue value = table_->value(row);
    const std::int64_t window = floor_division(now, table_->per);
    if (window != window_) turn(window);
    ++seen_;
    if (table_->on_arrival) return decides(row, value, shed);
    hold(row, value, shed);
    return false;
  }

  /// After a tuple that was shed has been told of.
  void forget(const ShedTuple& shed) {
    if (shed.reason == Reason::LESS_VALUABLE) rows_.give(const_cast<void*>(shed.row));
  }

  std::size_t size() const { return held_.size(); }

  void save(StateWriter& writer) {
    writer.put(window_);
    writer.put(seen_);
    writer.put(passed_);
    writer.put(static_cast<std::uint8_t>(has_threshold_ ? 1 : 0));
    save_value(writer, threshold_);
    writer.put(static_cast<std::uint32_t>(best_.size()));
    for (const ShedValue& value : best_.items()) save_value(writer, value);
    writer.put(static_cast<std::uint32_t>(held_.size()));
    for (const Held& one : held_.items()) {
      writer.put(one.place);
      writer.write(one.row, row_bytes_);
    }
  }

  bool load(StateReader& reader) {
    for (const Held& one : held_.items()) rows_.give(one.row);
    held_.clear();
    best_.clear();
    std::uint8_t has_threshold = 0;
    std::uint32_t count = 0;
    if (!reader.get(window_) || !reader.get(seen_) || !reader.get(passed_)) return false;
    if (!reader.get(has_threshold) || has_threshold > 1) return false;
    has_threshold_ = has_threshold != 0;
    if (!load_value(reader, threshold_)) return false;
    // A state of a query that let more pass may have more of both: the best stay.
    if (!reader.get(count)) return false;
    for (; count != 0; --count) {
      ShedValue value{};
      if (!load_value(reader, value)) return false;
      keep_best(value);
    }
    if (!reader.get(count)) return false;
    for (; count != 0; --count) {
      Held held{};
      if (!reader.get(held.place)) return false;
      held.row = rows_.take();
      if (held.row == nullptr) return false;
      if (!reader.read(held.row, row_bytes_)) {
        rows_.give(held.row);
        return false;
      }
      held.value = table_->value(held.row);
      if (keep_held(held)) rows_.give(held.row);
    }
    return window_ < NEVER / table_->per && window_ > -NEVER / table_->per;
  }

 private:
  static void save_value(StateWriter& writer, const ShedValue& value) {
    writer.put(value.rank);
    writer.put(value.whole);
    writer.put(value.real);
  }
  static bool load_value(StateReader& reader, ShedValue& value) {
    return reader.get(value.rank) && value.rank <= 2 && reader.get(value.whole) &&
           reader.get(value.real);
  }

  /// A new window begins: learns the threshold, if the window before it is the last one seen.
  void turn(std::int64_t window) {
    has_threshold_ = window == window_ + 1 && seen_ > table_->at_most && !best_.empty();
    threshold_ = has_threshold_ ? best_.top() : ShedValue{};
    window_ = window;
    seen_ = passed_ = 0;
    best_.clear();
  }

  bool decides(const void* row, const ShedValue& value, ShedTuple& shed) {
    keep_best(value);
    if (passed_ >= table_->at_most) {
      shed = {row, value, Reason::QUOTA_USED, true};
    } else if (has_threshold_ && value < threshold_) {
      shed = {row, value, Reason::BELOW_THRESHOLD, true};
    } else {
      ++passed_;
      return true;
    }
    return false;
  }

  void hold(const void* row, const ShedValue& value, ShedTuple& shed) {
    Held entry{value, seen_, rows_.take(), false};
    if (entry.row == nullptr) {  // one more row than can be held: never
      shed = {row, value, Reason::NO_ROOM, true};
      return;
    }
    std::memcpy(entry.row, row, row_bytes_);
    if (keep_held(entry)) shed = {entry.row, entry.value, Reason::LESS_VALUABLE, true};
  }

  /// Among the largest values of the window.
  void keep_best(const ShedValue& value) {
    if (best_.size() < table_->at_most) {
      best_.push(value);
    } else if (!best_.empty() && best_.top() < value) {
      best_.pop();
      best_.push(value);
    }
  }

  /// Among the tuples that wait; true where one has to go, which then stands in `entry`.
  bool keep_held(Held& entry) {
    if (held_.size() < table_->at_most) return !held_.push(entry);
    if (!held_.empty() && held_.top() < entry) {
      const Held worst = held_.pop();
      held_.push(entry);
      entry = worst;
    }
    return true;
  }

  const Shedding* table_ = nullptr;
  std::uint32_t row_bytes_ = 0;
  std::int64_t window_ = 0;
  std::int64_t seen_ = 0;
  std::int64_t passed_ = 0;
  bool has_threshold_ = false;
  ShedValue threshold_{};
  Heap<ShedValue> best_;
  Heap<Held> held_;
  List<Held> released_;
  Slots rows_;
};

// ---------------------------------------------------------------- the entrance of a source

/// The entrance of one source; tuples are offered in the order they arrive.
struct Ingest {
  const Source* table = nullptr;
  Microseconds newest = NO_TIME;
  bool watched = false;
  bool sheds = false;
  RateWatch watch;
  Shedder shedder;
  /// The release that the time keeper has been told of; NEVER: none.
  Nanoseconds announced = NEVER;

  static constexpr std::size_t bytes(const Source& source) {
    std::size_t sum = source.rate.count == 0 ? 0 : RateWatch::bytes(source.rate);
    if (source.shedding != nullptr) sum += Shedder::bytes(*source.shedding, source.row_bytes);
    return sum;
  }

  void open(const Source& source, bool watch_rates, Arena& arena) {
    table = &source;
    watched = watch_rates && source.rate.count != 0;
    sheds = source.shedding != nullptr;
    if (source.rate.count != 0) watch.open(source.rate, arena);
    if (sheds) shedder.open(*source.shedding, source.row_bytes, arena);
  }

  /// Whether a tuple that enters now is late; moves the source's time.
  bool mark(Microseconds timestamp) {
    if (newest == NO_TIME || timestamp > newest) {
      newest = timestamp;
      return false;
    }
    return timestamp < watermark();
  }

  /// No tuple older than this enters unmarked any more; NO_TIME before the first.
  Microseconds watermark() const {
    if (newest == NO_TIME) return NO_TIME;
    Microseconds mark = 0;
    return __builtin_sub_overflow(newest, table->lateness, &mark) || mark == NO_TIME ? NO_TIME + 1
                                                                                     : mark;
  }

  void save(StateWriter& writer) {
    writer.put(newest);
    writer.put(announced);
    if (sheds) shedder.save(writer);
  }
  bool load(StateReader& reader) {
    return reader.get(newest) && reader.get(announced) && (!sheds || shedder.load(reader));
  }
};

}  // namespace headway
